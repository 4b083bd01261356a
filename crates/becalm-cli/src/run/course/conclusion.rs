//! What is left to do when the attempts are over? The held output, the hook, the summary, the exit code.

use std::io;
use std::sync::Arc;

use becalm::StopReason;

use crate::run::unix::Signal;

use super::error::RunError;
use super::exit_code::{OWN_ERROR, TIMED_OUT, of_signal};
use super::observed::Observed;
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
        let code = match (&last, &self.run.observed) {
            // What is only observed changes no code.
            (Some(last), None) => last.code(),
            (last, _) => last.as_ref().map_or(0, |last| last.ending.code()),
        };
        let mut farewell = Farewell::Exit(code);
        let held = last.as_mut().and_then(|last| last.seen.held.take());
        let is_whole = held.is_none();
        if let (Some(held), End::Success | End::GaveUp(_)) = (held, end) {
            match self.print(held, code)? {
                Ok(code) => farewell = Farewell::Exit(code),
                Err(signal) => end = End::Cancelled(signal, None),
            }
        }
        for would in self.run.observed.iter().flat_map(Observed::take) {
            self.report.observed(would, self.host);
            self.run.progress.observed(would);
        }
        if let (End::GaveUp(reason), Some(last)) = (end, &last) {
            let rule = self
                .run
                .exit_rules
                .told_final(last.ending, last.seen.matched);
            let rule = rule.filter(|_| reason == StopReason::Permanent);
            let left = "another attempt would run beside what cannot be ended";
            let left = self.host.has_leftovers.then(|| left.to_owned());
            let why = left.or(rule).unwrap_or_else(|| reason.to_string());
            self.run
                .progress
                .gave_up(reason, &why, last.number, last.cause());
            if let Some(hook) = &self.run.hooks.on_give_up {
                let environment = self.afterwards(last, reason.as_str());
                let terms = self.run.hooks.terms(self.host.now());
                hooks::run(hook, &environment, self.host, terms);
                let told = self.host.told_to_end();
                end = told.map_or(end, |signal| End::Cancelled(signal, None));
            }
        }
        let outcome = match end {
            End::Success => Outcome::Success,
            End::GaveUp(reason) => Outcome::GaveUp(reason),
            End::Cancelled(signal, code) => {
                let code = code.filter(|_| is_whole);
                farewell = Farewell::of_signal(signal, code);
                Outcome::Cancelled
            }
        };
        self.sum_up(outcome, farewell.code());
        // Told to end, and held up by who does not read the report.
        let told = self.host.has_left_work.then(|| self.host.told_to_end());
        Ok(told.flatten().map_or(farewell, Farewell::Signal))
    }

    /// Prints what was held. The exit code that becalm has then; or the signal that told it to end, while who reads
    /// the output took none of it.
    fn print(&mut self, held: Spool, exit: u8) -> Result<Result<u8, Signal>, RunError> {
        let taken = Arc::clone(&self.host.taken);
        let printed = self.host.stay_with(move || {
            let _unstopped = Unstopped::start();
            held.write_to(&mut io::stdout(), &taken)
        });
        if let Some(signal) = self.host.told_to_end() {
            return Ok(Err(signal));
        }
        match printed {
            Some(Ok(())) => Ok(Ok(exit)),
            // No result: a limit has passed, and no program reads the output.
            None => Ok(Ok(TIMED_OUT)),
            // As the command would have ended by itself: its reader has gone.
            Some(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                Ok(Ok(of_signal(Signal::SIGPIPE as i32)))
            }
            Some(Err(error)) => Err(RunError::Print(error)),
        }
    }

    /// Ends a run that cannot go on.
    pub(super) fn break_off(&mut self) {
        self.tell(Next::Error);
        self.sum_up(Outcome::Error, OWN_ERROR);
    }

    fn sum_up(&mut self, outcome: Outcome, exit: u8) {
        let summary = Summary {
            outcome,
            attempts: self.attempts(),
            exit,
            elapsed: self.host.now().since(self.begun),
        };
        self.report.summary(&summary, self.host);
    }
}
