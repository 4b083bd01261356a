//! What are the points of a sweep weighed by, where there is no verdict?

use crate::study::{Contender, Figure};

/// What the points are weighed by, where there is no verdict.
pub(super) fn weighed(contenders: &[Contender]) -> Option<[&'static str; 2]> {
    if contenders.iter().any(|it| it.verdict.is_some()) {
        return None;
    }
    pair(contenders).map(|it| [it.first.id, it.second.id])
}

/// The first pair of which any point has both, be it without a value.
pub(super) fn pair(contenders: &[Contender]) -> Option<&'static Pair> {
    let has = |it: &Contender, id| it.figures.iter().any(|figure| figure.id == id);
    PAIRS.iter().find(|pair| {
        let mut each = contenders.iter();
        each.any(|it| has(it, pair.first.id) && has(it, pair.second.id))
    })
}

/// Two figures that are bought with one another.
pub(super) struct Pair {
    pub first: Aim,
    pub second: Aim,
    /// What is the matter with a point that has not both.
    pub missing: &'static str,
}

/// What is wanted of a figure.
pub(super) struct Aim {
    pub id: &'static str,
    /// What it is, to follow "in".
    pub what: &'static str,
    /// Otherwise it is a share in percent, of which more is better.
    is_less_better: bool,
}

impl Aim {
    const fn less(id: &'static str, what: &'static str) -> Self {
        Self {
            id,
            what,
            is_less_better: true,
        }
    }

    const fn more(id: &'static str, what: &'static str) -> Self {
        Self {
            id,
            what,
            is_less_better: false,
        }
    }

    /// In steps that few runs can tell apart, less being better: 2 % of a count or a time, a tenth of
    /// a percent of the calls.
    fn cost(&self, value: f64) -> i32 {
        let steps = if self.is_less_better {
            libm::log(value.max(1e-9)) / libm::log(1.02)
        } else {
            -value * 10.0
        };
        #[expect(clippy::cast_possible_truncation, reason = "saturates")]
        let rounded = steps.round() as i32;
        rounded
    }
}

/// The first of these of which any point has both decides what a sweep is about.
const PAIRS: [Pair; 3] = [
    Pair {
        first: Aim::less("peak", "attempts in the fullest bucket"),
        second: Aim::less("reconnect_p99_s", "time until 99 % of the clients are back"),
        missing: "fewer than 99 % of the clients come back at all",
    },
    Pair {
        first: Aim::less("calls", "calls"),
        second: Aim::less("time_ms", "time until every client has written"),
        missing: "some clients give up before they have written",
    },
    Pair {
        first: Aim::less("amplification", "amplification"),
        second: Aim::more("success_share", "calls that succeed"),
        missing: "nothing was called",
    },
];

impl Pair {
    /// Both, where the contender has both.
    pub fn of<'a>(&self, contender: &'a Contender) -> Option<[(&'a Figure, f64); 2]> {
        let first = figure(contender, self.first.id)?;
        Some([first, figure(contender, self.second.id)?])
    }

    /// What they cost, less being better.
    pub fn costs(&self, [first, second]: &[(&Figure, f64); 2]) -> [i32; 2] {
        [self.first.cost(first.1), self.second.cost(second.1)]
    }
}

/// A figure that has a value.
pub(super) fn figure<'a>(contender: &'a Contender, id: &str) -> Option<(&'a Figure, f64)> {
    let figure = contender.figures.iter().find(|it| it.id == id)?;
    figure.value.map(|value| (figure, value))
}
