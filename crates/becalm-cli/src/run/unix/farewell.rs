//! How does becalm itself end? With an exit code, or by the signal that told it to.

use std::process::ExitCode;

use nix::sys::signal::Signal;
use nix::unistd::getpid;

use super::witness::leave_no_core;
use crate::run::course::exit_code::of_signal;

/// What becalm ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Farewell {
    /// This exit code.
    Exit(u8),
    /// This signal: shells stop a script whose command died by the user's interrupt, and look at how
    /// it died, not at a number.
    Signal(Signal),
}

impl Farewell {
    /// The end by this signal; `code` is that of a command which was told of it. The first process of a system or
    /// container does not die by signals: who waits for it sees how the command ended, as without becalm.
    pub fn of_signal(signal: Signal, code: Option<u8>) -> Self {
        match code {
            Some(code) if is_first_process() => Self::Exit(code),
            _ => Self::Signal(signal),
        }
    }

    /// The exit code, as a shell tells it.
    pub fn code(self) -> u8 {
        match self {
            Self::Exit(code) => code,
            Self::Signal(signal) => of_signal(signal as i32),
        }
    }

    /// Ends becalm, where that is not by exit code; all it had to clean up is cleaned up.
    pub fn say(self) -> ExitCode {
        if let Self::Signal(signal) = self {
            leave_no_core();
            if !is_first_process() {
                let _ = signal_hook::low_level::emulate_default_handler(signal as i32);
            }
        }
        ExitCode::from(self.code())
    }
}

fn is_first_process() -> bool {
    getpid().as_raw() == 1
}
