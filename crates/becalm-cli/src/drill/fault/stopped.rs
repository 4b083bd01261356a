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
        Ok(Self { brief, watchdog })
    }

    pub fn begin(&mut self) -> Result<(), String> {
        match self.watchdog.ask(&Order::Begin) {
            Ok(_) => Ok(()),
            Err(sentence) => {
                self.continue_all();
                Err(sentence)
            }
        }
    }

    pub fn lift(&mut self) -> Result<(), String> {
        let lifted = self.watchdog.ask(&Order::Lift).map(drop);
        if lifted.is_err() {
            self.continue_all();
        }
        lifted
    }

    /// Without the watchdog nobody knows who was stopped; one that runs does not mind.
    fn continue_all(&self) {
        for process in self.brief.process.reach(self.brief.reach) {
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
