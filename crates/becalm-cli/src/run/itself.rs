//! What else is becalm's own program started as? A few small processes that becalm needs beside it.
//!
//! Each has a name of its own, `argv[0]`, by which it knows what it is.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use super::{foreground, guard, witness};

/// becalm itself, under this name.
///
/// # Errors
///
/// becalm cannot find its own program, as without /proc.
pub fn under(name: &str) -> io::Result<Command> {
    let mut command = Command::new(own_executable()?);
    command.arg0(name);
    Ok(command)
}

/// If these are the arguments of one of those processes, does its work; the result is its exit code.
pub fn stand_in(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter();
    match arguments.next()?.to_str()? {
        foreground::NAME => foreground::execute(arguments),
        guard::NAME => guard::stand(arguments),
        witness::NAME => Some(witness::stand()),
        _ => None,
    }
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
