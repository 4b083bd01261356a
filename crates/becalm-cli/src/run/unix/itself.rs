//! How does becalm start itself, for a small process that it needs beside it?
//!
//! Each such process has a name of its own, `argv[0]`, by which it knows what it is.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

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

/// On Linux this also names an executable that was replaced or removed since it was started.
fn own_executable() -> io::Result<PathBuf> {
    let itself = PathBuf::from("/proc/self/exe");
    if cfg!(target_os = "linux") && itself.exists() {
        Ok(itself)
    } else {
        std::env::current_exe()
    }
}
