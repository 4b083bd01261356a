//! Which changes are tried, the smallest first?

use std::fmt::Write as _;
use std::time::Duration;

use becalm::budget::Burst;
use becalm::support::Human;
use becalm::{Budget, Jitter, Policy};

use super::found::Step;
use crate::change::{Change, Place, Setting};
use crate::scenario::Scenario;

/// A setting with a value, and the policies that it would change for the better.
struct Remedial {
    setting: &'static str,
    value: &'static str,
    helps: fn(&Policy) -> bool,
}

/// What bounds retries comes before what takes them away.
const SETTINGS: [Remedial; 5] = [
    Remedial {
        setting: "budget",
        value: "ratio:0.1",
        helps: |policy| !is_fed_by_success(&policy.budget),
    },
    Remedial {
        setting: "jitter",
        value: "full",
        helps: |policy| policy.jitter == Jitter::None,
    },
    Remedial {
        setting: "attempts",
        value: "2",
        helps: |policy| policy.attempts > 2,
    },
    Remedial {
        setting: "breaker",
        value: "share:0.5,within:10s,min:20",
        helps: |policy| policy.breaker.is_none(),
    },
    Remedial {
        setting: "attempts",
        value: "1",
        helps: |_| true,
    },
];

/// Whether it grants no more than the default one.
fn is_fed_by_success(budget: &Budget) -> bool {
    let mut kinds = budget.kinds();
    kinds
        .any(|it| matches!(it, Budget::Ratio(ratio) if ratio.ratio <= 0.1 && is_small(ratio.burst)))
}

fn is_small(burst: Burst) -> bool {
    burst.least() <= 10.0 && burst.span() <= Duration::from_secs(5)
}

/// Places up to which every set of them is tried; of more, each alone and all together.
const MOST_PLACES: usize = 4;

/// The steps, in the order in which they are tried.
pub(super) fn steps(scenario: &Scenario) -> Vec<Step> {
    let places = retrying(scenario);
    let mut steps = Vec::new();
    for size in 1..=places.len() {
        if places.len() > MOST_PLACES && size != 1 && size != places.len() {
            continue;
        }
        let sets = sets(&places, size);
        for remedial in &SETTINGS {
            let set = sets
                .iter()
                .filter_map(|set| setting(scenario, set, remedial));
            steps.extend(set);
        }
        steps.extend(sets.iter().filter_map(|set| default(scenario, set)));
    }
    steps
}

/// No retries anywhere: what no policy has less load than.
pub(super) fn unretried(scenario: &Scenario) -> Vec<Change> {
    let changes = retrying(scenario).into_iter().filter_map(|place| {
        let attempts = Setting::named("attempts")?;
        Change::setting(place.name(), attempts, "1").ok()
    });
    changes.collect()
}

/// The places that retry, the innermost first.
fn retrying(scenario: &Scenario) -> Vec<Place> {
    let mut places = Place::all_of(scenario);
    places.retain(|place| place.policies(scenario).iter().any(|it| it.attempts != 1));
    places.reverse();
    places
}

fn setting(scenario: &Scenario, set: &[&Place], remedial: &Remedial) -> Option<Step> {
    let helps = |place: &&Place| {
        place
            .policies(scenario)
            .iter()
            .any(|it| (remedial.helps)(it))
    };
    if !set.iter().all(helps) {
        return None;
    }
    let setting = Setting::named(remedial.setting)?;
    let changes = set
        .iter()
        .map(|place| Change::setting(place.name(), setting, remedial.value));
    Some(Step {
        what: format!("{}={}", remedial.setting, remedial.value),
        changes: changes.collect::<Result<_, _>>().ok()?,
    })
}

/// The default's retries in the surroundings of each place; only where these are the same.
fn default(scenario: &Scenario, set: &[&Place]) -> Option<Step> {
    let of = |place: &&Place| {
        let policy = place.policy(scenario)?;
        Some((policy.deadline, policy.attempt_timeout))
    };
    let around = of(set.first()?)?;
    let (deadline, attempt_timeout) = around;
    let mut policy = Policy::default();
    (policy.deadline, policy.attempt_timeout) = around;
    let is_new =
        |place: &&Place| of(place) == Some(around) && place.policy(scenario) != Some(&policy);
    if !set.iter().all(is_new) {
        return None;
    }
    let mut what = "default".to_owned();
    for (name, time) in [("deadline", deadline), ("attempt-timeout", attempt_timeout)] {
        if let Some(time) = time {
            let _ = write!(what, ";{name}={}", Human(time));
        }
    }
    let changes = set
        .iter()
        .map(|place| Change::policy(place.name(), policy.clone()));
    Some(Step {
        what,
        changes: changes.collect(),
    })
}

/// All sets of so many, in order.
fn sets(places: &[Place], size: usize) -> Vec<Vec<&Place>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let Some((first, rest)) = places.split_first() else {
        return Vec::new();
    };
    let with = sets(rest, size - 1).into_iter().map(|mut set| {
        set.insert(0, first);
        set
    });
    with.chain(sets(rest, size)).collect()
}
