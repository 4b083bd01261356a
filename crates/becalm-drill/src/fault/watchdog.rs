//! Who continues what was stopped when the drill is gone? A process of its own, which does nothing else.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::helper::{self, Answers};
use super::process::Process;
use super::spec::Reach;

/// Its name as a process.
pub const NAME: &str = "becalm-drill-watchdog";

/// What it is to watch.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Brief {
    pub process: Process,
    pub reach: Reach,
    /// It is continued after this time even if nobody says so.
    pub at_most: Duration,
}

/// What it is told to do.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub enum Order {
    Begin,
    Lift,
}

/// What it answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Told {
    Ready,
    /// All that stand still by it, for the drill to continue if it is killed.
    Stopped(Vec<Process>),
    Done,
}

/// Dropped, it continues those that it has stopped: on every way out that a process can still go.
#[derive(Debug, Default)]
pub struct Standing(pub Vec<Process>);

impl Standing {
    pub fn lift(&mut self) {
        // Those that were stopped last are continued first: a parent that looks for its children finds them.
        for process in self.0.drain(..).rev() {
            process.cont();
        }
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        self.lift();
    }
}

/// Watches until the drill is gone.
pub fn execute(argument: Option<OsString>) -> ExitCode {
    helper::execute(argument, |brief: Brief| watch(&brief))
}

fn watch(brief: &Brief) -> Result<(), String> {
    let (sender, inbox) = channel();
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])
        .map_err(|error| format!("cannot handle signals: {error}"))?;
    let ends = sender.clone();
    thread::spawn(move || {
        if signals.forever().next().is_some() {
            let _ = ends.send(None);
        }
    });
    helper::orders(move |order| {
        let _ = sender.send(order);
    });
    let answers = Answers::start();
    answers.tell(Told::Ready);
    let mut standing = Standing::default();
    let mut due: Option<Instant> = None;
    loop {
        let left = due.map_or(Duration::MAX, |due| {
            due.saturating_duration_since(Instant::now())
        });
        match inbox.recv_timeout(left) {
            Ok(Some(Order::Begin)) => {
                due = Instant::now().checked_add(brief.at_most);
                let stopped = brief
                    .process
                    .stop_all(brief.reach, |process| standing.0.push(process));
                match stopped {
                    Ok(()) => answers.tell(Told::Stopped(standing.0.clone())),
                    Err(sentence) => {
                        standing.lift();
                        answers.refuse(sentence);
                    }
                }
            }
            Ok(Some(Order::Lift)) => {
                standing.lift();
                due = None;
                answers.tell(Told::Done);
            }
            Err(RecvTimeoutError::Timeout) => {
                standing.lift();
                due = None;
            }
            Ok(None) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}
