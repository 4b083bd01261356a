//! Which policy is recommended, and what was found on the way?

use becalm::Policy;

use crate::change::changed;
use crate::scenario::Scenario;
use crate::study::{Plan, Study};
use crate::verdict::{Brief, Runner, Runs, Survival, TooMuch, is_bounded};
use crate::world::Ceiling;

use super::candidates::{Tried, candidates};
use super::choice::{Choice, Tuned};
use super::confirmed::Confirmed;
use super::foretold::{Effort, foretold};
use super::halving::halve;
use super::layers::Layers;
use super::objectives::Objectives;
use super::reasons::{Told, reasons};
use super::ruled::{Ruled, last_ruling, long_enough};
use super::shown;
use super::space::Space;
use super::trial::{Trial, is_layered};

/// The result of a search for a policy.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Tuning {
    /// The policies that no other beats, from the lowest load on the service to the highest, as the
    /// search found them. Not empty.
    pub front: Vec<Tuned>,
    /// The one that is recommended.
    pub recommended: Tuned,
    /// The policy that was given.
    pub given: Tuned,
    /// The verdicts on both.
    pub ruled: Ruled,
    /// Why, in sentences.
    pub reasons: Vec<String>,
    /// Policies that were tried.
    pub policies: usize,
    /// Runs that were made.
    pub runs: u64,
    /// Everything as a study: the front, the recommended first.
    pub study: Study,
}

/// Runs of a case in each round. Eight policies of 32 have all 14.
const ROUNDS: [u32; 3] = [2, 4, 8];
/// So many are left at the end, at least: a front of fewer offers no choice.
const LEAST: usize = 8;
/// Runs of each case of the front that had no part in the choice. With a trigger and enough capacity
/// there are three cases, and thirty runs without a loss show that fewer than 12 % are lost.
const FRESH: u32 = 10;
/// Runs of each value of a search for an outage, at least: of fewer none can be sure.
const OUTAGE: u32 = 10;

/// Looks for the policies that no other beats, in the scenario that `build` makes of each.
///
/// # Errors
///
/// It would take more than it may: what makes it so large.
pub fn tune(
    brief: &Brief,
    space: &Space,
    given: &Policy,
    plan: &Plan<'_>,
    build: impl Fn(&Policy) -> Scenario,
) -> Result<Tuning, TooMuch> {
    let ceiling = Ceiling::of(plan.memory);
    tune_with(&ceiling, brief, space, given, plan, build)
}

/// Looks for a policy with this way to run a scenario. Equal seeds give equal answers, on any number
/// of threads. The plan's runs are those of a case in the last round, and of the fresh runs.
///
/// # Errors
///
/// It would take more than it may: what makes it so large.
pub fn tune_with(
    run: impl Runner,
    brief: &Brief,
    space: &Space,
    given: &Policy,
    plan: &Plan<'_>,
    build: impl Fn(&Policy) -> Scenario,
) -> Result<Tuning, TooMuch> {
    let runs = Runs::new(run, plan);
    let fresh = plan.runs.unwrap_or(FRESH).max(1);
    let world = long_enough(build(given), &runs, fresh);
    let horizon = world.horizon;
    let build = |policy: &Policy| {
        let mut scenario = build(policy);
        scenario.horizon = scenario.horizon.max(horizon);
        scenario
    };
    let timeouts = world.populations.iter().filter_map(|it| it.timeout);
    let timeout = timeouts.min();
    let layers = Layers::of(world.clone(), &space.places);
    let policies = candidates(space, given, &layers, timeout, plan.seed);
    let mut trials: Vec<Trial> = policies
        .iter()
        .map(|it| Trial::new(changed(build(&it.policy), &it.changes)))
        .collect();
    let is_ruled = is_bounded(&world);
    let last = plan.runs.unwrap_or(ROUNDS[2]).max(1);
    let effort = Effort {
        rounds: &[last.div_ceil(4), last.div_ceil(2), last],
        always: policies.iter().take_while(|it| it.stays).count(),
        least: LEAST,
        fresh,
        outage: if is_ruled && !plan.is_quick {
            last.max(OUTAGE)
        } else {
            0
        },
    };
    let foretold = foretold(&trials, &effort);
    foretold.check(trials.iter().map(|it| &it.scenario), plan.memory)?;
    runs.expect(foretold.runs);
    if let Some(tell) = plan.foretold {
        tell(&foretold);
    }
    let tuned = tuned(&policies, &mut trials, &effort, &runs);
    let mut choice = Choice::of(&tuned, given);
    let scenario = |tuned: &Tuned| changed(build(&tuned.policy), &tuned.changes);
    choice.confirm(|tuned| Confirmed::of(&Trial::new(scenario(tuned)), &runs, effort.fresh));
    let is_kept = choice.given.is(&choice.recommended);
    let ruled = Ruled::of(
        is_kept,
        || last_ruling(scenario(&choice.recommended), &runs, fresh),
        || last_ruling(scenario(&choice.given), &runs, fresh),
    );
    let outage = |tuned: &Tuned| {
        let search = || Survival::new(&runs, effort.outage).longest_outage(&scenario(tuned));
        (effort.outage > 0).then(search).flatten()
    };
    let own = outage(&choice.recommended);
    let of_given = if is_kept {
        own.clone()
    } else {
        outage(&choice.given)
    };
    let outages = (own.as_ref(), of_given.as_ref());
    let is_triggered = !world.triggers.is_empty();
    let told = Told {
        tried: policies.len(),
        tuned: &tuned,
        choice: &choice,
        is_layered: is_layered(&world),
        is_ruled,
        is_triggered,
        outages,
        ruled: &ruled,
    };
    let reasons = reasons(&told);
    let mut study = shown::study((brief, plan), &choice, &reasons, is_triggered, outages);
    (study.runs, study.events) = (effort.fresh, runs.events());
    if let Some(too_much) = runs.too_much() {
        return Err(too_much);
    }
    Ok(Tuning {
        front: choice.front,
        recommended: choice.recommended,
        given: choice.given,
        ruled,
        reasons,
        policies: policies.len(),
        runs: runs.done(),
        study,
    })
}

/// The policies that are left after all rounds, with what they came to.
fn tuned<R: Runner>(
    policies: &[Tried],
    trials: &mut [Trial],
    effort: &Effort<'_>,
    runs: &Runs<R>,
) -> Vec<Tuned> {
    let attempt = |place: usize, round| match trials.get_mut(place) {
        Some(trial) => trial.attempt(runs, round),
        None => Objectives::new(1.0, f64::INFINITY, 1.0, f64::INFINITY),
    };
    let left = halve(
        policies.len(),
        effort.always,
        effort.least,
        effort.rounds,
        attempt,
    );
    left.iter()
        .filter_map(|(place, objectives)| {
            let of = policies.get(*place)?;
            Some(Tuned {
                name: of.name.clone(),
                policy: of.policy.clone(),
                changes: of.changes.clone(),
                objectives: *objectives,
                confirmed: None,
            })
        })
        .collect()
}
