//! Do the retries of a user's own client make a storm? The client calls through the drill, which breaks what it calls.

mod before;
mod course;
mod document;
mod finding;
mod page;
mod plan;
mod retried;
mod watched;

use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use becalm_report::Page;

use crate::drill::{Broken, Drill, Report};
use crate::fault::{Fault, Seen};
use crate::judgement::Contender;
use crate::latencies::Latencies;
use crate::outcome::{self, Room};
use crate::setup::Setup;
use crate::show::{Section, Show};
use crate::staging::LEGEND;
use before::Before;
pub use course::Course;
use finding::Finding;
pub use plan::{Options, Plan};
use retried::Retried;

/// From this share of the fault's time on, a fault that was begun or lifted too late was another one.
const LATE: u32 = 10;

/// A drill of somebody's client that is over.
#[derive(Debug)]
pub struct Outcome {
    setup: Setup,
    fault: Fault,
    upstream: String,
    contender: Contender,
    /// What the proxy saw, from its own beginning.
    seen: Seen,
    before: Before,
    retried: Retried,
    /// By how much the fault was begun or lifted too late, at worst.
    lateness: Duration,
    command: String,
}

impl Outcome {
    fn is_late(&self) -> bool {
        self.lateness > self.setup.trigger / LATE
    }
}

impl Drill for Plan {
    type Held = Course;
    type Outcome = Outcome;

    fn hold(&self, show: &Show<'_>, signal: &AtomicUsize) -> Result<Course, Broken> {
        course::hold(self, show, signal)
    }

    fn judge(self, course: Course) -> Outcome {
        let recording = watched::recording(&course.seen, self.setup.length());
        let latencies = Latencies::default();
        Outcome {
            contender: Contender::new(plan::variant(), recording, &latencies, &self.setup),
            setup: self.setup,
            fault: self.faults.fault,
            upstream: self.upstream,
            seen: course.seen,
            before: course.before,
            retried: course.moments.into(),
            lateness: course.lateness,
            command: self.command,
        }
    }
}

impl Report for Outcome {
    fn sections(&self) -> Vec<Section> {
        vec![Section {
            table: outcome::table(std::slice::from_ref(&self.contender), Room::Terminal),
            legend: LEGEND,
            conclusion: finding::conclusion(self),
            more: "what the words mean, the reports",
        }]
    }

    fn page(&self) -> Page {
        page::page(self)
    }

    fn is_as_expected(&self) -> bool {
        Finding::of(self).is_good()
    }
}
