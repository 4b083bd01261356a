//! What stands around the attempts: the clock, the signals, the terminal?

use std::time::Duration;

use becalm::time::Instant;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::exit_code::{Ending, of_signal};
use super::group::{Group, Leader};
use super::inbox::{Event, Inbox};
use super::terminal::{self, Terminal};
use super::witness;

/// After KILL, how long the rest of a group is waited for. What is left then is dead and unburied,
/// or stuck in the kernel: no waiting helps.
const AFTER_KILL: Duration = Duration::from_secs(1);

/// How often a group is asked whether it is gone: quickly at first, then every 20 ms.
const SHORTEST_LOOK: Duration = Duration::from_millis(1);
const LONGEST_LOOK: Duration = Duration::from_millis(20);

/// What is granted to a command.
#[derive(Debug, Clone, Copy, Default)]
pub struct Terms {
    /// When this attempt has taken too long.
    pub attempt_timeout: Option<Instant>,
    /// When the whole call has.
    pub deadline: Option<Instant>,
    /// Whether it may have the foreground of the terminal.
    pub foreground: bool,
}

impl Terms {
    /// The limit that has passed by now, and first.
    fn passed(&self, now: Instant) -> Option<Ending> {
        let timeout = self.attempt_timeout.unwrap_or(Instant::NEVER);
        let deadline = self.deadline.unwrap_or(Instant::NEVER);
        if now < timeout.min(deadline) {
            None
        } else if timeout < deadline {
            Some(Ending::AttemptTimeout)
        } else {
            Some(Ending::Deadline)
        }
    }

    fn first(&self) -> Option<Instant> {
        self.attempt_timeout.into_iter().chain(self.deadline).min()
    }
}

/// Everything that happens to becalm while it waits, in one place.
pub struct Host {
    inbox: Inbox,
    clock: Box<dyn Fn() -> Instant>,
    terminal: Option<Terminal>,
    kill_after: Duration,
    told_to_end: Option<Signal>,
    /// The terminal's signal to a command, which becalm's own group was told of.
    interrupt: Option<Signal>,
    /// What becalm sends to its own group reaches becalm, too.
    own_echo: Option<Signal>,
    outputs_ended: usize,
}

impl Host {
    /// A host of commands that have this long between TERM, or the signal that ends becalm, and
    /// KILL.
    pub fn new(inbox: Inbox, clock: Box<dyn Fn() -> Instant>, kill_after: Duration) -> Self {
        let terminal = Terminal::of_stdin();
        Self {
            inbox,
            clock,
            terminal,
            kill_after,
            told_to_end: None,
            interrupt: None,
            own_echo: None,
            outputs_ended: 0,
        }
    }

    /// The events, for a thread that has something to tell.
    pub fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// The time.
    pub fn now(&self) -> Instant {
        (self.clock)()
    }

    /// The signal by which becalm was told to end.
    ///
    /// Looks at what has come in since the last wait, so that no attempt starts after it.
    pub fn told_to_end(&mut self) -> Option<Signal> {
        while let Some(event) = self.next_event(Some(Instant::ZERO)) {
            self.on_event(event, None);
        }
        self.told_to_end
    }

    /// The attempt has failed: if the user interrupted it, no other follows.
    pub fn heed_interrupt(&mut self) {
        self.told_to_end = self.told_to_end.or(self.interrupt);
    }

    /// Waits until then, or until becalm is told to end.
    ///
    /// `tick` is called with the time left, and says when it wants to be called next.
    pub fn wait_until(
        &mut self,
        until: Instant,
        mut tick: impl FnMut(Duration) -> Option<Duration>,
    ) {
        while self.told_to_end.is_none() {
            let now = self.now();
            if now >= until {
                return;
            }
            let next = tick(until.since(now)).map_or(until, |pause| now.after(pause).min(until));
            if let Some(event) = self.next_event(Some(next)) {
                self.on_event(event, None);
            }
        }
    }

    /// Waits until this many threads have come to the end of an output: whether they have. When
    /// becalm is told to end they have as long as a command.
    pub fn wait_for_outputs(&mut self, count: usize) -> bool {
        let mut limit = None;
        while self.outputs_ended < count {
            let now = self.now();
            if self.told_to_end.is_some() {
                let limit = *limit.get_or_insert(now.after(self.kill_after));
                if now >= limit {
                    break;
                }
            }
            if let Some(event) = self.next_event(limit) {
                self.on_event(event, None);
            }
        }
        std::mem::take(&mut self.outputs_ended) >= count
    }

    /// Whether a command can be put in the foreground of the terminal.
    pub fn may_lend_terminal(&self) -> bool {
        self.terminal.as_ref().is_some_and(Terminal::may_be_lent)
    }

    /// A command puts itself in the foreground.
    pub fn foreground_is_taken_by(&mut self, group: &Group) {
        if let Some(terminal) = &mut self.terminal {
            terminal.is_taken_by(group.id());
        }
    }

