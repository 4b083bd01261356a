//! What was asked of a scenario of the world, and does it make sense?

use becalm::Policy;

use super::entry::judgeable;
use super::{Candidate, Entry, InvalidParameter, Parameters};
use crate::scenario::Scenario;
use crate::study::{Plan, Study};
use crate::verdict::{self, Brief, Thoroughness};

/// From where to where a parameter makes sense.
#[derive(Debug, Clone, Copy)]
pub(super) struct Range {
    pub name: &'static str,
    pub least: f64,
    pub most: f64,
}

impl Range {
    pub const fn new(name: &'static str, least: f64, most: f64) -> Self {
        Self { name, least, most }
    }

    /// Calls per second: as many as a run of some minutes can be asked for.
    pub const LOAD: Self = Self::new("load", 1e-3, 1e6);

    fn check(&self, parameters: &Parameters) -> Result<(), InvalidParameter> {
        let value = parameters.number(self.name);
        if (self.least..=self.most).contains(&value) {
            return Ok(());
        }
        let sentence = format!(
            "{value} is out of range; write a number from {} to {}",
            self.least, self.most
        );
        Err(InvalidParameter::new(self.name, sentence))
    }
}

/// Judges each candidate in the scenario that the parameters describe, as thoroughly as is usual.
pub(super) fn study(
    entry: &Entry,
    ranges: &[Range],
    build: fn(&Parameters, &Policy) -> Scenario,
    given: (&Parameters, &[Candidate], &Plan<'_>),
) -> Result<Study, InvalidParameter> {
    study_with(entry, Thoroughness::default(), ranges, build, given)
}

/// Studies an entry as thoroughly as this.
pub(super) fn study_with(
    entry: &Entry,
    thoroughness: Thoroughness,
    ranges: &[Range],
    build: fn(&Parameters, &Policy) -> Scenario,
    (parameters, candidates, plan): (&Parameters, &[Candidate], &Plan<'_>),
) -> Result<Study, InvalidParameter> {
    for range in ranges {
        range.check(parameters)?;
    }
    let build = |policy: &Policy| build(parameters, policy);
    for candidate in candidates {
        judgeable(entry, &candidate.scenario(build))?;
    }
    let brief = Brief::of(entry, parameters);
    let studied = verdict::study_within(&brief, thoroughness, candidates, plan, build);
    studied.map_err(|too_much| InvalidParameter::new("", too_much.to_string()))
}

/// A count as the world takes it. Larger ones saturate, and are refused by a range.
pub(super) fn count(parameters: &Parameters, name: &str) -> u32 {
    u32::try_from(parameters.count(name)).unwrap_or(u32::MAX)
}

/// The parameters of an entry with these values: for checks, which know what they set.
pub(super) fn given(entry: &Entry, values: &[(&str, String)]) -> Parameters {
    let mut parameters = Parameters::of(entry.parameters);
    for (name, value) in values {
        let set = parameters.set(name, value);
        debug_assert!(set.is_ok(), "{set:?}");
    }
    parameters
}
