//! What stands around the attempts: the clock, the signals, the terminal?

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use becalm::time::Instant;
use nix::sys::signal::Signal;

use super::group::Group;
use super::guard::Guard;
use super::inbox::{Event, Inbox};
use super::orphans::bury_orphans;
use super::terminal::{self, Terminal};
use crate::run::course::exit_code::Ending;
use crate::run::course::layers::Above;
use crate::run::course::progress::complain;
use crate::run::course::terms::{Own, Terms};

/// A signal this long after the first is meant to hasten. Others send theirs twice: to becalm, and to
/// becalm's group.
const AGAIN: Duration = Duration::from_millis(300);

const fn lost_after(limit: Ending) -> &'static str {
    match limit {
        Ending::AttemptTimeout => {
            "the attempt timeout has passed, and no program reads the output: the rest of it is lost"
        }
        _ => "the deadline has passed, and no program reads the output: the rest of it is lost",
    }
}

/// Everything that happens to becalm while it waits, in one place.
pub struct Host {
    inbox: Inbox,
    clock: Box<dyn Fn() -> Instant>,
    pub(super) terminal: Option<Terminal>,
    pub(super) guard: Guard,
    /// The becalm around this one.
    pub above: Above,
    pub(super) kill_after: Duration,
    pub(super) told_to_end: Option<Signal>,
    told_at: Instant,
    /// Told again: nothing more is waited for.
    is_hastened: bool,
    /// The terminal's signal to a command, which becalm's own group was told of.
    pub(super) interrupt: Option<Signal>,
    /// What becalm sends to its own group reaches becalm, too.
    pub(super) own_echo: Option<Signal>,
    outputs_ended: usize,
    /// What is granted to the whole call, and so to who reads what it says.
    pub(super) of_call: Terms,
    /// What is granted to an attempt, and so to who reads what it wrote before they take some of it.
    stall: Option<Duration>,
    /// How many bytes they have taken.
    pub taken: Arc<AtomicU64>,
    /// Something of a command still runs, and cannot be ended.
    pub has_leftovers: bool,
    /// Work was left that others hold up, and they hold up more of it.
    pub has_left_work: bool,
    /// What was [told once](Self::tell_once).
    told: Vec<&'static str>,
}

impl Host {
    /// A host of commands that have this long between TERM, or the signal that ends becalm, and
    /// KILL, and of which each attempt has this long.
    pub fn new(
        inbox: Inbox,
        clock: Box<dyn Fn() -> Instant>,
        kill_after: Duration,
        stall: Option<Duration>,
        above: Above,
    ) -> Self {
        let terminal = Terminal::of_stdin();
        Self {
            inbox,
            clock,
            terminal,
            guard: Guard::new(kill_after),
            above,
            kill_after,
            told_to_end: None,
            told_at: Instant::NEVER,
            is_hastened: false,
            interrupt: None,
            own_echo: None,
            outputs_ended: 0,
            of_call: Terms::default(),
            stall,
            taken: Arc::default(),
            has_leftovers: false,
            has_left_work: false,
            told: Vec::new(),
        }
    }

