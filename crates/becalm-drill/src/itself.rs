//! How does a drill start processes of its own? As this program again, under another name.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::fault;
#[cfg(all(feature = "ws", unix))]
use crate::ws;

/// Whether a process of a drill would know what it is.
static KNOWS: AtomicBool = AtomicBool::new(false);

/// Does the work of one of a drill's processes if these are its arguments; the result is its exit code. A program that holds drills
/// calls it first in `main`, as a drill starts that program again for what has to outlive it:
///
/// ```no_run
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     if let Some(code) = becalm_drill::stand_in(std::env::args_os()) {
///         return code;
///     }
///     // Plans and holds a drill.
///     ExitCode::SUCCESS
/// }
/// ```
pub fn stand_in(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    KNOWS.store(true, Ordering::Relaxed);
    let mut arguments = arguments.into_iter();
    // A shell that starts it cannot give it another name: then that is its first argument.
    for _ in 0..2 {
        let name = arguments.next()?;
        let name = name.to_str()?;
        if let Some(code) = fault::stand_in(name, &mut arguments) {
            return Some(code);
        }
        #[cfg(all(feature = "ws", unix))]
        if let Some(code) = ws::stand_in(name, &mut arguments) {
            return Some(code);
        }
    }
    None
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
