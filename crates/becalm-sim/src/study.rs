//! What did a scenario find out? Plain data for terminals, reports and documents.
//!
//! A study asks one question of one scenario under one or more policies. Everything that is shown
//! anywhere (terminal, HTML, SVG, CSV, JSON) is made from this. Its parts are written to documents
//! under the names that they have here: names and units are stable, and a value that does not exist
//! is `null`.

mod choice;
mod document;
mod uncertain;

use std::time::Duration;

use serde::Serialize;

use crate::world::Ceiling;

pub use choice::{Choice, choice};
pub use uncertain::WITHOUT_INTERVAL;

/// The result of a study of a scenario.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Study {
    /// The name of the scenario.
    pub scenario: String,
    /// What was asked, in a sentence.
    pub question: String,
    /// What was found, in a sentence or two made of measured figures.
    pub answer: String,
    /// Each parameter with its value.
    pub asked: Vec<(String, String)>,
    /// One for each policy that was asked about.
    pub contenders: Vec<Contender>,
    /// Pictures of all contenders together.
    pub charts: Vec<Chart>,
    /// Of several services, pictures of each, the one that retries load most first; the others are
    /// seen in [`charts`](Self::charts).
    pub services: Vec<Chart>,
    /// The seed of the first run.
    pub seed: u64,
    /// How many runs each contender had, each with a seed of its own.
    pub runs: u32,
    /// Events that the engine handled.
    pub events: u64,
}

/// The result for one policy.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct Contender {
    /// What it is called: a preset, a jitter, a file.
    pub name: String,
    /// What it is, in a line.
    pub policy: String,
    /// The parameters of its scenario where a sweep goes through them, such as `load=0.5`; empty for none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub world: String,
    /// What happened to the service.
    pub verdict: Option<Verdict>,
    /// On which figures the verdict stands, in a sentence.
    pub evidence: String,
    /// What was measured.
    pub figures: Vec<Figure>,
    /// Pictures of this contender alone.
    pub charts: Vec<Chart>,
    /// What each service saw, in the order of the scenario; empty where there is one, which the
    /// figures above are about.
    pub services: Vec<ServiceSeen>,
}

impl Contender {
    /// The value of this figure, where it has one.
    pub fn value(&self, id: &str) -> Option<f64> {
        self.figures.iter().find(|it| it.id == id)?.value
    }
}

/// What a service of several saw under one policy.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct ServiceSeen {
    /// The name of the service.
    pub name: String,
    /// What was measured of it.
    pub figures: Vec<Figure>,
    /// What came to it before, during and after the triggers, at the end, and in the whole run;
    /// without triggers at the end and in the whole run.
    pub phases: Vec<ServicePhase>,
}

/// What came to a service in a phase of the runs, by the mean over them.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct ServicePhase {
    /// `before`, `during`, `after`, `end` or `whole`: stable.
    pub name: &'static str,
    /// Requests that arrived per second.
    pub arrivals: f64,
    /// Requests for each that the clients' first tries bring if nobody retries; `None` where they
    /// bring none.
    pub amplification: Option<f64>,
    /// The longest queue of all instances together.
    pub queue: f64,
    /// The [places](crate::change::Place) that call it, and the attempts of each for one of its calls.
    #[serde(serialize_with = "document::attempts")]
    pub attempts: Vec<(String, f64)>,
    /// The ends of the 95 % confidence intervals of these, by their names; of attempts by that of the place.
    #[serde(serialize_with = "document::intervals")]
    pub intervals: Vec<(String, (f64, f64))>,
}

/// The verdict on a service under a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Verdict {
    /// It comes back, from this trigger and from worse.
    Stable,
    /// It comes back from this trigger, and would not from one that is worse or under more load.
    Vulnerable,
    /// The runs end before it is seen whether it comes back: they have to be longer.
    #[serde(rename = "too-short")]
    TooShort,
    /// It stays down after the trigger is gone: retries alone keep it there.
    Metastable,
    /// Its load is above its capacity without any retry and without a trigger.
    Overloaded,
}

