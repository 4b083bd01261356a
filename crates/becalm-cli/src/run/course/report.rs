//! What does a machine learn of the retries? One line of JSON for each attempt, then a summary.
//!
//! Runs may share a file: `run` is becalm's process id, and `time` the wall clock's when the line was
//! written (RFC 3339). The keys and their sets of values are stable: new ones may be added. Other
//! times are milliseconds with a fraction. An attempt:
//!
//! ```json
//! {"time":"2026-11-22T15:04:05.678Z","run":4711,"type":"attempt","attempt":1,"started_ms":0.1,"duration_ms":12.5,"ended":"exit","exit":7,
//!  "signal":null,"matched":null,"class":"transient","hint_ms":null,"decision":"retry",
//!  "delay_ms":83.2,"reason":null}
//! ```
//!
//! `ended` is `exit`, `signal`, `attempt_timeout`, `deadline`, `not_found`, `cannot_execute` or
//! `not_started`; `matched` what an output rule decided, `retry` or `stop`; `decision` is `done`,
//! `retry`, `stop`, `cancelled` or `error`; `reason` the stop reason. The summary:
//!
//! ```json
//! {"time":"2026-11-22T15:04:06.590Z","run":4711,"type":"summary","outcome":"gave_up","reason":"attempts_exhausted","attempts":4,"exit":7,
//!  "elapsed_ms":912.4}
//! ```
//!
//! Where the policy only observes, a line before the summary for each thing that enforcing would have done (`would` is `retry`,
//! `stop`, `refuse`, `cut` or `fail`):
//!
//! ```json
//! {"time":"2026-11-22T15:04:06.590Z","run":4711,"type":"observed","would":"retry","reason":null,"time_ms":83.2}
//! ```
//!
//! `outcome` is `success`, `gave_up`, `cancelled` or `error`, if becalm itself could not go on;
//! `exit` is what becalm exits with.

use std::io;
use std::path::Path;
use std::time::Duration;

use becalm::observe::Would;
use becalm::{Class, StopReason, call::Decision};
use serde::Serialize;

use super::exit_code::Ending;
use super::output_rules::OutputMatch;
use super::progress::complain;
use super::wall_clock;
use crate::run::unix::host::Host;
use crate::run::unix::report_file::ReportFile;

/// The file of `--report`, or nothing.
#[derive(Debug, Default)]
pub struct Report(Option<ReportFile>);

/// One attempt.
#[derive(Debug, Clone, Copy)]
pub struct Attempt {
    /// Its number, from 1.
    pub number: u32,
    /// When it started, counted from becalm's own start.
    pub started: Duration,
    /// How long it took.
    pub duration: Duration,
    /// How it ended.
    pub ending: Ending,
    /// What a line of its output decided.
    pub matched: Option<OutputMatch>,
    /// What kind of failure it was.
    pub class: Option<Class>,
    /// How long the command wanted to be left alone.
    pub hint: Option<Duration>,
    /// What follows.
    pub next: Next,
}

/// What follows an attempt.
#[derive(Debug, Clone, Copy)]
pub enum Next {
    /// What the policy decided.
    Decided(Decision),
    /// Nothing: becalm was told to end.
    Cancelled,
    /// Nothing: becalm itself cannot go on.
    Error,
}

/// How the whole run ended.
#[derive(Debug, Clone, Copy)]
pub enum Outcome {
    /// The command succeeded.
    Success,
    /// There will be no further attempt.
    GaveUp(StopReason),
    /// becalm was told to end.
    Cancelled,
    /// becalm itself could not go on.
    Error,
}

/// The whole run.
#[derive(Debug, Clone, Copy)]
pub struct Summary {
    /// How it ended.
    pub outcome: Outcome,
    /// How many attempts were made.
    pub attempts: u32,
    /// What becalm exits with.
    pub exit: u8,
    /// How long it took.
    pub elapsed: Duration,
}

