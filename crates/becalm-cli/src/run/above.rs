//! How does a becalm learn that it runs under another, and tell it something?
//!
//! What it is told is inherited by all that the command starts, and a daemon outlives the becalm above it. So that
//! becalm also says who it is: what one has said that is gone counts no more.

use std::env;
use std::fs;

/// The value is that of the header field `becalm-scope`.
pub const SCOPE: &str = "BECALM_SCOPE";
/// Who has said it: see `unix/holder.rs`.
#[cfg(unix)]
pub const HOLDER: &str = "BECALM_SCOPE_HOLDER";
/// Where an attempt may write a hint.
pub const HINT_FILE: &str = "BECALM_HINT_FILE";
/// What a command writes there that wants no other attempt.
pub const STOP: &str = "stop";

/// Tells a becalm above that another attempt would come to the same end: a refused command line is
/// refused again.
pub fn refuse_above() {
    if let (Some(_), Some(file)) = (env::var_os(SCOPE), env::var_os(HINT_FILE)) {
        let mut options = fs::OpenOptions::new();
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, super::unix::WITHOUT_WAITING);
        // Not made where it is gone: nobody would read it.
        let _ = options.write(true).open(file).and_then(|mut file| {
            use std::io::Write;
            file.write_all(STOP.as_bytes())
        });
    }
}
