//! How is a command in the foreground of the terminal from its first instruction on?
//!
//! Only the command's own process can see to that, before it becomes the command. So on a terminal
//! becalm starts itself under another name, which does this and then executes the command in its
//! place, as a shell does between `fork` and `exec`.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use nix::unistd::{getpgrp, tcsetpgrp};

use super::exit_code::Ending;
use super::progress::complain;
use super::terminal::Unstopped;
use super::witness;

/// The name under which becalm puts itself in the foreground: `argv[0]`.
const NAME: &str = "becalm-foreground";

/// The program, with a detour through the foreground.
pub fn detour(program: &OsStr) -> io::Result<Command> {
    let mut command = Command::new(own_executable()?);
    command.arg0(NAME).arg(program);
    Ok(command)
}

/// Whether these are the arguments of a [`witness`], or of the detour; then it becomes the command, or the result is the
/// exit code of the failure to do so.
pub fn take_detour(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter();
    let name = arguments.next()?;
    if name == witness::NAME {
        return Some(witness::stand());
    }
    if name != NAME {
        return None;
    }
    let program = arguments.next()?;
    if let Ok(terminal) = File::open("/dev/tty") {
        let _unstopped = Unstopped::start();
        // The terminal may be gone; the command will see.
        let _ = tcsetpgrp(&terminal, getpgrp());
    }
    let error = Command::new(&program).args(arguments).exec();
    Some(ExitCode::from(not_started(&program, &error).code()))
}

/// Tells why a command could not be started.
pub fn not_started(program: &OsStr, error: &io::Error) -> Ending {
    complain(&format!(
        "cannot run {}: {error}",
        PathBuf::from(program).display()
    ));
    match error.kind() {
        io::ErrorKind::NotFound => Ending::NotFound,
        _ => Ending::CannotExecute,
    }
}

/// becalm's own program. On Linux this also names an executable that was replaced or removed since it was started.
pub fn own_executable() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") {
        Ok(PathBuf::from("/proc/self/exe"))
    } else {
        std::env::current_exe()
    }
}