impl Verdict {
    /// The name in documents: stable.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Vulnerable => "vulnerable",
            Self::TooShort => "too-short",
            Self::Metastable => "metastable",
            Self::Overloaded => "overloaded",
        }
    }

    /// Whether the service stays down.
    pub const fn is_down(self) -> bool {
        matches!(self, Self::Metastable | Self::Overloaded)
    }

    /// Whether the service was seen to come back: what `--strict` asks for.
    pub const fn is_back(self) -> bool {
        matches!(self, Self::Stable | Self::Vulnerable)
    }
}

/// One measured value.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Figure {
    /// The name in documents, such as `amplification` or `recovery_p99_s`: stable.
    pub id: &'static str,
    /// What a reader sees.
    pub title: &'static str,
    /// What the value is counted in, such as `s`, `ms`, `/s`, `%`; empty for a plain number.
    pub unit: &'static str,
    /// The value; `None` where there is none, such as the recovery time of a service that did not
    /// recover.
    pub value: Option<f64>,
    /// The ends of its 95 % confidence interval, where it has one.
    #[serde(flatten, serialize_with = "document::ends")]
    pub interval: Option<(f64, f64)>,
}

impl Figure {
    /// A value without an interval.
    pub const fn new(
        id: &'static str,
        title: &'static str,
        unit: &'static str,
        value: Option<f64>,
    ) -> Self {
        Self {
            id,
            title,
            unit,
            value,
            interval: None,
        }
    }

    /// With the ends of its 95 % confidence interval, where it has one.
    #[must_use]
    pub const fn within(mut self, interval: Option<(f64, f64)>) -> Self {
        self.interval = interval;
        self
    }
}

/// A row of a list of figures: `figure!("sent_per_s": "Requests sent", "/s" = Some(3.0))`.
macro_rules! figure {
    ($id:literal: $title:literal, $unit:literal = $value:expr) => {
        $crate::study::Figure::new($id, $title, $unit, $value)
    };
}
pub(crate) use figure;

/// A picture as data.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct Chart {
    /// The name in documents and file names, such as `arrivals`: stable.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What is along the x axis, with the unit.
    pub x: String,
    /// What is along the y axis, with the unit.
    pub y: String,
    /// What is drawn.
    #[serde(flatten)]
    pub kind: ChartKind,
    /// Stretches of the x axis with a name, such as the trigger.
    #[serde(serialize_with = "document::bands")]
    pub bands: Vec<(f64, f64, String)>,
    /// Levels of the y axis with a name, such as the capacity.
    #[serde(serialize_with = "document::levels")]
    pub levels: Vec<(f64, String)>,
    /// Whether the y axis is logarithmic.
    #[serde(skip)]
    pub is_logarithmic: bool,
}

/// What a chart draws.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ChartKind {
    /// Named lines of points. Where y is not finite, the line has a gap.
    Lines(Vec<(String, Vec<(f64, f64)>)>),
    /// A map: the x and the y of its columns and rows, and the value of each cell, row by row from
    /// the lowest y.
    Map {
        /// Of the columns.
        columns: Vec<f64>,
        /// Of the rows.
        rows: Vec<f64>,
        /// Of the cells, from 0 (all runs recovered) to 1 (none did), or not finite for none.
        cells: Vec<f64>,
        /// What the value of a cell is.
        value: String,
    },
    /// Named bars, one value each.
    Bars(Vec<(String, f64)>),
}

impl Default for ChartKind {
    fn default() -> Self {
        Self::Lines(Vec::new())
    }
}

/// A right answer beside what the simulator got.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Comparison {
    /// What is compared, such as `attempts at the bottom, 3 layers of 4`.
    pub what: String,
    /// By closed form or by a published figure.
    pub expected: f64,
    /// By simulation.
    pub got: f64,
    /// What may lie between.
    pub tolerance: Tolerance,
}

/// How far from the right answer a simulation may be.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Tolerance {
    /// A share of the expected value.
    Relative(f64),
    /// In the unit of the value.
    Absolute(f64),
    /// At most the expected value.
    AtMost,
    /// At least the expected value.
    AtLeast,
}

