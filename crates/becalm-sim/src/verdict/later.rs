//! Would the verdict be another one if the runs went on?
//!
//! Without this a verdict hangs on the horizon: a service whose queue still shrinks is down after 15 s, and up after 25 s.

use std::time::Duration;

use crate::scenario::{Phases, Scenario};
use crate::search::Proportion;

use super::judge::judge;
use super::outcome::{Outcome, recovery_times};
use super::runner::Runner;
use super::runs::{FEW, Runs};
use super::variation::{RESPITE, is_recorded, prolonged};

/// What runs show that go on beyond the end of their scenario.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Later {
    /// How long the longest of them are.
    pub horizon: Duration,
    /// The runs that went on: those that were not back, or, where all were back soon before their end, the first ones.
    pub went_on: Proportion,
    /// Seconds after the triggers until they came back, of those that did and had not been back before.
    pub times: Vec<f64>,
    /// Runs that are not back even then, and still on their way.
    pub settling: u32,
    /// The horizon that is long enough to see it. `None` where none was found.
    pub needs: Option<Duration>,
    /// Runs of all that are back in the end.
    pub back: Proportion,
    /// Whether the verdict may be another one with a longer horizon.
    pub is_open: bool,
}

/// Lets runs go on beyond the end of their scenario, where that may change the verdict.
pub(super) fn beyond<R: Runner>(
    scenario: &Scenario,
    runs: &Runs<'_, R>,
    outcomes: &[Outcome],
    went_on: &[Option<Outcome>],
) -> Option<Later> {
    let later = later(scenario, runs, outcomes, went_on);
    later.or_else(|| falls(scenario, runs, outcomes))
}

/// Lets the runs go on that were not back, but for those that did already. `None` where all were.
pub(super) fn later<R: Runner>(
    scenario: &Scenario,
    runs: &Runs<'_, R>,
    outcomes: &[Outcome],
    went_on: &[Option<Outcome>],
) -> Option<Later> {
    let is_late = |(at, it): (u32, &Outcome)| (!it.holds()).then_some(at);
    let late: Vec<u32> = (0..).zip(outcomes).filter_map(is_late).collect();
    let back = Proportion::of(outcomes.iter().map(Outcome::holds));
    let after = scenario.horizon.saturating_sub(scenario.triggers_end());
    if scenario.triggers.is_empty() || late.is_empty() {
        return None;
    }
    let mut later = Later {
        horizon: scenario.horizon,
        went_on: Proportion::default(),
        times: Vec::new(),
        settling: settling(outcomes),
        // Recorded arrivals end, and no call comes after them.
        needs: (!is_recorded(scenario)).then(|| whole(scenario.horizon.saturating_add(after))),
        back,
        is_open: false,
    };
    let events = outcomes.iter().map(|it| it.events).max();
    let longer = prolonged(scenario, events.unwrap_or_default());
    let (few, rest) = late.split_at(late.len().min(FEW));
    let of = |longer: &Scenario, these: &[u32]| {
        let known = |at: &u32| went_on.get(*at as usize).and_then(Option::as_ref);
        let rest: Vec<u32> = these
            .iter()
            .copied()
            .filter(|it| known(it).is_none())
            .collect();
        let mut all: Vec<Outcome> = these.iter().filter_map(known).cloned().collect();
        all.extend(runs.again(longer, &rest, |it| judge(longer, it)));
        all
    };
    let went_on = longer.map(|longer| (of(&longer, few), longer));
    let Some((mut outcomes, longer)) = went_on.filter(|(outcomes, _)| !outcomes.is_empty()) else {
        // What was offered no more than it can serve may come back later, and no run has shown that it does not.
        let open = count(outcomes.iter().filter(|it| it.is_open()));
        later.is_open = kind(back) != kind(more(back, open));
        return Some(later);
    };
    later.horizon = longer.horizon;
    later.needs = Some(whole(longer.horizon));
    let is_down = |it: &Outcome| !it.holds() && !it.is_settling;
    if !outcomes.iter().all(is_down) {
        outcomes.extend(of(&longer, rest));
    }
    later.went_on = Proportion::of(outcomes.iter().map(Outcome::holds));
    later.settling = settling(&outcomes);
    let times = recovery_times(&outcomes).into_iter();
    later.times = times.filter(|it| it.is_finite()).collect();
    if later.settling == 0 {
        later.needs = Some(needs(&longer, &later.times));
    }
    later.back = more(back, later.went_on.successes);
    later.is_open = kind(back) != kind(more(later.back, later.settling));
    Some(later)
}

/// Lets some runs go on where all were back, soon before their end: a storm may come later, as delays grow. `None` where none is
/// down then.
fn falls<R: Runner>(
    scenario: &Scenario,
    runs: &Runs<'_, R>,
    outcomes: &[Outcome],
) -> Option<Later> {
    let after = scenario.horizon.saturating_sub(scenario.triggers_end());
    let events = outcomes.iter().map(|it| it.events).max()?;
    if scenario.triggers.is_empty() || after >= RESPITE {
        return None;
    }
    let longer = prolonged(scenario, events)?;
    let first: Vec<u32> = (0..count(outcomes.iter()).min(2)).collect();
    let held = runs.again(&longer, &first, |it| judge(&longer, it).holds());
    let went_on = Proportion::of(held);
    let lost = went_on.runs - went_on.successes;
    let all = count(outcomes.iter());
    (lost > 0).then(|| Later {
        horizon: longer.horizon,
        went_on,
        times: Vec::new(),
        settling: 0,
        needs: Some(whole(longer.horizon)),
        back: Proportion {
            successes: all - lost,
            runs: all,
        },
        is_open: true,
    })
}

fn settling(outcomes: &[Outcome]) -> u32 {
    count(outcomes.iter().filter(|it| !it.holds() && it.is_settling))
}

fn count<T>(these: impl Iterator<Item = T>) -> u32 {
    u32::try_from(these.count()).unwrap_or(u32::MAX)
}

/// What a verdict makes of this many runs that are back.
fn kind(back: Proportion) -> (bool, bool) {
    (back.is_mostly(), back.is_all())
}

fn more(back: Proportion, others: u32) -> Proportion {
    Proportion {
        successes: back.successes + others,
        ..back
    }
}

/// The horizon with which these times are well within what can be judged: [`Phases`] leave a window and an attempt at
/// the end, and the last quarter says what it all came to.
fn needs(longer: &Scenario, times: &[f64]) -> Duration {
    let phases = Phases::of(longer);
    let buckets = |count: usize| {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        longer.bucket.saturating_mul(count)
    };
    let slowest = times.iter().copied().fold(0.0, f64::max);
    let slowest = Duration::try_from_secs_f64(slowest * 1.5).unwrap_or(Duration::MAX);
    let margin = buckets(3 * phases.window + (phases.after.end - phases.settled));
    let needs = longer
        .triggers_end()
        .saturating_add(slowest)
        .saturating_add(margin);
    whole(needs).min(whole(longer.horizon))
}

/// The next multiple of five seconds.
pub(super) fn whole(time: Duration) -> Duration {
    let fives = time.as_nanos().div_ceil(5_000_000_000);
    Duration::from_secs(u64::try_from(fives * 5).unwrap_or(u64::MAX))
}
