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

use nix::errno::Errno;
use nix::sys::signal::{Signal, raise};
use nix::unistd::{AccessFlags, access, getpgrp, tcsetpgrp};

use super::exit_code::Ending;
use super::progress::complain;
use super::terminal::Unstopped;
use super::witness;

/// The name under which becalm puts itself in the foreground: `argv[0]`.
const NAME: &str = "becalm-foreground";

/// The program, with a detour through the foreground; `None` where becalm cannot find itself, as
/// without /proc.
pub fn detour(program: &OsStr) -> Option<Command> {
    let mut command = Command::new(own_executable().ok()?);
    command.arg0(NAME).arg(program);
    Some(command)
}

/// Whether these are the arguments of a [`witness`], or of the detour; then it becomes the command,
/// or the result is the exit code of the failure to do so.
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
    // Until becalm has seen it, and sees every key.
    let _ = raise(Signal::SIGSTOP);
    let error = Command::new(&program).args(arguments).exec();
    Some(ExitCode::from(not_started(&program, &error).code()))
}

/// Tells why a command could not be started.
pub fn not_started(program: &OsStr, error: &io::Error) -> Ending {
    complain(&format!(
        "cannot run {}: {error}",
        PathBuf::from(program).display()
    ));
    if error.kind() == io::ErrorKind::NotFound {
        if let Some(line) = program
            .to_str()
            .filter(|it| it.contains(char::is_whitespace))
        {
            complain(&format!(
                "this is taken for the name of one program; for a line of shell write sh -c '{line}'"
            ));
        }
        return Ending::NotFound;
    }
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EAGAIN | Errno::EMFILE | Errno::ENFILE | Errno::ENOMEM | Errno::ETXTBSY) => {
            Ending::NotStarted
        }
        _ => Ending::CannotExecute,
    }
}

/// The shell, for a program that the system cannot execute though it may: a script without a first
/// line that names its interpreter (POSIX, `execvp`). `None` for any other error.
pub fn by_shell(program: &OsStr, error: &io::Error) -> Option<Command> {
    if error.raw_os_error() != Some(Errno::ENOEXEC as i32) {
        return None;
    }
    let path = PathBuf::from(program);
    let found = if path.components().count() > 1 || path.is_absolute() {
        path
    } else {
        let folders = std::env::var_os("PATH")?;
        std::env::split_paths(&folders)
            .map(|folder| folder.join(&path))
            .find(|file| access(file, AccessFlags::X_OK).is_ok() && file.is_file())?
    };
    let mut command = Command::new("/bin/sh");
    command.arg(found);
    Some(command)
}

/// becalm's own program. On Linux this also names an executable that was replaced or removed since it
/// was started.
pub fn own_executable() -> io::Result<PathBuf> {
    let itself = PathBuf::from("/proc/self/exe");
    if cfg!(target_os = "linux") && itself.exists() {
        Ok(itself)
    } else {
        std::env::current_exe()
    }
}
