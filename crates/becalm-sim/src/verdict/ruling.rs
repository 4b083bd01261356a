//! What is a verdict, with all that it is based on?

use crate::search::Proportion;
use crate::study::Verdict;

use super::later::Later;
use super::load::Bottleneck;
use super::outcome::Outcome;
use super::stress::Worse;

/// A verdict and its evidence.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Ruling {
    /// The verdict. It means nothing where nothing [is bounded](Self::is_bounded), and a study then
    /// gives none.
    pub verdict: Verdict,
    /// Whether anything bounds a service of the scenario, and a verdict was asked for.
    pub is_bounded: bool,
    /// The figures that it stands on, in a sentence.
    pub evidence: String,
    /// What happened to each run.
    pub outcomes: Vec<Outcome>,
    /// What happened to the runs without the triggers; the outcomes themselves where there are none.
    pub calm: Vec<Outcome>,
    /// What happened to the worse cases, as far as they were asked about.
    pub worse: Vec<Worse>,
    /// What runs showed that went on; `None` where none had to.
    pub later: Option<Later>,
    /// The service nearest to its capacity, if nobody retries.
    pub bottleneck: Option<Bottleneck>,
}

impl Ruling {
    /// The runs in which goodput came back, or held.
    pub fn back(&self) -> Proportion {
        Proportion::of(self.outcomes.iter().map(Outcome::holds))
    }
}
