//! How does becalm stay with a command until it, and all that it started, has ended?

use std::time::Duration;

use becalm::time::Instant;
use nix::errno::Errno;
use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;

use super::group::{Group, Leader};
use super::host::Host;
use super::leftovers::kill_by_control_group;
use super::orphans::adopted;
use super::processes::{self, Process};
use super::terminal::{self, Terminal};
use super::witness;
use crate::run::course::exit_code::{Ending, of_signal};
use crate::run::course::terms::{Kill, Terms};

/// After KILL, how long the rest of a group is waited for. What is left then is dead and unburied,
/// or stuck in the kernel: no waiting helps.
const AFTER_KILL: Duration = Duration::from_secs(1);

/// As long for a command that may be killed: it is stuck in the kernel then.
const STUCK: Duration = Duration::from_secs(10);

/// How often a group is asked whether it is gone: quickly at first, then every 20 ms.
const SHORTEST_LOOK: Duration = Duration::from_millis(1);
const LONGEST_LOOK: Duration = Duration::from_millis(20);

impl Host {
    /// Stays with a command until it and all of its group have ended.
    pub fn see_to_the_end(&mut self, group: &mut Group, mut terms: Terms) -> Ending {
        if terms.foreground {
            self.lend_terminal(group);
        }
        self.guard.begin(group.id(), self.now());
        let mut limit = None;
        let mut kill = Kill::NotYet;
        let mut given_up_after = STUCK;
        let ending = loop {
            match group.leader() {
                Leader::Ended(ending) => break ending,
                Leader::Stopped(signal) => self.on_stopped_command(group, signal),
                Leader::Running => {}
            }
            let now = self.now();
            if self.told_to_end.is_some() {
                kill.arm(self.kill_time(now));
            } else if limit.is_none() {
                limit = self.passed(&mut terms, now);
                if limit.is_some() {
                    group.end_with(Signal::SIGTERM);
                    kill.arm(now.after(self.kill_after));
                }
            }
            if !kill_if_due(&mut kill, now, group) {
                given_up_after = AFTER_KILL;
            }
            if matches!(kill, Kill::Sent(time) if now >= time.after(given_up_after)) {
                break Ending::Signalled(Signal::SIGKILL as i32);
            }
            self.guard(now);
            let alarm = match kill {
                Kill::NotYet => terms.first(),
                Kill::At(time) => Some(time),
                Kill::Sent(time) => Some(time.after(given_up_after)),
            };
            let alarm = alarm.into_iter().chain(self.guard.due()).min();
            if let Some(event) = self.next_event(alarm) {
                self.on_event(event, Some((&*group, terms)));
            }
            if let Some(key) = self.terminal.as_mut().and_then(Terminal::key) {
                self.on_key(key);
            }
        };
        self.ask_witness(ending, limit.is_none());
        if limit.is_none() {
            self.let_leave(group);
        }
        let kill = self.sweep(group, kill);
        self.guard.end();
        let adopted = match kill {
            Kill::Sent(_) => self.kill_adopted(),
            _ => Vec::new(),
        };
        self.tell_leftovers(group, adopted);
        let ending = limit.unwrap_or(ending);
        self.after_command(ending);
        ending
    }

    /// Ends what the command has left behind in its group.
    fn sweep(&mut self, group: &Group, mut kill: Kill) -> Kill {
        if !group.is_alive() {
            return kill;
        }
        group.end_with(Signal::SIGTERM);
        kill.arm(self.now().after(self.kill_after));
        let mut look = SHORTEST_LOOK;
        while group.is_alive() {
            let now = self.now();
            if self.told_to_end.is_some() {
                kill.arm(self.kill_time(now));
            }
            kill_if_due(&mut kill, now, group);
            self.guard(now);
            if matches!(kill, Kill::Sent(time) if now >= time.after(AFTER_KILL)) {
                break;
            }
            if let Some(event) = self.next_event(Some(now.after(look))) {
                self.on_event(event, None);
            }
            look = (look * 2).min(LONGEST_LOOK);
        }
        kill
    }

    fn guard(&mut self, now: Instant) {
        if self.guard.look(now).is_err() {
            self.tell_once(
                "becalm cannot start its own program beside the command (without /proc?): if \
                 becalm is killed, the command goes on",
            );
        }
    }

