//! Which signals did becalm find ignored when it started?
//!
//! Linux tells in /proc. Elsewhere becalm finds out: a command starts with the same ones ignored, and outlives them.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// What nohup and scripts set to be ignored: only these are found out where the system does not tell.
const USUAL: [Signal; 3] = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM];

/// Signals, as a set of bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ignored(u64);

impl Ignored {
    /// Those that are ignored now. Asked before becalm handles any.
    pub fn at_start() -> Self {
        Self::told_at_start().unwrap_or_else(Self::found_out)
    }

    /// Those that the system tells of, if it does. It is asked once.
    pub fn told_at_start() -> Option<Self> {
        static TOLD: OnceLock<Option<Ignored>> = OnceLock::new();
        *TOLD.get_or_init(|| Self::told(&std::fs::read_to_string("/proc/self/status").ok()?))
    }

    /// Whether this one is.
    pub fn contains(self, signal: Signal) -> bool {
        self.0 & bit(signal) != 0
    }

    fn told(status: &str) -> Option<Self> {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        u64::from_str_radix(mask?.trim(), 16).ok().map(Self)
    }

    /// What cannot be found out is taken not to be ignored.
    fn found_out() -> Self {
        let outlived = |signal: &Signal| outlives(*signal).unwrap_or(false);
        let mut found = USUAL
            .into_iter()
            .filter(outlived)
            .fold(0, |all, signal| all | bit(signal));
        // A shell ignores both for what it runs in the background. To ask would leave a core.
        if found & bit(Signal::SIGINT) != 0 {
            found |= bit(Signal::SIGQUIT);
        }
        Self(found)
    }
}

/// Whether a command that is started now outlives this signal.
fn outlives(signal: Signal) -> io::Result<bool> {
    let mut command = Command::new("cat");
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut process = command.stderr(Stdio::null()).spawn()?;
    let id = i32::try_from(process.id()).map_err(io::Error::other)?;
    let sent = kill(Pid::from_raw(id), signal);
    // It ends now, if it has not: what was sent before reaches it before the end of its input does.
    drop(process.stdin.take());
    let status = process.wait()?;
    Ok(sent.is_ok() && status.signal() != Some(signal as i32))
}

fn bit(signal: Signal) -> u64 {
    1 << (signal as i32 - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_status() {
        let status = "Name:\tbecalm\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n";
        let ignored = Ignored::told(status).unwrap();
        assert!(ignored.contains(Signal::SIGHUP));
        assert!(ignored.contains(Signal::SIGPIPE));
        assert!(!ignored.contains(Signal::SIGINT));
        assert_eq!(Ignored::told("SigIgn:\tgarbage"), None);
        assert_eq!(Ignored::told(""), None);
    }

    #[cfg(target_os = "linux")] // /proc
    #[test]
    fn what_is_found_out_is_what_proc_tells() {
        let (told, found) = (Ignored::at_start(), Ignored::found_out());
        for signal in USUAL {
            assert_eq!(found.contains(signal), told.contains(signal), "{signal}");
        }
    }
}
