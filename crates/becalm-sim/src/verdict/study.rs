//! What is there to say about several policies in one scenario?

use std::time::Duration;

use becalm::Policy;

use crate::catalogue::{Candidate, Entry, Parameters};
use crate::record::Recording;
use crate::scenario::{Arrivals, Scenario};
use crate::study::{Contender, Plan, Study};
use crate::world::{self, Ceiling};

use super::answer;
use super::charts::{Course, courses, latency, recoveries};
use super::figures::{Searched, figures};
use super::foretold::Foretold;
use super::judge::Outcome;
use super::map::{Resolution, phase_map};
use super::ruling::{Ruling, rule};
use super::runs::Runs;
use super::service_charts::{ServiceCourse, service_courses};
use super::services::over_runs;
use super::survival::{
    Known, Survived, largest_load_beside, longest_outage_beside, most_clients_beside,
};
use super::too_much::TooMuch;
use super::wording::describe_all;

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
    /// Of an entry of the catalogue.
    pub fn of(entry: &Entry, parameters: &Parameters) -> Self {
        let asked = parameters.iter();
        Self {
            name: entry.name.into(),
            question: entry.question.into(),
            asked: asked
                .map(|(parameter, value)| (parameter.name.into(), value.into()))
                .collect(),
        }
    }
}

/// How thoroughly a scenario is studied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Thoroughness {
    /// Runs of each case. Default 10: the fewest that can show survival to be significant at a
    /// value of a search.
    pub runs: u32,
    /// Whether to search for the longest outage and the largest load, or of closed loops the most
    /// clients. Default yes.
    ///
    /// The runs of searches and of the map are shorter than the scenario's: what is not back within
    /// half of the time after its triggers, or 20 s if that is more, is not survived.
    pub searches: bool,
    /// How fine a phase map is drawn. Default 7 lengths by 6 loads, 2 runs each.
    pub map: Option<Resolution>,
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
        }
    }
}

impl Thoroughness {
    /// The verdict and its figures alone: no searches, no map.
    pub const QUICK: Self = Self {
        runs: 5,
        searches: false,
        map: None,
    };
}

/// Studies a scenario under each candidate, as thoroughly as is usual; the plan's runs win, and its
/// wish to be quick.
///
/// # Errors
///
/// It would take more than it may: what makes it so large.
pub fn study(
    brief: &Brief,
    candidates: &[Candidate],
    plan: &Plan<'_>,
    build: impl Fn(&Policy) -> Scenario,
) -> Result<Study, TooMuch> {
    let thoroughness = Thoroughness::default();
    study_within(brief, thoroughness, candidates, plan, build)
}

/// Studies candidates in the world, as thoroughly as this, under the ceiling of the plan.
pub(crate) fn study_within(
    brief: &Brief,
    thoroughness: Thoroughness,
    candidates: &[Candidate],
    plan: &Plan<'_>,
    build: impl Fn(&Policy) -> Scenario,
) -> Result<Study, TooMuch> {
    let ceiling = Ceiling::of(plan.memory);
    let run = |scenario: &Scenario, seed| world::run_within(scenario, seed, &ceiling);
    study_with(run, brief, thoroughness, candidates, plan, build)
}

/// Studies candidates with this way to run a scenario, and as thoroughly as this.
///
/// Equal seeds give equal studies, on any number of threads. All candidates meet the same seeds.
///
/// # Errors
///
/// It would take more than it may: what makes it so large.
pub fn study_with(
    run: impl Fn(&Scenario, u64) -> Recording + Sync,
    brief: &Brief,
    thoroughness: Thoroughness,
    candidates: &[Candidate],
    plan: &Plan<'_>,
    build: impl Fn(&Policy) -> Scenario,
) -> Result<Study, TooMuch> {
    let thoroughness = if plan.is_quick {
        Thoroughness::QUICK
    } else {
        thoroughness
    };
    let runs = Runs::new(run, plan);
    let each = plan.runs.unwrap_or(thoroughness.runs).max(1);
    let scenarios: Vec<Scenario> = candidates.iter().map(|it| it.scenario(&build)).collect();
    let foretold = Foretold::of(&scenarios, each, thoroughness);
    foretold.check(&scenarios, plan.memory)?;
    runs.expect(foretold.runs);
    if let Some(tell) = plan.foretold {
        tell(&foretold);
    }
    // All verdicts before any search, which takes many times as long.
    let mut ruled = Vec::new();
    for (candidate, scenario) in candidates.iter().zip(scenarios) {
        let ruling = rule(&scenario, &runs, each);
        if let Some(too_much) = runs.too_much() {
            return Err(too_much);
        }
        if let Some(tell) = plan.ruled.filter(|_| ruling.is_bounded) {
            tell(&candidate.name, ruling.verdict);
        }
        ruled.push((candidate, scenario, ruling));
    }
    let examined: Vec<Examined> = ruled
        .into_iter()
        .map(|(candidate, scenario, ruling)| {
            examine(candidate, scenario, ruling, &runs, each, thoroughness)
        })
        .collect();
    if let Some(too_much) = runs.too_much() {
        return Err(too_much);
    }
    let (mut charts, mut services) = (Vec::new(), Vec::new());
    if let Some(first) = examined.first() {
        let lines: Vec<_> = examined
            .iter()
            .map(|it| (it.name.clone(), it.course.clone()))
            .collect();
        charts = courses(&first.scenario, &lines);
        let outcomes: Vec<(String, Vec<Outcome>)> = examined
            .iter()
            .map(|it| (it.name.clone(), it.ruling.outcomes.clone()))
            .collect();
        charts.extend(recoveries(&first.scenario, &outcomes));
        services = service_courses(&examined);
    }
    Ok(Study {
        scenario: brief.name.clone(),
        question: brief.question.clone(),
        answer: answer::answer(&examined),
        asked: brief.asked.clone(),
        contenders: examined.into_iter().map(Examined::contender).collect(),
        charts,
        services,
        seed: plan.seed,
        runs: each,
        events: runs.events(),
    })
}

