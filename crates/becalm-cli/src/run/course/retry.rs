//! How is a command repeated until it succeeds, or until becalm gives up?
//!
//! Every decision, and what is noted of it, is the library's [`Engine`]; here are its time and its
//! processes.

use std::task::Waker;
use std::time::Duration;

use crate::run::unix::Signal;
use becalm::run::{Engine, Step};
use becalm::{
    Attempt, Failure, Retrier, StopReason, call::Decision, classify::Verdict, time::Instant,
};

use super::ended::Ended;
use super::environment::Environment;
use super::error::RunError;
use super::exit_code::Ending;
use super::exit_rules::ExitRules;
use super::layers;
use super::observed::Observed;
use super::progress::{Progress, complain};
use super::report::{Next, Report};
use super::seen::Seen;
use super::terms::{Own, Terms};
use crate::run::unix::attempt::Execution;
use crate::run::unix::farewell::Farewell;
use crate::run::unix::hint_file::{HintFile, Said};
use crate::run::unix::holder;
use crate::run::unix::hooks::Hooks;
use crate::run::unix::host::Host;

/// Everything that is known before the first attempt.
#[derive(Debug)]
pub struct Run {
    /// How the command is executed once.
    pub execution: Execution,
    /// Which endings are tried again.
    pub exit_rules: ExitRules,
    /// Who is told.
    pub hooks: Hooks,
    /// Whether the command may have the foreground of the terminal.
    pub foreground: bool,
    /// All attempts, the first included.
    pub attempts: u32,
    /// What a person sees.
    pub progress: Progress,
    /// What would have been done, where the policy only observes.
    pub observed: Option<Observed>,
}

impl Run {
    /// Repeats the command; the result is how becalm ends.
    ///
    /// # Errors
    ///
    /// becalm itself cannot go on.
    pub fn retry(
        &self,
        retrier: &Retrier,
        host: &mut Host,
        report: &mut Report,
    ) -> Result<Farewell, RunError> {
        // `becalm run` declares its command idempotent: who types it asks for repetition.
        let mut course = Course {
            run: self,
            retrier,
            engine: host.above.begin(retrier, host.now()),
            begun: host.now(),
            own_deadline: retrier.policy().deadline.map(|it| host.now().after(it)),
            before: None,
            has_no_hints: false,
            host,
            report,
            last: None,
        };
        let ended = course.drive().and_then(|end| course.finish(end));
        if ended.is_err() {
            course.break_off();
        }
        ended
    }

    /// What the attempt came to, and what the command said about the next one.
    fn verdict(
        &self,
        ending: Ending,
        seen: &Seen,
        hint_file: Option<&HintFile>,
    ) -> (Verdict, Option<Duration>) {
        match self.exit_rules.verdict(ending, seen.matched) {
            Verdict::Failure(_) if seen.reader_is_gone => (Failure::permanent().into(), None),
            Verdict::Failure(failure) => match hint_file.map(HintFile::read) {
                Some(Ok(Said::Wait(delay))) => (failure.retry_after(delay).into(), Some(delay)),
                Some(Ok(Said::Stop)) => (Failure::permanent().into(), None),
                Some(Err(invalid)) => {
                    complain(&invalid.to_string());
                    (failure.into(), None)
                }
                Some(Ok(Said::Nothing)) | None => (failure.into(), None),
            },
            verdict => (verdict, None),
        }
    }
}

/// How it all ended.
#[derive(Debug, Clone, Copy)]
pub enum End {
    /// The command succeeded.
    Success,
    /// There will be no further attempt.
    GaveUp(StopReason),
    /// becalm was told to end, and so was a command that ended with this code.
    Cancelled(Signal, Option<u8>),
}

/// One run on its way.
pub(super) struct Course<'a> {
    pub(super) run: &'a Run,
    retrier: &'a Retrier,
    pub(super) engine: Engine<&'a Retrier>,
    pub(super) host: &'a mut Host,
    pub(super) report: &'a mut Report,
    pub(super) begun: Instant,
    pub(super) own_deadline: Option<Instant>,
    /// After how many attempts the call began anew, because the becalm above it had gone.
    before: Option<u32>,
    /// That there is no place for hints was told.
    has_no_hints: bool,
    pub(super) last: Option<Ended>,
}

