//! How does a process stand still for a while, and never for longer?
//!
//! The watchdog stops and continues it, and continues it, too, when the drill is gone. When the watchdog is gone the drill
//! continues it.

use std::time::Duration;

use super::helper::Helper;
use super::process::Process;
use super::spec::Reach;
use super::watchdog::{self, Brief, Order, Told};

/// A process that stands still between [`Stopped::begin`] and [`Stopped::lift`].
#[derive(Debug)]
pub struct Stopped {
    brief: Brief,
    watchdog: Helper<Order, Told>,
    /// Whom the watchdog has stopped.
    standing: Vec<Process>,
}

impl Stopped {
    /// Nothing stands still yet.
    ///
    /// # Errors
    ///
    /// A sentence: there can be no watchdog.
    pub fn new(process: Process, reach: Reach, at_most: Duration) -> Result<Self, String> {
        let brief = Brief {
            process,
            reach,
            at_most,
        };
        let (watchdog, _) = Helper::start(watchdog::NAME, &brief)?;
        Ok(Self {
            brief,
            watchdog,
            standing: Vec::new(),
        })
    }

    pub fn begin(&mut self) -> Result<(), String> {
        let told = self.watchdog.ask(&Order::Begin);
        if let Ok(Told::Stopped(processes)) = told {
            self.standing = processes;
            return Ok(());
        }
        if !self.watchdog.is_there() {
            // It has not come to tell whom it has stopped until it ended.
            self.standing = self.brief.process.reach(self.brief.reach);
            self.continue_all();
        }
        told.map(drop)
    }

    pub fn lift(&mut self) -> Result<(), String> {
        let lifted = self.watchdog.ask(&Order::Lift).map(drop);
        if lifted.is_err() {
            self.continue_all();
        }
        self.standing.clear();
        lifted
    }

    /// As the watchdog would.
    fn continue_all(&mut self) {
        for process in self.standing.drain(..).rev() {
            process.cont();
        }
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = self.lift();
        self.watchdog.end();
    }
}
