//! What did an attempt end with?

use std::fmt;

use crate::run::unix::Signal;

/// A line of the output says that a command failed which itself ended with 0.
pub const FAILED_BY_OUTPUT: u8 = 1;
/// A timeout or the deadline killed the command (as in `timeout` of the GNU coreutils).
pub const TIMED_OUT: u8 = 124;
/// becalm itself failed: bad flags, an unusable file.
pub const OWN_ERROR: u8 = 125;
/// The command was found but cannot be executed (POSIX shell, section 2.8.2).
pub const CANNOT_EXECUTE: u8 = 126;
/// The command was not found (POSIX shell, section 2.8.2).
pub const NOT_FOUND: u8 = 127;

/// The exit code that stands for the end by a signal: 128 + its number (POSIX shell, section
/// 2.8.2).
pub fn of_signal(signal: i32) -> u8 {
    u8::try_from(signal).map_or(u8::MAX, |number| number.saturating_add(128))
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The command exited by itself.
    Exited(u8),
    /// A signal that becalm did not send ended the command.
    Signalled(i32),
    /// becalm ended the command because the attempt timeout had passed.
    AttemptTimeout,
    /// becalm ended the command because the deadline had passed.
    Deadline,
    /// There is no such command: nothing ran.
    NotFound,
    /// The command cannot be executed: nothing ran.
    CannotExecute,
    /// The system had no room for another process just now, or the program is being written: nothing
    /// ran.
    NotStarted,
}

impl Ending {
    /// The exit code that tells this ending to a shell.
    pub fn code(self) -> u8 {
        match self {
            Self::Exited(code) => code,
            Self::Signalled(signal) => of_signal(signal),
            Self::AttemptTimeout | Self::Deadline => TIMED_OUT,
            Self::NotFound => NOT_FOUND,
            Self::CannotExecute | Self::NotStarted => CANNOT_EXECUTE,
        }
    }

    /// The name in reports: one of a closed set.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exited(_) => "exit",
            Self::Signalled(_) => "signal",
            Self::AttemptTimeout => "attempt_timeout",
            Self::Deadline => "deadline",
            Self::NotFound => "not_found",
            Self::CannotExecute => "cannot_execute",
            Self::NotStarted => "not_started",
        }
    }

    /// The signal that ended the command by no doing of becalm.
    pub const fn signal(self) -> Option<i32> {
        match self {
            Self::Signalled(signal) => Some(signal),
            _ => None,
        }
    }
}

/// The ending in a few words, for a line of progress.
impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exit {code}"),
            Self::Signalled(signal) => match Signal::try_from(*signal) {
                Ok(known) => {
                    let name = known.as_str().trim_start_matches("SIG");
                    write!(f, "signal {signal}, {name}")
                }
                Err(_) => write!(f, "signal {signal}"),
            },
            Self::AttemptTimeout => f.write_str("attempt timeout"),
            Self::Deadline => f.write_str("deadline"),
            Self::NotFound => f.write_str("command not found"),
            Self::CannotExecute => f.write_str("command cannot be executed"),
            Self::NotStarted => f.write_str("command could not be started"),
        }
    }
}
