//! How is a command repeated until it succeeds, or until becalm gives up?
//!
//! Every decision is the library's [`Call`]; here are its time and its processes.

use std::io;
use std::time::Duration;

use becalm::rng::SplitMix64;
use becalm::{Call, CallOptions, Decision, Failure, Instant, Retrier, Scope, StopReason, Verdict};
use nix::sys::signal::Signal;

use super::RunError;
use super::attempt::Execution;
use super::environment::Environment;
use super::exit_code::{Ending, ExitRules, of_signal};
use super::hint_file::HintFile;
use super::hooks::{self, Hooks};
use super::host::{Host, Terms};
use super::output::Seen;
use super::progress::{Cause, Progress, complain};
use super::report::{self, Report};
use super::spool::Spool;
use super::terminal::Unstopped;

/// Everything that is known before the first attempt.
#[derive(Debug)]
pub struct Run {
    /// How the command is executed once.
    pub execution: Execution,
    /// Which endings are tried again.
    pub exit_rules: ExitRules,
    /// Where the command may write a hint.
    pub hint_file: Option<HintFile>,
    /// Who is told.
    pub hooks: Hooks,
    /// Whether the command may have the foreground of the terminal.
    pub foreground: bool,
    /// All attempts, the first included.
    pub attempts: u32,
    /// What a person sees.
    pub progress: Progress,
}

impl Run {
    /// Repeats the command; the result is becalm's exit code.
    ///
    /// # Errors
    ///
    /// becalm itself cannot go on.
    pub fn retry(
        &self,
        retrier: &Retrier,
        host: &mut Host,
        report: &mut Report,
    ) -> Result<u8, RunError> {
        let begun = host.now();
        // `becalm run` declares its command idempotent: whoever types it asks for repetition.
        let call = Call::begin(retrier, CallOptions::new(), Scope::NONE, begun);
        let random = None;
        let mut course = Course {
            run: self,
            retrier,
            host,
            report,
            begun,
            call,
            random,
        };
        let mut last = None;
        let end = loop {
            if let Some(end) = course.step(&mut last)? {
                break end;
            }
        };
        course.finish(end, last)
    }

    /// What the attempt came to, and what the command said about the next one.
    fn verdict(&self, ended: &Ended) -> (Verdict, Option<Duration>) {
        match self.exit_rules.verdict(ended.ending, ended.seen.matched) {
            Verdict::Failure(_) if ended.seen.reader_is_gone => (Failure::permanent().into(), None),
            Verdict::Failure(failure) => {
                let hint = self.hint_file.as_ref().and_then(HintFile::read);
                (
                    hint.map_or(failure, |delay| failure.retry_after(delay))
                        .into(),
                    hint,
                )
            }
            verdict => (verdict, None),
        }
    }
}

/// An attempt that has ended.
#[derive(Debug)]
struct Ended {
    number: u32,
    ending: Ending,
    seen: Seen,
    started: Instant,
}

impl Ended {
    fn cause(&self) -> Cause {
        Cause {
            ending: self.ending,
            matched: self.seen.matched,
        }
    }
}

/// How it all ended.
#[derive(Debug, Clone, Copy)]
enum End {
    Success,
    GaveUp(StopReason),
    Cancelled(Signal),
}

/// One run on its way.
struct Course<'a> {
    run: &'a Run,
    retrier: &'a Retrier,
    host: &'a mut Host,
    report: &'a mut Report,
    begun: Instant,
    call: Call<&'a Retrier>,
    /// The call's own stream, from its first failure on.
    random: Option<SplitMix64>,
}