    /// Stays with a command until it and all of its group have ended.
    pub fn see_to_the_end(&mut self, group: &mut Group, terms: Terms) -> Ending {
        if terms.foreground {
            self.lend_terminal(group);
        }
        let mut limit = None;
        let mut kill = Kill::NotYet;
        let ending = loop {
            match group.leader() {
                Leader::Ended(ending) => break ending,
                Leader::Stopped(signal) => on_stopped_command(signal),
                Leader::Running => {}
            }
            let now = self.now();
            if self.told_to_end.is_some() {
                kill.arm(now.after(self.kill_after));
            } else if limit.is_none() {
                limit = terms.passed(now);
                if limit.is_some() {
                    group.end_with(Signal::SIGTERM);
                    kill.arm(now.after(self.kill_after));
                }
            }
            kill.fire(now, group);
            let alarm = match kill {
                Kill::NotYet => terms.first(),
                Kill::At(time) => Some(time),
                Kill::Sent(_) => None,
            };
            if let Some(event) = self.next_event(alarm) {
                self.on_event(event, Some((&*group, terms)));
            }
            if let Some(key) = self.terminal.as_mut().and_then(Terminal::key) {
                self.on_key(key);
            }
        };
        self.ask_witness(ending, limit.is_none());
        self.sweep(group, kill);
        let ending = limit.unwrap_or(ending);
        self.after_command(ending);
        ending
    }

    /// Ends what the command has left behind in its group.
    fn sweep(&mut self, group: &Group, mut kill: Kill) {
        if !group.is_alive() {
            return;
        }
        group.end_with(Signal::SIGTERM);
        kill.arm(self.now().after(self.kill_after));
        let mut look = SHORTEST_LOOK;
        while group.is_alive() {
            let now = self.now();
            kill.fire(now, group);
            if matches!(kill, Kill::Sent(time) if now >= time.after(AFTER_KILL)) {
                return;
            }
            if let Some(event) = self.next_event(Some(now.after(look))) {
                self.on_event(event, None);
            }
            look = (look * 2).min(LONGEST_LOOK);
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
        let _ = kill(Pid::from_raw(0), key);
    }

    /// The terminal comes back.
    fn after_command(&mut self, ending: Ending) {
        let Some(terminal) = &mut self.terminal else {
            return;
        };
        terminal.take_back();
        if !matches!(ending, Ending::Exited(_)) {
            terminal.restore();
        }
    }

    fn lend_terminal(&mut self, group: &Group) {
        if let Some(terminal) = &mut self.terminal {
            terminal.lend(group.id());
        }
    }

    fn next_event(&self, until: Option<Instant>) -> Option<Event> {
        self.inbox.next(self.now(), until)
    }

    fn on_event(&mut self, event: Event, command: Option<(&Group, Terms)>) {
        match event {
            Event::End(signal) if self.own_echo == Some(signal) => self.own_echo = None,
            Event::End(signal) => {
                self.told_to_end.get_or_insert(signal);
                if let Some((group, _)) = command {
                    group.end_with(signal);
                }
            }
            Event::HandOn(signal) => {
                if let Some((group, _)) = command {
                    group.signal(signal);
                }
            }
            Event::Stop(signal) => self.on_stop(signal, command),
            Event::Continue => self.resume(command),
            Event::OutputEnded => self.outputs_ended += 1,
            Event::Child => {}
        }
    }

    fn on_stop(&mut self, signal: Signal, command: Option<(&Group, Terms)>) {
        if let Some(terminal) = &mut self.terminal {
            if terminal.is_lent() && signal != Signal::SIGTSTP {
                terminal.share();
                return;
            }
            terminal.take_back();
        }
        if let Some((group, _)) = command {
            group.signal(Signal::SIGTSTP);
        }
        terminal::stop_self();
        self.resume(command);
    }

    fn resume(&mut self, command: Option<(&Group, Terms)>) {
        if let Some((group, terms)) = command {
            if terms.foreground {
                self.lend_terminal(group);
            }
            group.signal(Signal::SIGCONT);
        }
    }
}

/// The command was stopped by a key, or because it wants a terminal that it may not use: so is
/// becalm, for the shell to tell the user.
fn on_stopped_command(signal: Signal) {
    match signal {
        Signal::SIGTSTP => terminal::stop_job(),
        // Where nobody can bring it to the foreground it would ask again for ever.
        Signal::SIGTTIN | Signal::SIGTTOU if !terminal::is_orphaned() => terminal::stop_job(),
        _ => {}
    }
}

/// When a group is killed that was asked to end.
#[derive(Debug, Clone, Copy)]
enum Kill {
    NotYet,
    At(Instant),
    Sent(Instant),
}

impl Kill {
    /// The time is set once.
    fn arm(&mut self, time: Instant) {
        if let Self::NotYet = self {
            *self = Self::At(time);
        }
    }

    fn fire(&mut self, now: Instant, group: &Group) {
        if matches!(self, Self::At(time) if now >= *time) {
            group.signal(Signal::SIGKILL);
            *self = Self::Sent(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_that_passes_first_is_named() {
        let at = |nanos| Some(Instant::from_nanos(nanos));
        let terms = |attempt_timeout, deadline| Terms {
            attempt_timeout,
            deadline,
            foreground: false,
        };
        let now = Instant::from_nanos(10);
        assert_eq!(terms(None, None).passed(now), None);
        assert_eq!(terms(at(11), at(12)).passed(now), None);
        assert_eq!(
            terms(at(9), at(10)).passed(now),
            Some(Ending::AttemptTimeout)
        );
        assert_eq!(terms(at(10), at(9)).passed(now), Some(Ending::Deadline));
        assert_eq!(terms(at(10), at(10)).passed(now), Some(Ending::Deadline));
        assert_eq!(
            terms(at(10), None).passed(now),
            Some(Ending::AttemptTimeout)
        );
        assert_eq!(terms(None, at(10)).passed(now), Some(Ending::Deadline));
    }
}
