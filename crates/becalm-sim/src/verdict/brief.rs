//! What is asked of a study, and how thoroughly?

use super::map::Resolution;
use crate::study::{Plan, Study};

/// The question of a study: its name, its sentence, its parameters.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Brief {
    /// The name of the scenario.
    pub name: String,
    /// The question, in a sentence.
    pub question: String,
    /// Each parameter with its value.
    pub asked: Vec<(String, String)>,
}

impl Brief {
    /// A study of it by this plan, still without a result.
    pub(crate) fn study(&self, plan: &Plan<'_>) -> Study {
        Study {
            scenario: self.name.clone(),
            question: self.question.clone(),
            asked: self.asked.clone(),
            seed: plan.seed,
            ..Study::default()
        }
    }
}

/// How thoroughly a scenario is studied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Thoroughness {
    /// Runs of each case. Default 10: with nine or more that all end alike survival is significant at a
    /// value of a search.
    pub runs: u32,
    /// Whether to search for the longest outage and the largest load, or of closed loops the most
    /// clients. Default yes.
    ///
    /// The runs of searches and of the map are shorter than the scenario's: what is not back within
    /// half of the time after its triggers, or 20 s if that is more, is not survived. They end sooner where that is certain.
    pub searches: bool,
    /// How fine a phase map is drawn. Default 7 lengths by 6 loads, 2 runs each.
    pub map: Option<Resolution>,
    /// Whether to rule on the service at all. Default yes. Without it no run goes on, and no worse case is asked about.
    pub rules: bool,
}

impl Default for Thoroughness {
    fn default() -> Self {
        Self {
            runs: 10,
            searches: true,
            map: Some(Resolution {
                lengths: 7,
                loads: 6,
                runs: 2,
            }),
            rules: true,
        }
    }
}

impl Thoroughness {
    /// The verdict and its figures alone: no searches, no map.
    pub const QUICK: Self = Self {
        runs: 5,
        searches: false,
        map: None,
        rules: true,
    };
}
