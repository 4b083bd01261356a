//! Did somebody press the interrupt key while a command had the terminal?
//!
//! The key goes to the foreground alone, and a command may answer it with any exit code. So a process
//! of becalm's own stands in the command's group: what the key does to it, becalm reads from how it
//! ended. It goes by itself when becalm does.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ExitCode, ExitStatus, Stdio};
use std::sync::Arc;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::itself;

/// The name under which becalm stands as a witness: `argv[0]`.
pub const NAME: &str = "becalm-witness";

/// Signals that come from a terminal's keys, or when the terminal goes.
pub const OF_A_TERMINAL: [Signal; 3] = [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGHUP];

/// A process in a command's group that only waits.
#[derive(Debug)]
pub struct Witness(Child);

impl Witness {
    /// A witness in this group.
    ///
    /// # Errors
    ///
    /// It cannot be started.
    pub fn join(group: Pid) -> io::Result<Self> {
        let mut command = itself::under(NAME)?;
        command.process_group(group.as_raw());
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        command.stderr(Stdio::null()).spawn().map(Self)
    }

    /// Its process.
    pub fn id(&self) -> Option<Pid> {
        i32::try_from(self.0.id()).ok().map(Pid::from_raw)
    }

    /// What came from the terminal so far.
    pub fn saw(&mut self) -> Option<Signal> {
        self.0.try_wait().ok().flatten().and_then(of_a_terminal)
    }

    /// Ends it; what came from the terminal. What was sent to the group before reaches it before its
    /// end does.
    pub fn dismiss(mut self) -> Option<Signal> {
        drop(self.0.stdin.take());
        if let Some(id) = self.id() {
            // It may be stopped with the command.
            let _ = kill(id, Signal::SIGCONT);
        }
        self.0.wait().ok().and_then(of_a_terminal)
    }
}

fn of_a_terminal(status: ExitStatus) -> Option<Signal> {
    OF_A_TERMINAL
        .into_iter()
        .find(|signal| status.signal() == Some(*signal as i32))
}

/// What the witness does: it waits for the end of becalm's pipe.
pub fn stand() -> ExitCode {
    leave_no_core();
    for signal in [Signal::SIGTERM, Signal::SIGUSR1, Signal::SIGUSR2] {
        // These come from becalm, and are no concern of the witness.
        let _ = signal_hook::flag::register(signal as i32, Arc::default());
    }
    let _ = io::copy(&mut io::stdin(), &mut io::sink());
    ExitCode::SUCCESS
}

/// The quit key asks the command for a core, not becalm.
pub fn leave_no_core() {
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_dumpable(false);
    #[cfg(not(target_os = "linux"))]
    let _ = nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_CORE, 0, 0);
}