/// One candidate with all that was found.
pub(super) struct Examined {
    pub(super) name: String,
    policy: String,
    pub(super) scenario: Scenario,
    pub(super) ruling: Ruling,
    pub(super) outage: Option<Survived>,
    load: Option<Survived>,
    clients: Option<Survived>,
    course: Course,
    pub(super) services: Vec<ServiceCourse>,
    map: Option<crate::study::Chart>,
}

fn examine<R: Fn(&Scenario, u64) -> Recording + Sync>(
    candidate: &Candidate,
    scenario: Scenario,
    ruling: Ruling,
    runs: &Runs<'_, R>,
    each: u32,
    thoroughness: Thoroughness,
) -> Examined {
    let is_searched = thoroughness.searches && ruling.is_bounded;
    let shorter = hurried(&scenario);
    let search = is_searched.then_some(&shorter);
    let known = Known::by(&ruling);
    let outage = search.and_then(|it| longest_outage_beside(it, runs, each, &known));
    let load = search.and_then(|it| largest_load_beside(it, runs, each, &known));
    let clients = search.and_then(|it| most_clients_beside(it, runs, each, &known));
    let map = thoroughness
        .map
        .and_then(|it| phase_map(&shorter, runs, it));
    // Again the first run: keeping the recording of every run would cost more than this.
    runs.announce(1);
    let course = runs
        .each(&scenario, 0, 1, |it| {
            (
                Course::of(&scenario, it),
                ServiceCourse::of_each(&scenario, it),
            )
        })
        .pop();
    let (course, services) = course.unwrap_or_default();
    Examined {
        name: candidate.name.clone(),
        policy: describe_all(&scenario, &candidate.policy),
        course,
        services,
        scenario,
        ruling,
        outage,
        load,
        clients,
        map,
    }
}

/// What a search gives a service to come back in, at least.
const RESPITE: Duration = Duration::from_secs(20);

/// The scenario with half of the time after its triggers: a search makes hundreds of runs, and a
/// storm that lasts is the dearest of them. Recorded arrivals are played to their end, as what matters of
/// them may come late.
pub(super) fn hurried(scenario: &Scenario) -> Scenario {
    let mut populations = scenario.populations.iter();
    if populations.any(|it| matches!(it.arrivals, Arrivals::Trace(_))) {
        return scenario.clone();
    }
    let end = scenario.triggers_end();
    let after = scenario.horizon.saturating_sub(end);
    let mut hurried = scenario.clone();
    hurried.horizon = end.saturating_add((after / 2).max(RESPITE).min(after));
    hurried
}

impl Examined {
    fn contender(self) -> Contender {
        let searched = (
            self.outage.as_ref(),
            self.load.as_ref(),
            self.clients.as_ref(),
        );
        let mut contender = contender(
            self.name,
            self.policy,
            &self.scenario,
            &self.ruling,
            searched,
        );
        let latency = latency(&self.scenario, &self.course);
        contender.charts = self.map.into_iter().chain(latency).collect();
        contender
    }
}

/// A policy with its verdict and figures, and what searches found.
fn contender(
    name: String,
    policy: String,
    scenario: &Scenario,
    ruling: &Ruling,
    searched: Searched<'_>,
) -> Contender {
    Contender {
        name,
        policy,
        verdict: ruling.is_bounded.then_some(ruling.verdict),
        evidence: ruling.evidence.clone(),
        figures: figures(scenario, ruling, searched),
        charts: Vec::new(),
        services: over_runs(scenario, &ruling.outcomes),
    }
}
