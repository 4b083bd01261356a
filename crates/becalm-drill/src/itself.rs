//! How does a drill start processes of its own? As this program again, under another name.

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a process of a drill would know what it is.
static KNOWS: AtomicBool = AtomicBool::new(false);

/// From now on this program knows what it is when a drill starts it.
pub fn knows() {
    KNOWS.store(true, Ordering::Relaxed);
}

/// This program, under this name.
///
/// # Errors
///
/// The program cannot be found, as without /proc; or it would not know that it is a process of a drill.
pub fn under(name: &str) -> io::Result<Command> {
    if !KNOWS.load(Ordering::Relaxed) {
        let advice = "call becalm_drill::stand_in first in main";
        return Err(io::Error::other(advice));
    }
    let mut command = Command::new(own_executable()?);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::arg0(&mut command, name);
    #[cfg(not(unix))]
    command.arg(name);
    Ok(command)
}

/// On Linux this also names an executable that was replaced or removed since it was started.
fn own_executable() -> io::Result<PathBuf> {
    let itself = PathBuf::from("/proc/self/exe");
    if cfg!(target_os = "linux") && itself.exists() {
        Ok(itself)
    } else {
        std::env::current_exe()
    }
}