/// The share of a value that sums of binary fractions may be off by: counts are exact, and their means are not.
const ROUNDING: f64 = 1e-12;

impl Comparison {
    /// Whether the simulation is right. A value that is not a number never is.
    pub fn holds(&self) -> bool {
        self.room() >= -ROUNDING * self.expected.abs()
    }

    /// How much further off the value might be; below zero where it does not hold.
    pub(crate) fn room(&self) -> f64 {
        let (expected, got) = (self.expected, self.got);
        let off = (got - expected).abs();
        let room = match self.tolerance {
            Tolerance::Relative(share) => share * expected.abs() - off,
            Tolerance::Absolute(most) => most - off,
            Tolerance::AtMost => expected - got,
            Tolerance::AtLeast => got - expected,
        };
        if room.is_nan() {
            f64::NEG_INFINITY
        } else {
            room
        }
    }
}

/// The work of a study, guessed from its scenarios: the retries of a storm among it, where the load is
/// above the hidden capacity. Right to a factor of two or three, as nobody knows yet how soon a search
/// is sure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Foretold {
    /// Runs, at most.
    pub runs: u64,
    /// Events in all of them.
    pub events: u64,
    /// Clients with state of their own that has to be made, in all of them: where the policy asks for it from the first call on, of
    /// each; else of those whose calls begin while calls fail.
    pub clients: u64,
    /// Bytes of one run: its clients, instances, keys and buckets, and in a storm what waits in queues
    /// without a bound.
    pub bytes: u64,
}

/// Is told the name of a contender, and the verdict on it.
pub type Ruled<'a> = dyn Fn(&str, Verdict) + Sync + 'a;

/// How thoroughly a study is run.
#[derive(Clone)]
#[non_exhaustive]
pub struct Plan<'a> {
    /// The seed of the first run; the others are derived from it.
    pub seed: u64,
    /// Runs of each point; `None` for the scenario's own choice.
    pub runs: Option<u32>,
    /// Threads that runs are spread over. They change nothing in the result.
    pub threads: usize,
    /// Told of the runs that are done, and of how many there will be as far as is known: by any thread, one at a time.
    pub progress: Option<&'a (dyn Fn(u64, u64) + Sync)>,
    /// Told how much work a study of contenders, or a search for a policy, will be, before it begins. Default nobody.
    pub foretold: Option<&'a (dyn Fn(&Foretold) + Sync)>,
    /// Told the verdict on each contender, by its name, as soon as it is known: before any search, by any thread, in the order of time. Where
    /// nothing bounds a service there is none. Default nobody.
    pub ruled: Option<&'a Ruled<'a>>,
    /// Bytes that all runs at once may hold; a study that needs more is refused. Default 400 MB.
    pub memory: u64,
    /// Bounds the wall-clock time of searches: not read by anything whose result must not depend on
    /// it. Default none.
    pub patience: Option<Duration>,
    /// Whether only the verdict and its figures are wanted: no searches for what is survived, no phase
    /// map. What has neither is studied as ever. Default no.
    pub is_quick: bool,
}

impl Default for Plan<'_> {
    fn default() -> Self {
        Self {
            seed: 1,
            runs: None,
            threads: 1,
            progress: None,
            foretold: None,
            ruled: None,
            memory: Ceiling::BYTES,
            patience: None,
            is_quick: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_may_be_off_by_rounding_and_by_no_count() {
        let holds = |expected, got, tolerance| {
            let what = String::new();
            let comparison = Comparison {
                what,
                expected,
                got,
                tolerance,
            };
            comparison.holds()
        };
        for tolerance in [Tolerance::Absolute(0.0), Tolerance::AtMost] {
            assert!(holds(16.0, 16.0 + 4e-15, tolerance));
            assert!(!holds(16.0, 16.0 + 1e-9, tolerance));
            assert!(!holds(16.0, f64::NAN, tolerance));
        }
    }
}
