//! Who may read the terminal? The running command, as under a shell; then becalm again.

use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, raise};
use nix::sys::termios::{SetArg, Termios, tcgetattr, tcsetattr};
use nix::unistd::{Pid, getpgrp, getpid, getsid, tcgetpgrp, tcsetpgrp};

use super::witness::Witness;

/// The terminal at becalm's standard input, and whose foreground it is.
#[derive(Debug)]
pub struct Terminal {
    device: OwnedFd,
    /// How the terminal was set when becalm started.
    settings: Option<Termios>,
    lent_to: Option<Pid>,
    /// Who sees the keys that go to the command alone.
    witness: Option<Witness>,
    /// Another process of becalm's own group wants the terminal for itself, such as the pager in
    /// `becalm run -- CMD | less`.
    is_shared: bool,
    is_starting: bool,
    /// [`Self::key`] has told of one.
    key_is_told: bool,
}

impl Terminal {
    /// The terminal, if standard input is one.
    pub fn of_stdin() -> Option<Self> {
        let stdin = io::stdin();
        if !stdin.is_terminal() {
            return None;
        }
        let device = stdin.as_fd().try_clone_to_owned().ok()?;
        let settings = tcgetattr(&device).ok();
        Some(Self {
            device,
            settings,
            lent_to: None,
            witness: None,
            is_shared: false,
            is_starting: false,
            key_is_told: false,
        })
    }

    /// Whether becalm is in the foreground itself, and may give it away.
    pub fn may_be_lent(&self) -> bool {
        !self.is_shared && tcgetpgrp(&self.device) == Ok(getpgrp())
    }

    /// Puts a group in the foreground, if it is becalm's to give.
    pub fn lend(&mut self, group: Pid) {
        if self.may_be_lent() && tcsetpgrp(&self.device, group).is_ok() {
            self.lent_to = Some(group);
            self.call_witness(group);
        }
    }

    /// A group puts itself in the foreground, sooner or later than this is called: it may have ended
    /// by then, and the terminal with it. Then it stops, until it [starts](Self::starts).
    pub fn is_taken_by(&mut self, group: Pid) {
        self.lent_to = Some(group);
        self.is_starting = true;
    }

    /// Whether a group that has stopped did so to wait for its witness, which stands in it now. No key
    /// is pressed on the command before.
    pub fn starts(&mut self, group: Pid) -> bool {
        let starts = std::mem::take(&mut self.is_starting);
        if starts {
            self.call_witness(group);
        }
        starts
    }

    fn call_witness(&mut self, group: Pid) {
        if self.witness.is_none() {
            // Without one, only the command's own end tells.
            self.witness = Witness::join(group).ok();
        }
    }

    /// Whether this group is in the foreground.
    pub fn is_in_front(&self, group: Pid) -> bool {
        tcgetpgrp(&self.device) == Ok(group)
    }

    /// The key, if one was pressed that the command alone was told of. Told once.
    pub fn key(&mut self) -> Option<Signal> {
        let key = self.witness.as_mut()?.saw();
        key.filter(|_| !std::mem::replace(&mut self.key_is_told, true))
    }

    /// The witness's process.
    pub fn witness(&self) -> Option<Pid> {
        self.witness.as_ref().and_then(Witness::id)
    }

    /// No process but the command's own is to be in its group any more. As [`Self::key`].
    pub fn dismiss_witness(&mut self) -> Option<Signal> {
        let key = self.witness.take().and_then(Witness::dismiss);
        key.filter(|_| !std::mem::take(&mut self.key_is_told))
    }

    /// Whether a command has the foreground.
    pub fn is_lent(&self) -> bool {
        self.lent_to.is_some()
    }

    /// Puts becalm in the foreground again, unless somebody else has taken it since.
    pub fn take_back(&mut self) {
        let Some(group) = self.lent_to.take() else {
            return;
        };
        if tcgetpgrp(&self.device) == Ok(group) {
            let _unstopped = Unstopped::start();
            let _ = tcsetpgrp(&self.device, getpgrp());
        }
    }

    /// Sets the terminal as it was when becalm started, if becalm is in the foreground: a command
    /// that was killed left it as it stood (no echo, no line editing).
    pub fn restore(&self) {
        if let Some(settings) = &self.settings {
            if tcgetpgrp(&self.device) == Ok(getpgrp()) {
                let _ = tcsetattr(&self.device, SetArg::TCSADRAIN, settings);
            }
        }
    }

    /// Leaves the foreground to becalm's own group for good, and wakes who waits for it there.
    pub fn share(&mut self) {
        self.is_shared = true;
        self.take_back();
        let _ = kill(Pid::from_raw(0), Signal::SIGCONT);
    }
}

/// While it lives, this thread may use and set a terminal from the background: the kernel does not
/// stop who has SIGTTOU blocked. Short, since commands inherit what the main thread has blocked.
#[derive(Debug)]
pub struct Unstopped(SigSet);

impl Unstopped {
    /// From here on.
    pub fn start() -> Self {
        let mut output = SigSet::empty();
        output.add(Signal::SIGTTOU);
        Self(
            output
                .thread_swap_mask(SigmaskHow::SIG_BLOCK)
                .unwrap_or_else(|_| SigSet::empty()),
        )
    }
}

impl Drop for Unstopped {
    fn drop(&mut self) {
        let _ = self.0.thread_set_mask();
    }
}

/// Stops becalm until a shell continues it; at once over where nobody could.
pub fn stop_self() {
    if !is_orphaned() {
        let _ = raise(Signal::SIGSTOP);
    }
}

/// Whether the terminal goes when becalm does: becalm leads its session, as under `ssh -t HOST becalm ..`.
pub fn is_of_becalm() -> bool {
    getsid(None) == Ok(getpid())
}

/// Tells becalm's whole job, becalm included, that the user wants it to stop.
pub fn stop_job() {
    let _ = kill(Pid::from_raw(0), Signal::SIGTSTP);
}

/// Whether no shell watches over becalm's job: it runs in the group of the session's leader (a
/// container's first process, `ssh HOST CMD`), or that leader has gone. The kernel does not stop
/// such a process on a key press either (POSIX, "orphaned process group").
pub fn is_orphaned() -> bool {
    getsid(None).map_or(true, |leader| {
        leader == getpgrp() || kill(leader, None) == Err(Errno::ESRCH)
    })
}