impl Course<'_> {
    fn drive(&mut self) -> Result<End, RunError> {
        loop {
            if let Some(signal) = self.host.told_to_end() {
                self.tell(Next::Cancelled);
                return Ok(End::Cancelled(signal, None));
            }
            match self.engine.step(Waker::noop(), &mut |_| ()) {
                Step::Start(attempt) => {
                    self.attempt(attempt)?;
                    if let Some(signal) = self.host.told_to_end() {
                        self.tell(Next::Cancelled);
                        let code = self.last.as_ref().map(Ended::code);
                        return Ok(End::Cancelled(signal, code));
                    }
                    if self.land() {
                        self.tell(Next::Decided(Decision::Done));
                        return Ok(End::Success);
                    }
                }
                Step::Wait(until) => {
                    // A wait that was told goes on: there was no token of the budget, and it asks again.
                    if self.last.as_ref().is_some_and(|ended| ended.is_told) {
                        self.host.wait_until(until, |_| None);
                        continue;
                    }
                    self.tell(Next::Decided(Decision::RetryIn(self.engine.delay())));
                    if self.engine.waits_for_token() {
                        self.run.progress.no_token();
                    }
                    self.wait(until);
                }
                Step::Stopped(_) if self.engine.attempts() == 0 => return Err(RunError::NoTime),
                Step::Stopped(stopped) => {
                    self.tell(Next::Decided(Decision::Stop(stopped.reason())));
                    return Ok(End::GaveUp(stopped.reason()));
                }
            }
        }
    }

    /// Executes the command once.
    fn attempt(&mut self, attempt: Attempt) -> Result<(), RunError> {
        // What the attempt before has written is not what counts: it goes before the next starts.
        let last_exit = self.last.take().map(|last| last.ending.code());
        let scope = layers::scope_of(&self.engine, attempt.number(), self.host.now());
        let hint_file = self.hint_file();
        let hint_path = hint_file.as_ref().map(HintFile::path);
        let holder = holder::itself(hint_path);
        let number = attempt.number().saturating_add(self.before.unwrap_or(0));
        let environment = Environment {
            attempt: number,
            attempts: self.run.attempts,
            last_exit,
            remaining: attempt.remaining(),
            hint_file: hint_path,
            scope: scope.as_deref(),
            holder: scope.as_ref().map(|_| holder.as_str()),
            delay: None,
            reason: None,
        };
        self.host.guard_file(hint_path);
        let started = self.host.now();
        let own_timeout = self.retrier.policy().attempt_timeout;
        let terms = Terms {
            attempt_timeout: attempt.timeout().map(|timeout| started.after(timeout)),
            deadline: self.engine.deadline(),
            own: Own {
                attempt_timeout: own_timeout.map(|timeout| started.after(timeout)),
                deadline: self.own_deadline,
            },
            foreground: self.run.foreground,
        };
        if self.run.observed.is_some() {
            // So the call knows that its limits are looked at, and tells which had cut the command.
            let _runs = self.engine.step(Waker::noop(), &mut |_| ());
        }
        let (ending, mut seen) = self.run.execution.run(&environment, self.host, terms)?;
        let fault = seen.fault.take();
        let (verdict, hint) = self.run.verdict(ending, &seen, hint_file.as_ref());
        self.host.guard_file(None);
        let verdict = match verdict {
            Verdict::Failure(_) if self.host.has_leftovers => Failure::permanent().into(),
            verdict => verdict,
        };
        if let Verdict::Failure(_) = verdict {
            self.host.heed_interrupt();
        }
        self.last = Some(Ended {
            number,
            ending,
            seen,
            started,
            took: self.host.now().since(started),
            verdict,
            hint,
            is_told: false,
        });
        fault.map_or(Ok(()), |fault| Err(fault.into()))
    }

    /// Tells the engine what came of the attempt. Whether that was success.
    fn land(&mut self) -> bool {
        let Some(ended) = &self.last else {
            return false;
        };
        let (number, ending, verdict) = (ended.number, ended.ending, ended.verdict);
        if let Verdict::Failure(_) = verdict {
            self.leave_what_has_gone(number);
        }
        let of_engine = number.saturating_sub(self.before.unwrap_or(0));
        let Verdict::Failure(failure) = verdict else {
            self.engine.succeeded(of_engine);
            return true;
        };
        self.refuse_a_retry_without_its_input();
        self.engine.failed(of_engine, failure, Some(&ending));
        false
    }

    /// How many attempts were made.
    pub(super) fn attempts(&self) -> u32 {
        let before = self.before.unwrap_or(0);
        self.engine.attempts().saturating_add(before)
    }

    /// A becalm above that has gone bounds nothing any more: the attempt of this number is the first of a call by itself,
    /// which has what is left.
    fn leave_what_has_gone(&mut self, number: u32) {
        if self.before.is_some() || self.run.observed.is_some() || !self.host.above.has_gone() {
            return;
        }
        let left = self.own_deadline.map(|it| it.since(self.host.now()));
        let before = number.saturating_sub(1);
        if let Some(engine) = layers::begin_anew(self.retrier, left, before) {
            (self.engine, self.before) = (engine, Some(before));
        }
    }

    /// A run needs no hint: where there is no place for the file, the command is not offered one.
    fn hint_file(&mut self) -> Option<HintFile> {
        let told = |error| {
            if !std::mem::replace(&mut self.has_no_hints, true) {
                complain(&format!(
                    "the command cannot give hints, for want of a file: {error}"
                ));
            }
        };
        HintFile::new().map_err(told).ok()
    }

    /// A line of the report on the attempt that has ended, and on what follows it.
    pub(super) fn tell(&mut self, next: Next) {
        let Some(ended) = self.last.as_mut().filter(|ended| !ended.is_told) else {
            return;
        };
        ended.is_told = true;
        let line = ended.line(self.begun, next);
        self.report.attempt(&line, self.host);
    }

    fn refuse_a_retry_without_its_input(&mut self) {
        let replay = self.run.execution.replay.as_ref();
        if let Some(error) = replay.and_then(|replay| replay.take_fault()) {
            complain(&format!(
                "cannot keep standard input for a further attempt: {error}"
            ));
            self.engine.body_is_consumed();
        }
    }
}
