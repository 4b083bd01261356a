//! What do becalm in becalm tell each other? The scope of the attempt, in the environment.
//!
//! So layers add and do not multiply: the inner one retries while the outer one is at its first
//! attempt, and the outer one's time is the inner one's deadline.

use std::env;
use std::fs;

use becalm::time::{Instant, Sleeper, StdSleeper};
use becalm::{Retrier, Scope, run::Engine};

use super::hint_file;

/// The value is that of the header field `becalm-scope`.
pub const SCOPE: &str = "BECALM_SCOPE";
/// Where an attempt may write a hint.
pub const HINT_FILE: &str = "BECALM_HINT_FILE";

/// A call in the scope that becalm was started in.
pub fn begin(retrier: &Retrier, now: Instant) -> Engine<&Retrier> {
    let begin = || Engine::builder(retrier).begin();
    match env::var(SCOPE) {
        Ok(text) => Scope::decode(text, now, StdSleeper::new().clock()).enter(begin),
        Err(_) => begin(),
    }
}

/// What the command of this attempt is told.
pub fn scope_of(engine: &Engine<&Retrier>, number: u32, now: Instant) -> Option<String> {
    let header = engine
        .scope_of(number)
        .encode(now, StdSleeper::new().clock())?;
    Some(header.to_string())
}

/// Tells a becalm above that another attempt would come to the same end: a refused command line is
/// refused again.
pub fn refuse_above() {
    if let (Some(_), Some(file)) = (env::var_os(SCOPE), env::var_os(HINT_FILE)) {
        // Not made where it is gone: nobody would read it.
        let _ = fs::OpenOptions::new()
            .write(true)
            .open(file)
            .and_then(|mut file| {
                use std::io::Write;
                file.write_all(hint_file::STOP.as_bytes())
            });
    }
}