#[derive(Serialize)]
struct Stamped<'a> {
    time: String,
    run: u32,
    #[serde(flatten)]
    line: &'a Line,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    Attempt {
        attempt: u32,
        started_ms: f64,
        duration_ms: f64,
        ended: &'static str,
        exit: u8,
        signal: Option<i32>,
        matched: Option<&'static str>,
        class: Option<&'static str>,
        hint_ms: Option<f64>,
        decision: &'static str,
        delay_ms: Option<f64>,
        reason: Option<&'static str>,
    },
    Observed {
        would: &'static str,
        reason: Option<&'static str>,
        time_ms: Option<f64>,
    },
    Summary {
        outcome: &'static str,
        reason: Option<&'static str>,
        attempts: u32,
        exit: u8,
        elapsed_ms: f64,
    },
}

impl Report {
    /// A report at the end of this file, which is made if there is none; onto standard output for
    /// `-`. A file that cannot be made is told of, and stops nothing.
    pub fn onto(path: &Path) -> Self {
        let told = |error| {
            let path = path.display();
            complain(&format!("cannot write the report {path}: {error}"));
        };
        Self(ReportFile::open(path).map_err(told).ok())
    }

    /// An attempt has ended, and what follows is decided.
    pub fn attempt(&mut self, attempt: &Attempt, host: &mut Host) {
        let (decision, delay, reason) = match attempt.next {
            Next::Decided(Decision::Done) => ("done", None, None),
            Next::Decided(Decision::RetryIn(delay)) => ("retry", Some(delay), None),
            Next::Decided(Decision::Stop(reason)) => ("stop", None, Some(reason)),
            Next::Decided(_) | Next::Cancelled => ("cancelled", None, Some(StopReason::Cancelled)),
            Next::Error => ("error", None, None),
        };
        self.write(
            &Line::Attempt {
                attempt: attempt.number,
                started_ms: millis(attempt.started),
                duration_ms: millis(attempt.duration),
                ended: attempt.ending.as_str(),
                exit: attempt.ending.code(),
                signal: attempt.ending.signal(),
                matched: attempt.matched.map(OutputMatch::as_str),
                class: attempt.class.map(Class::as_str),
                hint_ms: attempt.hint.map(millis),
                decision,
                delay_ms: delay.map(millis),
                reason: reason.map(StopReason::as_str),
            },
            host,
        );
    }

    /// Enforcing would have done this.
    pub fn observed(&mut self, would: Would, host: &mut Host) {
        self.write(
            &Line::Observed {
                would: would.as_str(),
                reason: would.reason().map(StopReason::as_str),
                time_ms: would.time().map(millis),
            },
            host,
        );
    }

    /// The run has ended.
    pub fn summary(&mut self, summary: &Summary, host: &mut Host) {
        let (outcome, reason) = match summary.outcome {
            Outcome::Success => ("success", None),
            Outcome::GaveUp(reason) => ("gave_up", Some(reason)),
            Outcome::Cancelled => ("cancelled", Some(StopReason::Cancelled)),
            Outcome::Error => ("error", None),
        };
        self.write(
            &Line::Summary {
                outcome,
                reason: reason.map(StopReason::as_str),
                attempts: summary.attempts,
                exit: summary.exit,
                elapsed_ms: millis(summary.elapsed),
            },
            host,
        );
    }

    /// Each line is one write, so that a reader never sees half of one. A report that cannot be
    /// written is told of once, and stops nothing.
    fn write(&mut self, line: &Line, host: &mut Host) {
        let Some(file) = &mut self.0 else { return };
        let stamped = Stamped {
            time: wall_clock::now(),
            run: std::process::id(),
            line,
        };
        let mut written = serde_json::to_string(&stamped)
            .map_err(io::Error::from)
            .and_then(|line| file.write(format!("{line}\n").into_bytes(), host));
        if let (Ok(()), Line::Summary { .. }) = (&written, line) {
            written = file.finish();
        }
        if let Err(error) = written {
            complain(&format!("cannot write the report: {error}"));
            self.0 = None;
        }
    }
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
