//! What is left to do when the attempts are over? The held output, the hook, the summary, the exit code.

use std::io;

use crate::run::unix::Signal;

use super::error::RunError;
use super::exit_code::{OWN_ERROR, of_signal};
use super::observed::Observed;
use super::progress::Progress;
use super::report::{Next, Outcome, Summary};
use super::retry::{Course, End};
use crate::run::unix::farewell::Farewell;
use crate::run::unix::hooks;
use crate::run::unix::spool::Spool;
use crate::run::unix::terminal::Unstopped;

impl Course<'_> {
    /// Ends the run; the result is how becalm ends.
    pub(super) fn finish(&mut self, mut end: End) -> Result<Farewell, RunError> {
        let mut last = self.last.take();
        let code = last.as_ref().map_or(0, |last| last.ending.code());
        let mut farewell = Farewell::Exit(code);
        let held = last.as_mut().and_then(|last| last.seen.held.take());
        if let (Some(held), End::Success | End::GaveUp(_)) = (held, end) {
            farewell = Farewell::Exit(print(&held, code)?);
        }
        for would in self.run.observed.iter().flat_map(Observed::take) {
            self.report.observed(would);
            self.run.progress.observed(would);
        }
        if let (End::GaveUp(reason), Some(last)) = (end, &last) {
            Progress::gave_up(reason, last.number, last.cause());
            if let Some(hook) = &self.run.hooks.on_give_up {
                let environment = self.afterwards(last, reason.as_str());
                let terms = self.run.hooks.terms(self.host.now(), None);
                hooks::run(hook, &environment, self.host, terms);
                end = self.host.told_to_end().map_or(end, End::Cancelled);
            }
        }
        let outcome = match end {
            End::Success => Outcome::Success,
            End::GaveUp(reason) => Outcome::GaveUp(reason),
            End::Cancelled(signal) => {
                farewell = Farewell::Signal(signal);
                Outcome::Cancelled
            }
        };
        self.sum_up(outcome, farewell.code());
        Ok(farewell)
    }

    /// Ends a run that cannot go on.
    pub(super) fn break_off(&mut self) {
        self.tell(Next::Error);
        self.sum_up(Outcome::Error, OWN_ERROR);
    }

    fn sum_up(&mut self, outcome: Outcome, exit: u8) {
        self.report.summary(&Summary {
            outcome,
            attempts: self.engine.attempts(),
            exit,
            elapsed: self.host.now().since(self.begun),
        });
    }
}

/// Prints what was held; the exit code that becalm has then.
fn print(held: &Spool, exit: u8) -> Result<u8, RunError> {
    let _unstopped = Unstopped::start();
    match held.write_to(&mut io::stdout()) {
        Ok(()) => Ok(exit),
        // As the command would have ended by itself: its reader has gone.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            Ok(of_signal(Signal::SIGPIPE as i32))
        }
        Err(error) => Err(RunError::Print(error)),
    }
}