    /// A becalm in the group that was killed could not end its own command. What cannot be killed of it.
    fn kill_adopted(&mut self) -> Vec<Process> {
        let end = self.now().after(AFTER_KILL);
        let mut has_tried_all = false;
        loop {
            let Some(mut left) = adopted() else {
                self.tell_once(
                    "the command was killed; what it started outside of its process group may still \
                     run, and this system does not show what that is",
                );
                return Vec::new();
            };
            left.retain(|it| !self.guard.stays(it.id));
            let may = |it: &Process| signal::kill(it.id, Signal::SIGKILL) != Err(Errno::EPERM);
            let (killed, beyond): (Vec<_>, Vec<_>) = left.into_iter().partition(may);
            let is_all_tried = beyond.is_empty() || has_tried_all;
            if (killed.is_empty() && is_all_tried) || self.now() >= end {
                return beyond;
            }
            if !is_all_tried {
                kill_by_control_group(&beyond);
                has_tried_all = true;
            }
            if let Some(event) = self.next_event(Some(self.now().after(SHORTEST_LOOK))) {
                self.on_event(event, None);
            }
        }
    }

    /// Whether a signal came from the terminal to the command that has ended.
    fn ask_witness(&mut self, ending: Ending, by_itself: bool) {
        let Some(terminal) = &mut self.terminal else {
            return;
        };
        if let Some(key) = terminal.dismiss_witness() {
            return self.on_key(key);
        }
        if !terminal.is_lent() || !by_itself || self.interrupt.is_some() {
            return;
        }
        // It came before the witness did, or a key meant the same to a command that reads all keys.
        let told = witness::OF_A_TERMINAL
            .into_iter()
            .find(|signal| ending.code() == of_signal(*signal as i32));
        match (told, ending) {
            (Some(signal), Ending::Signalled(_)) => self.on_key(signal),
            (told, _) => self.interrupt = told,
        }
    }

    /// A signal that came from the terminal to its foreground, by a key or because it has gone, was
    /// meant for all of becalm's own group: it is told, as if the command were in it.
    fn on_key(&mut self, key: Signal) {
        self.interrupt = Some(key);
        self.own_echo = Some(key);
        let _ = signal::kill(Pid::from_raw(0), key);
    }

    /// The terminal comes back.
    fn after_command(&mut self, ending: Ending) {
        let Some(terminal) = &mut self.terminal else {
            return;
        };
        if self.has_leftovers && terminal::is_of_becalm() {
            // When becalm ends the terminal goes, and hangs up on who is in the foreground, whatever its user.
            return;
        }
        terminal.take_back();
        if !matches!(ending, Ending::Exited(_)) {
            terminal.restore();
        }
    }

    /// The command was stopped by a key, or because it wants a terminal that it may not use: so is
    /// becalm, for the shell to tell the user.
    fn on_stopped_command(&mut self, group: &Group, signal: Signal) {
        let wants_terminal = matches!(signal, Signal::SIGTTIN | Signal::SIGTTOU);
        if let Some(terminal) = &mut self.terminal {
            let may_use_it = wants_terminal && terminal.is_in_front(group.id());
            if may_use_it || (signal == Signal::SIGSTOP && terminal.starts(group.id())) {
                return group.signal(Signal::SIGCONT);
            }
        }
        // A command that watches over a job of its own stops itself so when a key has stopped that job: su, or a becalm.
        let stops_itself =
            signal == Signal::SIGSTOP && self.terminal.as_ref().is_some_and(Terminal::is_lent);
        // Without a shell that can continue it, it would stop again for ever.
        let is_watched = (wants_terminal || stops_itself) && !terminal::is_orphaned();
        if signal == Signal::SIGTSTP || is_watched {
            terminal::stop_job();
        }
    }
}

/// Kills the group if it is time; `false` if that is out of becalm's reach.
fn kill_if_due(kill: &mut Kill, now: Instant, group: &Group) -> bool {
    if !kill.is_due(now) || group.kill() {
        return true;
    }
    kill_by_control_group(&processes::of_group(group.id()).unwrap_or_default());
    false
}
