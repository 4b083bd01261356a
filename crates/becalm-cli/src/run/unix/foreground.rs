//! How is a command in the foreground of the terminal from its first instruction on?
//!
//! Only the command's own process can see to that, before it becomes the command. So on a terminal
//! becalm starts itself under another name, which does this and then executes the command in its
//! place, as a shell does between `fork` and `exec`.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::sys::signal::{Signal, raise};
use nix::unistd::{AccessFlags, access, close, getpgrp, tcsetpgrp};

use becalm_check::shown::printable;

use super::itself;
use super::pipe;
use super::terminal::Unstopped;
use crate::run::course::exit_code::Ending;
use crate::run::course::progress::complain;

/// The name under which becalm puts itself in the foreground: `argv[0]`.
pub const NAME: &str = "becalm-foreground";

/// A pipe on which the detour tells becalm that the program could not be executed: an exit code may
/// be the program's own.
#[derive(Debug)]
pub struct Detour {
    told: OwnedFd,
    /// The detour's end, until it has started.
    tells: Option<OwnedFd>,
}

impl Detour {
    /// A detour; `None` where there can be none.
    pub fn new() -> Option<Self> {
        itself::under(NAME).ok()?;
        let (told, tells) = pipe::pair().ok()?;
        // What is not there when the command has ended never comes.
        fcntl(&told, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).ok()?;
        Some(Self {
            told,
            tells: Some(tells),
        })
    }

    /// The program, by this detour. No other process may be started before [`Self::is_taken`].
    pub fn to(&self, program: &OsStr) -> io::Result<Command> {
        let mut command = itself::under(NAME)?;
        if let Some(tells) = &self.tells {
            fcntl(tells, FcntlArg::F_SETFD(FdFlag::empty()))?;
            command.arg(tells.as_raw_fd().to_string());
        }
        command.arg(program);
        Ok(command)
    }

    /// The detour has been started.
    pub fn is_taken(&mut self) {
        self.tells = None;
    }

    /// Why the program could not be executed, when the detour has ended in its place.
    pub fn failure(self) -> Option<io::Error> {
        let mut text = String::new();
        File::from(self.told).read_to_string(&mut text).ok()?;
        text.parse().ok().map(io::Error::from_raw_os_error)
    }
}

/// What the detour does: it takes the foreground, and becomes the command; the result is the exit code
/// of the failure to do so.
pub fn execute(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let failure = arguments.next()?.to_str()?.parse().ok()?;
    let program = arguments.next()?;
    let arguments: Vec<_> = arguments.collect();
    let failure = until_executed(failure);
    if let Ok(terminal) = File::open("/dev/tty") {
        let _unstopped = Unstopped::start();
        // The terminal may be gone; the command will see.
        let _ = tcsetpgrp(&terminal, getpgrp());
    }
    // Until becalm has seen it, and sees every key.
    let _ = raise(Signal::SIGSTOP);
    let mut error = Command::new(&program).args(&arguments).exec();
    if let Some(mut shell) = by_shell(&program, &error) {
        error = shell.args(&arguments).exec();
    }
    if let (Some(mut failure), Some(number)) = (failure, error.raw_os_error()) {
        let _ = failure.write_all(number.to_string().as_bytes());
    }
    Some(ExitCode::from(ending_of(&error).code()))
}

/// This descriptor, but for the program: that does not inherit it.
fn until_executed(inherited: RawFd) -> Option<File> {
    // /dev/fd is a link to this on Linux, and may be missing where only /proc is mounted.
    let own = ["/proc/self/fd", "/dev/fd"].into_iter().find_map(|folder| {
        let path = format!("{folder}/{inherited}");
        File::options().write(true).open(path).ok()
    });
    let _ = close(inherited);
    own
}

/// Tells why a command could not be started.
pub fn not_started(program: &OsStr, error: &io::Error) -> Ending {
    let missing = missing_interpreter(program, error);
    let why = missing.clone().unwrap_or_else(|| error.to_string());
    complain(&format!(
        "cannot run {}: {why}",
        printable(&program.to_string_lossy())
    ));
    if missing.is_some() {
        return Ending::CannotExecute;
    }
    let ending = ending_of(error);
    let line = program.to_str();
    if let (Ending::NotFound, Some(line)) =
        (ending, line.filter(|it| it.contains(char::is_whitespace)))
    {
        complain(&format!(
            "this is taken for the name of one program; for a line of shell write sh -c '{line}'"
        ));
    }
    ending
}

/// What is missing, where the program itself is not, though the system says that there is none.
fn missing_interpreter(program: &OsStr, error: &io::Error) -> Option<String> {
    let is_meant = error.kind() == io::ErrorKind::NotFound;
    let file = is_meant.then(|| found(program))??;
    let mut start = Vec::new();
    File::open(file)
        .ok()?
        .take(256)
        .read_to_end(&mut start)
        .ok()?;
    let Some(line) = start.strip_prefix(b"#!") else {
        return Some("it is there, but the loader that it was built for is not".into());
    };
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let remedy = if line.ends_with(b"\r") {
        "; that line ends with a carriage return, which belongs to the name"
    } else {
        ""
    };
    let line = String::from_utf8_lossy(line);
    let name = line.split_whitespace().next().unwrap_or_default();
    Some(format!(
        "it is there, but the interpreter of its first line is not: {name}{remedy}"
    ))
}

fn ending_of(error: &io::Error) -> Ending {
    match error.raw_os_error().map(Errno::from_raw) {
        _ if error.kind() == io::ErrorKind::NotFound => Ending::NotFound,
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
    let mut command = Command::new("/bin/sh");
    command.arg(found(program)?);
    Some(command)
}

/// The file of this name that may be executed, as `execvp` looks for it.
fn found(program: &OsStr) -> Option<PathBuf> {
    let path = PathBuf::from(program);
    let is_one = |file: &PathBuf| access(file, AccessFlags::X_OK).is_ok() && file.is_file();
    if path.components().count() > 1 || path.is_absolute() {
        return Some(path).filter(is_one);
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .map(|folder| folder.join(&path))
        .find(is_one)
}
