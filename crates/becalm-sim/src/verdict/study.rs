//! What is there to say about several policies in one scenario?

use std::time::Duration;

use becalm::Policy;

use crate::change::Candidate;
use crate::record::Recording;
use crate::scenario::Scenario;
use crate::study::{Contender, Foretold, Plan, Study, Verdict};
use crate::world::Ceiling;

use super::answer;
use super::brief::{Brief, Thoroughness};
use super::charts::{Course, courses, latency, recoveries};
use super::enough::LONGEST;
use super::examined::Examined;
use super::figures::figures;
use super::load::is_bounded;
use super::outcome::Outcome;
use super::rule::rule_watching;
use super::ruling::Ruling;
use super::runner::Runner;
use super::runs::Runs;
use super::searched::{Found, searched};
use super::service_charts::service_courses;
use super::service_course::ServiceCourse;
use super::service_figures::over_runs;
use super::too_much::TooMuch;
use super::wording::describe_all;

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
    study_with(&ceiling, brief, thoroughness, candidates, plan, build)
}

/// Studies candidates with this way to run a scenario, and as thoroughly as this.
///
/// Equal seeds give equal studies, on any number of threads. All candidates meet the same seeds.
///
/// # Errors
///
/// It would take more than it may: what makes it so large, or one of what does.
pub fn study_with(
    run: impl Runner,
    brief: &Brief,
    thoroughness: Thoroughness,
    candidates: &[Candidate],
    plan: &Plan<'_>,
    build: impl Fn(&Policy) -> Scenario,
) -> Result<Study, TooMuch> {
    let thoroughness = if plan.is_quick {
        Thoroughness {
            rules: thoroughness.rules,
            ..Thoroughness::QUICK
        }
    } else {
        thoroughness
    };
    let runs = Runs::new(run, plan);
    let each = plan.runs.unwrap_or(thoroughness.runs).max(1);
    let mut scenarios: Vec<Scenario> = candidates.iter().map(|it| it.scenario(&build)).collect();
    let foretold = Foretold::of(&scenarios, each, thoroughness);
    foretold.check(&scenarios, plan.memory)?;
    runs.expect(foretold.runs);
    if let Some(tell) = plan.foretold {
        tell(&foretold);
    }
    let asked = scenarios.first().map(|it| it.horizon);
    // All verdicts before any search, which takes many times as long.
    let rulings = ruled(candidates, &mut scenarios, &runs, each, thoroughness.rules)?;
    let went_on = scenarios.first().filter(|it| Some(it.horizon) != asked);
    let went_on = went_on.map(|it| it.horizon.as_secs_f64());
    let ruled: Vec<_> = scenarios
        .iter()
        .zip(rulings.iter().map(|it| &it.0))
        .collect();
    let found = searched(&ruled, &runs, each, thoroughness);
    if let Some(too_much) = runs.too_much() {
        return Err(too_much);
    }
    let ruled = candidates.iter().zip(scenarios).zip(rulings);
    let examined: Vec<Examined> = ruled
        .zip(found)
        .map(|(((candidate, scenario), seen), found)| examined(candidate, scenario, seen, found))
        .collect();
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
        answer: answer::answer(&examined, went_on),
        contenders: examined.into_iter().map(Examined::contender).collect(),
        charts,
        services,
        runs: each,
        events: runs.events(),
        ..brief.study(plan)
    })
}

/// A ruling, and the course of the first run.
type Seen = (Ruling, Option<(Course, Vec<ServiceCourse>)>);

/// The ruling on each scenario, all of which become longer where they may and have to be.
fn ruled<R: Runner>(
    candidates: &[Candidate],
    scenarios: &mut [Scenario],
    runs: &Runs<'_, R>,
    each: u32,
    is_asked: bool,
) -> Result<Vec<Seen>, TooMuch> {
    loop {
        let these: Vec<_> = candidates.iter().zip(scenarios.iter()).collect();
        let rulings = runs.side_by_side(&these, |(candidate, scenario)| {
            let course = |it: &Recording| {
                let services = ServiceCourse::of_each(scenario, it);
                (Course::of(scenario, it), services)
            };
            let is_asked = is_asked && is_bounded(scenario);
            let (ruling, course) = rule_watching(scenario, runs, each, is_asked, course);
            let is_known = ruling.is_bounded && ruling.verdict != Verdict::TooShort;
            if is_known && runs.too_much().is_none() {
                runs.ruled(&candidate.name, ruling.verdict);
            }
            (ruling, course)
        });
        if let Some(too_much) = runs.too_much() {
            return Err(too_much);
        }
        let Some(longer) = longer_for_all(scenarios, rulings.iter().map(|it| &it.0)) else {
            return Ok(rulings);
        };
        for scenario in scenarios.iter_mut() {
            scenario.horizon = longer;
        }
    }
}

/// The horizon that all runs get where some are too short, and [may go on](Scenario::goes_on): policies are compared over
/// the same time.
pub(crate) fn longer_for_all<'a>(
    scenarios: &[Scenario],
    rulings: impl Iterator<Item = &'a Ruling>,
) -> Option<Duration> {
    let open = rulings.filter(|it| it.verdict == Verdict::TooShort);
    let needs = open.filter_map(|it| it.later.as_ref()?.needs).max()?;
    let longest = scenarios.iter().map(|it| it.horizon).max()?;
    // In few steps.
    let needs = needs.max(longest.saturating_mul(3) / 2).min(LONGEST);
    let is_longer = |it: &Scenario| it.goes_on && it.horizon < needs;
    scenarios.iter().all(is_longer).then_some(needs)
}

fn examined(
    candidate: &Candidate,
    scenario: Scenario,
    (ruling, course): Seen,
    found: Found,
) -> Examined {
    let (course, services) = course.unwrap_or_default();
    Examined {
        name: candidate.name.clone(),
        policy: describe_all(&scenario, &candidate.policy),
        course,
        services,
        scenario,
        ruling,
        found,
    }
}

impl Examined {
    /// A policy with its verdict and figures, and what searches found.
    fn contender(self) -> Contender {
        let Self {
            scenario, ruling, ..
        } = &self;
        let latency = latency(scenario, &self.course);
        Contender {
            verdict: ruling.is_bounded.then_some(ruling.verdict),
            evidence: ruling.evidence.clone(),
            figures: figures(&self),
            services: over_runs(scenario, &ruling.outcomes),
            charts: self.found.map.into_iter().chain(latency).collect(),
            name: self.name,
            policy: self.policy,
            world: String::new(),
        }
    }
}
