//! Which is the first change that keeps the service up?

use std::cell::Cell;

use super::capacity;
use super::found::{MOST_EVENTS, MOST_RUNS, Remedy, Step};
use super::steps::{steps, unretried};
use super::wording::{beyond_policy, found};
use crate::change::changed;
use crate::scenario::Scenario;
use crate::study::{Plan, Verdict};
use crate::verdict::{Ruling, Runner, Runs, Stress, TooMuch, judgeable, rule};
use crate::world::Ceiling;

/// Runs of a case that a step has to get through before it is ruled on.
const FEW: u32 = 2;
/// Runs of each case of a ruling, where the plan says nothing.
const EACH: u32 = 10;

/// Looks for the smallest change of a scenario's policies with which it is stable, or as good as
/// without any retries. The scenario is one that is [bounded](crate::verdict::is_bounded), and
/// metastable or vulnerable.
///
/// # Errors
///
/// A run that takes too much.
pub fn find(scenario: &Scenario, plan: &Plan<'_>) -> Result<Remedy, TooMuch> {
    let ceiling = Ceiling::of(plan.memory);
    find_with(&ceiling, scenario, plan)
}

/// Looks for it with this way to run a scenario. Equal seeds find the same, on any number of threads.
///
/// # Errors
///
/// As [`find`].
pub fn find_with(
    run: impl Runner,
    scenario: &Scenario,
    plan: &Plan<'_>,
) -> Result<Remedy, TooMuch> {
    let search = Search {
        runs: Runs::new(run, plan),
        scenario,
        each: plan.runs.unwrap_or(EACH).max(1),
        tried: Cell::new(0),
    };
    search.runs.expect(MOST_RUNS);
    let (found, sentence) = search.remedy();
    if let Some(too_much) = search.runs.too_much() {
        return Err(too_much);
    }
    Ok(Remedy {
        found,
        sentence,
        tried: search.tried.get(),
        runs: search.runs.done(),
        events: search.runs.events(),
    })
}

struct Search<'a, R> {
    runs: Runs<'a, R>,
    scenario: &'a Scenario,
    each: u32,
    tried: Cell<usize>,
}

/// The scenario itself, or the worse case with this index.
#[derive(Debug, Clone, Copy)]
struct Case(Option<usize>);

impl<R: Runner> Search<'_, R> {
    fn remedy(&self) -> (Option<(Step, Ruling)>, String) {
        let none = changed(self.scenario.clone(), &unretried(self.scenario));
        let cases: Vec<Case> = std::iter::once(Case(None))
            .chain((0..Stress::of(self.scenario).len()).map(|it| Case(Some(it))))
            .collect();
        // What is lost without retries no policy can save.
        let (mut within, beyond): (Vec<Case>, Vec<Case>) = cases
            .into_iter()
            .partition(|case| self.mostly_keeps(&none, *case));
        let is_lost = beyond.iter().any(|it| it.0.is_none());
        // The cases that the given policies lose come first: most steps are dropped there.
        within.sort_by_cached_key(|case| self.keeps(self.scenario, *case));
        let lost: Vec<String> = beyond.iter().filter_map(|it| self.what(*it)).collect();
        let needs = || capacity::sentence(&self.runs, &none, FEW);
        if is_lost {
            return (None, beyond_policy(&[], &needs()));
        }
        if !beyond.is_empty() && within.iter().all(|it| self.keeps(self.scenario, *it)) {
            return (None, beyond_policy(&lost, &needs()));
        }
        let mut smallest = None;
        for step in steps(self.scenario) {
            let is_spent = self.runs.done() >= MOST_RUNS || self.runs.events() >= MOST_EVENTS;
            if is_spent {
                break;
            }
            self.tried.set(self.tried.get() + 1);
            let scenario = changed(self.scenario.clone(), &step.changes);
            let is_kept = judgeable(&scenario).is_ok()
                && within.iter().all(|case| self.keeps(&scenario, *case));
            if !is_kept {
                continue;
            }
            let ruling = rule(&scenario, &self.runs, self.each);
            let is_remedy = match ruling.verdict {
                Verdict::Stable => true,
                Verdict::Vulnerable => !beyond.is_empty() && is_as_good(&ruling, &within),
                _ => false,
            };
            if is_remedy {
                smallest = Some((step, ruling));
                break;
            }
        }
        let needs = if beyond.is_empty() {
            String::new()
        } else {
            needs()
        };
        let sentence = found(smallest.as_ref(), self.tried.get(), &lost, &needs);
        (smallest, sentence)
    }

    /// Whether it comes back in most runs: one of a few that is lost may be bad luck.
    fn mostly_keeps(&self, scenario: &Scenario, case: Case) -> bool {
        let held = |runs: &[bool]| runs.iter().filter(|it| **it).count();
        self.keeps(scenario, case) || {
            let back = self.back(scenario, case, self.each);
            2 * held(&back) > back.len()
        }
    }

    /// Whether the service comes back in a few runs of this case.
    fn keeps(&self, scenario: &Scenario, case: Case) -> bool {
        self.back(scenario, case, FEW).into_iter().all(|it| it)
    }

    /// In which of so many runs of this case it comes back; in none of a case that is not there.
    fn back(&self, scenario: &Scenario, case: Case, runs: u32) -> Vec<bool> {
        let worse = Stress::of(scenario);
        let scenario = match case.0 {
            None => Some(scenario),
            Some(index) => worse.get(index).map(|it| &it.scenario),
        };
        scenario.map_or_else(Vec::new, |it| self.runs.back(it, 0, 0..runs))
    }

    /// What is worse in a case.
    fn what(&self, case: Case) -> Option<String> {
        let worse = Stress::of(self.scenario);
        Some(worse.get(case.0?)?.what.clone())
    }
}

/// Whether all is kept that can be.
fn is_as_good(ruling: &Ruling, within: &[Case]) -> bool {
    let mut worse = within.iter().filter_map(|case| ruling.worse.get(case.0?));
    ruling.back().successes == ruling.back().runs && worse.all(|it| it.back.is_mostly())
}