    /// The events, for a thread that has something to tell.
    pub fn inbox(&mut self) -> &mut Inbox {
        &mut self.inbox
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

    /// Waits until this many threads have come to the end of an output. They have as long as a command when becalm is
    /// told to end, and when a limit has passed.
    ///
    /// # Errors
    ///
    /// They have not: this limit has cut them, or none where becalm is told to end.
    pub fn wait_for_outputs(&mut self, count: usize, terms: Terms) -> Result<(), Option<Ending>> {
        let waited = self.see_outputs_end(count, terms);
        self.leave_work(waited);
        waited
    }

    /// Some of it is lost where a limit has cut it.
    fn leave_work(&mut self, waited: Result<(), Option<Ending>>) {
        if let Err(Some(limit)) = waited {
            self.has_left_work = true;
            self.tell_once(lost_after(limit));
        }
    }

    fn see_outputs_end(&mut self, count: usize, mut terms: Terms) -> Result<(), Option<Ending>> {
        let begun = self.now();
        let mut told = None;
        while self.outputs_ended < count {
            let now = self.now();
            if self.told_to_end.is_some() {
                let end = self.kill_time(now);
                told = Some(told.map_or(end, |it: Instant| it.min(end)));
            }
            let passed = self.passed(&mut terms, now);
            let granted = terms.first().map(|it| it.max(begun).after(self.kill_after));
            let until = told.into_iter().chain(granted).min();
            if until.is_some_and(|it| now >= it) {
                self.outputs_ended = 0;
                return Err(passed.filter(|_| told.is_none()));
            }
            if let Some(event) = self.next_event(until) {
                self.on_event(event, None);
            }
        }
        self.outputs_ended = 0;
        Ok(())
    }

    /// The limit that has passed by now. What has gone sets none.
    pub(super) fn passed(&mut self, terms: &mut Terms, now: Instant) -> Option<Ending> {
        let passed = terms.passed(now)?;
        if !self.above.has_gone() {
            return Some(passed);
        }
        *terms = terms.without_above();
        terms.passed(now)
    }

    /// Stays with work that may wait for others; its result. When becalm is told to end, or the deadline has passed, it has
    /// as long as a command, and has no result then; nor has it where they have taken nothing for as long as an attempt may take.
    /// Without room for a thread nothing bounds it.
    pub fn stay_with<T, F>(&mut self, work: F) -> Option<T>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        if self.has_left_work {
            return None;
        }
        let inbox = self.inbox.sender();
        let (given, by_thread) = channel::<F>();
        let thread = thread::Builder::new().spawn(move || {
            let result = by_thread.recv().ok()?();
            let _ = inbox.send(Event::OutputEnded);
            Some(result)
        });
        let Ok(thread) = thread else {
            return Some(work());
        };
        let _ = given.send(work);
        let waited = loop {
            let (before, terms) = (self.taken.load(Ordering::Relaxed), self.of_work());
            match self.see_outputs_end(1, terms) {
                Err(Some(Ending::AttemptTimeout))
                    if self.taken.load(Ordering::Relaxed) != before => {}
                waited => break waited,
            }
        };
        self.leave_work(waited);
        self.has_left_work |= waited.is_err();
        waited.ok().and_then(|()| thread.join().ok()?)
    }

    /// What is granted from now on to who reads what becalm writes.
    fn of_work(&self) -> Terms {
        let attempt_timeout = self.stall.map(|it| self.now().after(it));
        Terms {
            attempt_timeout,
            own: Own {
                attempt_timeout,
                ..self.of_call.own
            },
            ..self.of_call
        }
    }

    /// Whether a command can be put in the foreground of the terminal.
    pub fn may_lend_terminal(&self) -> bool {
        self.terminal.as_ref().is_some_and(Terminal::may_be_lent)
    }

    /// A file that is to go when becalm is killed.
    pub fn guard_file(&mut self, path: Option<&Path>) {
        self.guard.file = path.map(Path::to_owned);
    }

    /// A command puts itself in the foreground.
    pub fn foreground_is_taken_by(&mut self, group: &Group) {
        if let Some(terminal) = &mut self.terminal {
            terminal.is_taken_by(group.id());
        }
    }

    /// What this system does not let becalm do, said when it would have been done first.
    pub(super) fn tell_once(&mut self, limit: &'static str) {
        if !self.told.contains(&limit) {
            self.told.push(limit);
            complain(limit);
        }
    }

    pub(super) fn lend_terminal(&mut self, group: &Group) {
        if let Some(terminal) = &mut self.terminal {
            terminal.lend(group.id());
        }
    }

    /// Until when what was asked to end now may take.
    pub(super) fn kill_time(&self, now: Instant) -> Instant {
        if self.is_hastened {
            now
        } else {
            now.after(self.kill_after)
        }
    }

    pub(super) fn next_event(&self, until: Option<Instant>) -> Option<Event> {
        self.inbox.next(self.now(), until)
    }

    pub(super) fn on_event(&mut self, event: Event, command: Option<(&Group, Terms)>) {
        match event {
            Event::End(signal) if self.own_echo == Some(signal) => self.own_echo = None,
            Event::End(signal) => {
                let now = self.now();
                if self.told_to_end.is_none() {
                    self.told_to_end = Some(signal);
                    self.told_at = now;
                }
                self.is_hastened |= now.since(self.told_at) >= AGAIN;
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
            Event::Child => {
                let witness = self.terminal.as_ref().and_then(Terminal::witness);
                let leader = command.map(|(group, _)| group.id());
                let kept = [leader, witness, self.guard.id()];
                let kept: Vec<_> = kept.into_iter().flatten().collect();
                bury_orphans(&kept);
            }
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