impl Course<'_> {
    /// One attempt, and the wait after it.
    fn step(&mut self, last: &mut Option<Ended>) -> Result<Option<End>, RunError> {
        if let Some(signal) = self.host.told_to_end() {
            return Ok(Some(End::Cancelled(signal)));
        }
        let started = self.host.now();
        let random = self.random.get_or_insert_with(|| self.retrier.random());
        let attempt = match self.call.start(started, random) {
            Ok(attempt) => attempt,
            Err(_) if last.is_none() => return Err(RunError::NoTime),
            Err(reason) => return Ok(Some(End::GaveUp(reason))),
        };
        // What the attempt before has written is not what counts: it goes before the next starts.
        let last_exit = last.take().map(|last| last.ending.code());
        let environment = Environment {
            attempt: attempt.number(),
            attempts: self.run.attempts,
            last_exit,
            remaining: attempt.remaining(),
            hint_file: self.run.hint_file.as_ref().map(HintFile::path),
            delay: None,
            reason: None,
        };
        if let Some(file) = &self.run.hint_file {
            file.clear();
        }
        let terms = Terms {
            attempt_timeout: self
                .call
                .attempt_timeout()
                .map(|timeout| started.after(timeout)),
            deadline: self.call.deadline(),
            foreground: self.run.foreground,
        };
        let (ending, seen) = self.run.execution.run(&environment, self.host, terms)?;
        let ended = last.insert(Ended {
            number: attempt.number(),
            ending,
            seen,
            started,
        });
        let (decision, now) = self.decide(ended);
        match decision {
            Ok(Decision::Done) => Ok(Some(End::Success)),
            Ok(Decision::RetryIn(delay)) => {
                self.wait(ended, delay, now.after(delay));
                Ok(None)
            }
            Ok(Decision::Stop(reason)) => Ok(Some(End::GaveUp(reason))),
            // A decision of a later library that this driver does not know.
            Ok(_) => Ok(Some(End::GaveUp(StopReason::Cancelled))),
            Err(signal) => Ok(Some(End::Cancelled(signal))),
        }
    }

    /// What follows an attempt, and at what time that was decided; the signal, if becalm was told
    /// to end meanwhile.
    fn decide(&mut self, ended: &Ended) -> (Result<Decision, Signal>, Instant) {
        let (verdict, hint) = self.run.verdict(ended);
        self.refuse_a_retry_without_its_input();
        let now = self.host.now();
        let decision = self.host.told_to_end().map_or_else(
            || {
                let random = self.random.get_or_insert_with(|| self.retrier.random());
                Ok(self.call.on_outcome(now, verdict, random))
            },
            Err,
        );
        self.report.attempt(&report::Attempt {
            number: ended.number,
            started: ended.started.since(self.begun),
            duration: now.since(ended.started),
            ending: ended.ending,
            matched: ended.seen.matched,
            class: match verdict {
                Verdict::Failure(Failure { class, .. }) => Some(class),
                _ => None,
            },
            hint,
            decision: decision.ok(),
        });
        (decision, now)
    }

    fn refuse_a_retry_without_its_input(&mut self) {
        let fault = self
            .run
            .execution
            .replay
            .as_ref()
            .and_then(|replay| replay.take_fault());
        if let Some(error) = fault {
            complain(&format!(
                "cannot keep standard input for a further attempt: {error}"
            ));
            self.call.body_is_consumed();
        }
    }

    /// Waits until then. The hook runs within the wait; if it needs longer, the attempt is later.
    fn wait(&mut self, ended: &Ended, delay: Duration, until: Instant) {
        let line = self
            .run
            .progress
            .waiting(ended.number, ended.cause(), delay);
        if let Some(hook) = &self.run.hooks.on_retry {
            let reason = match ended.seen.matched {
                Some(_) => "output",
                None => ended.ending.as_str(),
            };
            let environment = Environment {
                delay: Some(delay),
                ..self.afterwards(ended, reason)
            };
            let terms = Terms {
                deadline: self.call.deadline(),
                ..Terms::default()
            };
            hooks::run(hook, &environment, self.host, terms);
        }
        self.host.wait_until(until, |left| line.tick(left));
        line.finish();
    }

    /// What hooks are told.
    fn afterwards<'e>(&self, ended: &Ended, reason: &'e str) -> Environment<'e> {
        let now = self.host.now();
        Environment {
            attempt: ended.number,
            attempts: self.run.attempts,
            last_exit: Some(ended.ending.code()),
            remaining: self.call.deadline().map(|deadline| deadline.since(now)),
            hint_file: None,
            delay: None,
            reason: Some(reason),
        }
    }

    fn finish(self, mut end: End, mut last: Option<Ended>) -> Result<u8, RunError> {
        let mut exit = last.as_ref().map_or(0, |last| last.ending.code());
        let held = last.as_mut().and_then(|last| last.seen.held.take());
        if let (Some(held), End::Success | End::GaveUp(_)) = (held, end) {
            exit = print(&held, exit)?;
        }
        if let (End::GaveUp(reason), Some(last)) = (end, &last) {
            self.run.progress.gave_up(reason, last.number, last.cause());
            if let Some(hook) = &self.run.hooks.on_give_up {
                let environment = self.afterwards(last, reason.as_str());
                hooks::run(hook, &environment, self.host, Terms::default());
                end = self.host.told_to_end().map_or(end, End::Cancelled);
            }
        }
        let reason = match end {
            End::Success => None,
            End::GaveUp(reason) => Some(reason),
            End::Cancelled(signal) => {
                exit = of_signal(signal as i32);
                Some(StopReason::Cancelled)
            }
        };
        let attempts = self.call.attempt_number();
        let elapsed = self.host.now().since(self.begun);
        self.report.summary(&report::Summary {
            reason,
            attempts,
            exit,
            elapsed,
        });
        Ok(exit)
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
