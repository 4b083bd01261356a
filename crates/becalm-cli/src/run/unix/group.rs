//! How is a command reached together with everything it has started?
//!
//! Each command leads a process group of its own. What leaves that group (`setsid`, a daemon) is
//! out of reach, by choice of who wrote the command.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, ExitStatus};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::processes::{self, Process};
use crate::run::course::exit_code::Ending;

/// A process group that becalm started, and its leader.
#[derive(Debug)]
pub struct Group {
    leader: Child,
    id: Pid,
}

/// What has become of the leader of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leader {
    /// It runs.
    Running,
    /// A signal has stopped it.
    Stopped(Signal),
    /// It is gone.
    Ended(Ending),
}

impl Group {
    /// Starts the command as the leader of a new group.
    ///
    /// # Errors
    ///
    /// The command cannot be started.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        let leader = command.process_group(0).spawn()?;
        // A process id is a positive i32 on every Unix.
        let id = i32::try_from(leader.id()).map_err(io::Error::other)?;
        Ok(Self {
            leader,
            id: Pid::from_raw(id),
        })
    }

    /// The group's id, which is its leader's.
    pub fn id(&self) -> Pid {
        self.id
    }

    /// becalm's end of what the leader reads, if it is a pipe. Given once.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.leader.stdin.take()
    }

    /// Sends a signal to every process in the group.
    pub fn signal(&self, signal: Signal) {
        // Gone (ESRCH) is what a signal to a group wants; of processes that run under another user
        // (EPERM) nothing can be wanted.
        let _ = killpg(self.id, signal);
    }

    /// Sends a signal that is meant to end the group; wakes what is stopped, so that it sees it.
    pub fn end_with(&self, signal: Signal) {
        self.signal(signal);
        self.signal(Signal::SIGCONT);
    }

    /// Kills the group; whether every process in it can be.
    pub fn kill(&self) -> bool {
        let is_sent = killpg(self.id, Signal::SIGKILL) != Err(Errno::EPERM);
        // One is enough for the system to call it sent.
        let others = processes::of_group(self.id).unwrap_or_default();
        let may = |it: &Process| kill(it.id, None) != Err(Errno::EPERM);
        is_sent && others.iter().all(may)
    }

    /// Whether a process is left in the group.
    ///
    /// Asked only after the leader's end. As long as the group lives, no other process can get its
    /// id; and process ids go round far too slowly for it to be another's right after.
    pub fn is_alive(&self) -> bool {
        let members = Pid::from_raw(-self.id.as_raw());
        while let Ok(status) = waitpid(members, Some(WaitPidFlag::WNOHANG)) {
            if status == WaitStatus::StillAlive {
                break;
            }
        }
        killpg(self.id, None) != Err(Errno::ESRCH)
    }

    /// What has become of the leader, without waiting.
    pub fn leader(&mut self) -> Leader {
        match self.leader.try_wait() {
            Ok(None) => self.stop(),
            Ok(Some(status)) => Leader::Ended(ending(status)),
            // Somebody else took the status: nothing is known but that it ended.
            Err(_) => Leader::Ended(Ending::Signalled(Signal::SIGKILL as i32)),
        }
    }

    /// The standard library does not tell of stops.
    fn stop(&self) -> Leader {
        match self.wait_for_stop() {
            Ok(WaitStatus::Stopped(_, signal)) => Leader::Stopped(signal),
            // Elsewhere than on Linux: it ended since `try_wait` looked.
            Ok(WaitStatus::Exited(_, code)) => {
                Leader::Ended(Ending::Exited(u8::try_from(code).unwrap_or(u8::MAX)))
            }
            Ok(WaitStatus::Signaled(_, signal, _)) => {
                Leader::Ended(Ending::Signalled(signal as i32))
            }
            _ => Leader::Running,
        }
    }

    /// Asks for stops alone. An end that it took would be lost for `try_wait`, and `nix` cannot tell of
    /// an end by a real-time signal.
    #[cfg(target_os = "linux")]
    fn wait_for_stop(&self) -> nix::Result<WaitStatus> {
        use nix::sys::wait::{Id, waitid};
        waitid(
            Id::Pid(self.id),
            WaitPidFlag::WNOHANG | WaitPidFlag::WSTOPPED,
        )
    }

    /// Asks for ends as well: `nix` has no `waitid` here.
    #[cfg(not(target_os = "linux"))]
    fn wait_for_stop(&self) -> nix::Result<WaitStatus> {
        waitpid(self.id, Some(WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED))
    }
}

fn ending(status: ExitStatus) -> Ending {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Exited(u8::try_from(code).unwrap_or(u8::MAX)),
        (None, signal) => Ending::Signalled(signal.unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::orphans::adopt_orphans;
    use super::*;

    fn ended(group: &mut Group) -> Ending {
        loop {
            match group.leader() {
                Leader::Ended(ending) => return ending,
                _ => std::thread::yield_now(),
            }
        }
    }

    #[test]
    fn a_group_lives_as_long_as_any_process_in_it() {
        adopt_orphans();
        let mut command = Command::new("/bin/sh");
        let mut group = Group::spawn(command.args(["-c", "sleep 1000 & exit 3"])).unwrap();
        assert_eq!(ended(&mut group), Ending::Exited(3));
        assert!(group.is_alive());
        group.signal(Signal::SIGKILL);
        while group.is_alive() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_stop_is_seen_and_an_end_without_a_name_keeps_its_number() {
        let mut command = Command::new("/bin/sh");
        let mut group = Group::spawn(command.args(["-c", "kill -STOP $$; kill -35 $$"])).unwrap();
        let stop = loop {
            match group.leader() {
                Leader::Running => std::thread::yield_now(),
                other => break other,
            }
        };
        assert_eq!(stop, Leader::Stopped(Signal::SIGSTOP));
        group.signal(Signal::SIGCONT);
        assert_eq!(ended(&mut group), Ending::Signalled(35));
    }

    #[cfg(target_os = "linux")] // /proc
    #[test]
    fn looking_for_a_stop_takes_no_end_away() {
        let mut command = Command::new("/bin/sh");
        let mut group = Group::spawn(command.args(["-c", "kill -35 $$"])).unwrap();
        let stat = format!("/proc/{}/stat", group.id());
        while !std::fs::read_to_string(&stat).unwrap().contains(") Z ") {
            std::thread::yield_now();
        }
        assert_eq!(group.stop(), Leader::Running);
        assert_eq!(ended(&mut group), Ending::Signalled(35));
    }
}
