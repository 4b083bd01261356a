//! What is asked of a scenario of the world, does it make sense, and what is told of it?

use becalm::Policy;

use super::runs::seeds;
use super::{Candidate, InvalidParameter, Parameters};
use crate::engine::each_in_order;
use crate::record::Recording;
use crate::scenario::{InvalidScenario, Scenario};
use crate::study::{Contender, Plan, Study};
use crate::verdict::{self, Brief, Thoroughness, Unjudgeable};
use crate::world;

/// From where to where a parameter makes sense.
#[derive(Debug, Clone, Copy)]
pub(super) struct Range {
    name: &'static str,
    least: f64,
    most: f64,
}

impl Range {
    pub const fn new(name: &'static str, least: f64, most: f64) -> Self {
        Self { name, least, most }
    }

    /// Calls per second: as many as a run of some minutes can be asked for.
    const LOAD: Self = Self::new("load", 1e-3, 1e6);

    /// Of other parameters that several worlds have.
    const USUAL: [Self; 4] = [
        Self::new("clients", 1.0, 1e6),
        Self::new("workers", 1.0, 1e6),
        Self::new("queue", 0.0, 1e7),
        Self::new("accepts", 1e-3, 1e6),
    ];

    fn is_there(&self, parameters: &Parameters) -> bool {
        parameters.iter().any(|(it, _)| it.name == self.name)
    }

    /// Nothing is asked of a parameter that is not there.
    fn check(&self, parameters: &Parameters) -> Result<(), InvalidParameter> {
        if !self.is_there(parameters) {
            return Ok(());
        }
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

/// A scenario under parameters and a policy.
pub(super) type Build = fn(&Parameters, &Policy) -> Scenario;

/// The world of an entry, and how it is studied.
#[derive(Debug, Clone, Copy)]
pub(super) struct World {
    build: Build,
    ranges: &'static [Range],
    is_quick: bool,
    pub is_judged: bool,
    tell: fn(&Asked<'_>, &mut Study),
}

impl World {
    /// Studied as thoroughly as is usual.
    pub const fn new(build: Build) -> Self {
        Self {
            build,
            ranges: &[],
            is_quick: false,
            is_judged: true,
            tell: |_, _| (),
        }
    }

    /// With parameters of its own that have a range.
    pub const fn within(mut self, ranges: &'static [Range]) -> Self {
        self.ranges = ranges;
        self
    }

    /// Without searches: only what a run does is asked, not how much is survived.
    pub const fn quick(mut self) -> Self {
        self.is_quick = true;
        self
    }

    /// Without a verdict, and so as long as it is: what is asked of it is not whether a service comes back.
    pub const fn unjudged(mut self) -> Self {
        self.is_judged = false;
        self
    }

    /// What else a study of it tells.
    pub const fn telling(mut self, tell: fn(&Asked<'_>, &mut Study)) -> Self {
        self.tell = tell;
        self
    }

    /// The scenario that the parameters describe, whose runs a study may make longer where the horizon was not set.
    pub fn scenario(&self, parameters: &Parameters, policy: &Policy) -> Scenario {
        let mut scenario = (self.build)(parameters, policy);
        scenario.goes_on = self.is_judged && !parameters.is_given("horizon");
        scenario
    }

    /// Judges each candidate in the scenario that the parameters describe.
    pub fn study(
        &self,
        brief: &Brief,
        parameters: &Parameters,
        candidates: &[Candidate],
        plan: &Plan<'_>,
    ) -> Result<Study, InvalidParameter> {
        let own_are_there = self.ranges.iter().all(|it| it.is_there(parameters));
        debug_assert!(own_are_there, "{:?}", self.ranges);
        let usual = std::iter::once(&Range::LOAD).chain(self.ranges);
        for range in usual.chain(&Range::USUAL) {
            range.check(parameters)?;
        }
        let build = |policy: &Policy| self.scenario(parameters, policy);
        for candidate in candidates {
            judgeable(parameters, &candidate.scenario(build))?;
        }
        let usual = if self.is_quick {
            Thoroughness::QUICK
        } else {
            Thoroughness::default()
        };
        let thoroughness = Thoroughness {
            rules: self.is_judged,
            ..usual
        };
        let studied = verdict::study_within(brief, thoroughness, candidates, plan, build);
        let too_much = |it: verdict::TooMuch| InvalidParameter::new("", it.to_string());
        let mut study = studied.map_err(too_much)?;
        let asked = Asked {
            parameters,
            candidates,
            plan,
            build: self.build,
        };
        (self.tell)(&asked, &mut study);
        Ok(study)
    }
}

/// What a world was studied with.
pub(super) struct Asked<'a> {
    pub parameters: &'a Parameters,
    candidates: &'a [Candidate],
    plan: &'a Plan<'a>,
    build: Build,
}

impl Asked<'_> {
    /// Each contender, and what is measured of this many runs of its world, the first with the seed of the plan. The recordings of
    /// all of them would be too much to keep.
    pub fn runs<'c, T: Send>(
        &self,
        contenders: &'c mut [Contender],
        runs: u32,
        measure: impl Fn(&Recording) -> T + Sync,
    ) -> impl Iterator<Item = (&'c mut Contender, Vec<T>)> {
        let seeds: Vec<u64> = seeds(self.plan, runs.max(1)).collect();
        let each = self.candidates.iter().zip(contenders);
        each.map(move |(candidate, contender)| {
            let scenario = candidate.scenario(|policy| (self.build)(self.parameters, policy));
            let run = |seed: &u64| measure(&world::run(&scenario, *seed));
            (contender, each_in_order(&seeds, self.plan.threads, run))
        })
    }
}

/// A count as the world takes it. Larger ones saturate, and are refused by a range.
pub(super) fn count(parameters: &Parameters, name: &str) -> u32 {
    u32::try_from(parameters.count(name)).unwrap_or(u32::MAX)
}

/// Whether a verdict can be given on a scenario with these parameters.
pub(super) fn judgeable(
    parameters: &Parameters,
    scenario: &Scenario,
) -> Result<(), InvalidParameter> {
    verdict::judgeable(scenario)
        .map_err(|reason| InvalidParameter::new(flag(parameters, &reason), reason.to_string()))
}

/// The parameter that is named as the field of the scenario is; empty where there is none.
fn flag(parameters: &Parameters, reason: &Unjudgeable) -> &'static str {
    let field = match reason {
        Unjudgeable::TooShort { .. } | Unjudgeable::Invalid(InvalidScenario::Horizon) => "horizon",
        Unjudgeable::Coarse { .. } => "bucket",
        Unjudgeable::Invalid(
            InvalidScenario::Time { field, .. }
            | InvalidScenario::Rate { field, .. }
            | InvalidScenario::Count { field, .. }
            | InvalidScenario::Share { field, .. },
        ) => field,
        Unjudgeable::Invalid(_) => return "",
    };
    let name = field.replace(' ', "-");
    let found = parameters.iter().find(|(it, _)| it.name == name);
    found.map_or("", |(parameter, _)| parameter.name)
}
