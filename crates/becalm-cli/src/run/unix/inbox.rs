//! What does becalm wait for, all at once? Signals, the ends of its threads, and the time.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use becalm::time::Instant;
use nix::sys::signal::Signal;
use signal_hook::iterator::Signals;

use super::ignored::Ignored;

/// Signals that end becalm: the running command gets them, and no attempt follows.
const ENDING: [Signal; 8] = [
    Signal::SIGALRM,
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGPROF,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGVTALRM,
    Signal::SIGXCPU,
];
/// Signals that becalm only hands to the running command.
const HANDED_ON: [Signal; 2] = [Signal::SIGUSR1, Signal::SIGUSR2];
/// Signals by which the terminal, or a process beside becalm, asks for job control.
const JOB_CONTROL: [Signal; 3] = [Signal::SIGTSTP, Signal::SIGTTIN, Signal::SIGTTOU];

/// What has happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// becalm was told to end, by this signal.
    End(Signal),
    /// A signal for the command alone.
    HandOn(Signal),
    /// becalm was told to stop for a while, or not to use the terminal.
    Stop(Signal),
    /// becalm goes on after a stop.
    Continue,
    /// A child has changed its state.
    Child,
    /// A thread that copies output has come to its end.
    OutputEnded,
}

/// All events of the process, in their order.
#[derive(Debug)]
pub struct Inbox {
    events: Receiver<Event>,
    sender: Sender<Event>,
    hears_signals: bool,
}

impl Default for Inbox {
    /// One that hears no signals: they do to becalm what they do to any process.
    fn default() -> Self {
        let (sender, events) = channel();
        Self {
            events,
            sender,
            hears_signals: false,
        }
    }
}

impl Inbox {
    /// Hears signals from now on. Called before any child is started.
    ///
    /// A signal that was ignored when becalm started stays ignored (`nohup`, a job in the
    /// background of a script), by becalm and so by its commands.
    ///
    /// # Errors
    ///
    /// The operating system has no room for a thread or a pipe: no signal is heard.
    pub fn hear_signals(&mut self) -> io::Result<()> {
        if self.hears_signals {
            return Ok(());
        }
        let ignored = Ignored::at_start();
        let heard = ENDING.into_iter().chain(HANDED_ON).chain(JOB_CONTROL);
        let heard = heard.filter(|signal| !ignored.contains(*signal));
        let always = [Signal::SIGCONT, Signal::SIGCHLD];
        let numbers: Vec<i32> = heard.chain(always).map(|signal| signal as i32).collect();

        // The thread is first: a signal that once had a handler ends becalm no more.
        let (heard, by_thread) = channel::<Signals>();
        let to_inbox = self.sender();
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                let Ok(mut signals) = by_thread.recv() else {
                    return;
                };
                for event in signals.forever().filter_map(event_of) {
                    if to_inbox.send(event).is_err() {
                        return;
                    }
                }
            })?;
        self.hears_signals = heard.send(Signals::new(&numbers)?).is_ok();
        Ok(())
    }

    /// A sender for a thread that has something to tell.
    pub fn sender(&self) -> Sender<Event> {
        self.sender.clone()
    }

    /// The next event, or nothing if the time comes first. Without a time it waits for ever.
    pub fn next(&self, now: Instant, until: Option<Instant>) -> Option<Event> {
        let Some(until) = until else {
            return self.events.recv().ok();
        };
        // Bounded, because a platform may not know times as far as `Instant` does.
        let wait = until.since(now).min(Duration::from_secs(86_400));
        // Disconnected it cannot be: the inbox holds a sender itself.
        self.events.recv_timeout(wait).ok()
    }
}

/// A file that may not grow (`ulimit -f`) is an error of who writes it, and no end by a signal. Commands start with
/// the signal as becalm found it.
pub fn outlive_full_files() {
    let is_left = Ignored::told_at_start().is_some_and(|it| it.contains(Signal::SIGXFSZ));
    if !is_left {
        let _ = signal_hook::flag::register(Signal::SIGXFSZ as i32, Arc::default());
    }
}

fn event_of(signal: i32) -> Option<Event> {
    let signal = Signal::try_from(signal).ok()?;
    Some(match signal {
        Signal::SIGCHLD => Event::Child,
        Signal::SIGCONT => Event::Continue,
        _ if ENDING.contains(&signal) => Event::End(signal),
        _ if HANDED_ON.contains(&signal) => Event::HandOn(signal),
        _ => Event::Stop(signal),
    })
}
