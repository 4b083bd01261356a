//! How does a process stand still for a while, and never for longer?
//!
//! The watchdog stops and continues it, and continues it, too, when the drill is gone. When the watchdog is gone the drill
//! continues it.

use std::time::Duration;

use super::helper::Helper;
use super::process::Process;
use super::spec::Reach;
use super::watchdog::{self, Brief, Order, Standing, Told};

/// A process that stands still between [`Stopped::begin`] and [`Stopped::lift`].
#[derive(Debug)]
pub struct Stopped {
    brief: Brief,
    watchdog: Helper<Order, Told>,
    /// Whom the watchdog has stopped.
    standing: Standing,
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
            standing: Standing::default(),
        })
    }

    pub fn begin(&mut self) -> Result<(), String> {
        let told = self.watchdog.ask(&Order::Begin);
        if let Ok(Told::Stopped(processes)) = told {
            self.standing.0 = processes;
            return Ok(());
        }
        if !self.watchdog.is_there() {
            // It has not come to tell whom it has stopped until it ended.
            self.standing.0 = self.brief.process.reach(self.brief.reach);
            self.standing.lift();
        }
        told.map(drop)
    }

    pub fn lift(&mut self) -> Result<(), String> {
        let lifted = self.watchdog.ask(&Order::Lift).map(drop);
        if lifted.is_err() {
            self.standing.lift();
        }
        self.standing.0.clear();
        lifted
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = self.lift();
        self.watchdog.end();
    }
}
