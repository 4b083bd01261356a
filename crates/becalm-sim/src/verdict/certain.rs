//! When is it certain, before a run ends, whether the service comes back?
//!
//! A search asks its runs for nothing else, and what follows is most of what they cost: a storm that lasts, or a service that has been
//! well for long.

use std::time::Duration;

use becalm::Policy;

use crate::record::Recording;
use crate::scenario::{Arrivals, Phases, Population, Scenario};
use crate::world::Sight;

use super::capacity::{hidden_capacity, open_calls};
use super::judge::judge;
use super::load::bottleneck;
use super::outcome::Outcome;

/// Parts of the time after the triggers. A run is looked at at the end of each of them but the last.
const PARTS: u32 = 10;
/// The least time after the triggers with which a run is looked at, in windows of goodput.
const WINDOWS: usize = 2;
/// How many times what it can serve a service is offered that is certain to stay down. What comes back late is offered
/// little more than that, as chance has it: of 500 runs of the catalogue at most 1.2 times.
const FAR_TOO_MUCH: f64 = 1.25;
/// The share of its capacity up to which a service that is well stays so: above it, chance alone may bring it down again. A worse
/// case has 0.9.
const CALM: f64 = 0.905;

/// When a run is looked at: never where calls come in bursts or were recorded, as what comes next is not seen before.
pub(super) fn times(scenario: &Scenario) -> Vec<Duration> {
    let is_steady =
        |it: &Population| !matches!(it.arrivals, Arrivals::Bursty { .. } | Arrivals::Trace(_));
    if scenario.triggers.is_empty() || !scenario.populations.iter().all(is_steady) {
        return Vec::new();
    }
    let end = scenario.triggers_end();
    let part = scenario.horizon.saturating_sub(end) / PARTS;
    let times = (1..PARTS).map(|parts| end.saturating_add(part * parts));
    let is_enough = |it: &Duration| {
        let phases = Phases::of(&scenario.until(*it));
        phases.after.len() >= WINDOWS * phases.window
    };
    times.filter(is_enough).collect()
}

/// Whether the service is certain to come back, or certain not to.
///
/// It is back for good where it is as well as before the triggers, no call waits for another attempt, its queues are no longer than then, and
/// its load is below the [hidden capacity](hidden_capacity): then nothing is left of the triggers, and no storm comes by chance. It stays down where
/// nothing gets better, it is offered far more than it can serve, and by that formula retries alone can go on to. Of a breaker, a throttle or a
/// rate that holds calls back the formula says nothing.
pub(super) fn comes_back(scenario: &Scenario, seen: &Sight<'_>) -> Option<bool> {
    let outcome = judge(&scenario.until(seen.at), seen.recording);
    let load = open_calls(scenario);
    let hidden = || hidden_capacity(scenario);
    if outcome.holds() {
        let has_room = bottleneck(scenario).is_none_or(|it| it.utilisation() <= CALM)
            && hidden().is_none_or(|it| load <= it);
        return (!seen.is_retrying && has_room && is_well(scenario, seen)).then_some(true);
    }
    let holds_back =
        |it: &Policy| it.breaker.is_some() || it.throttle.is_some() || it.rate.is_some();
    let is_far_down = !outcome.is_settling && outcome.pressure >= FAR_TOO_MUCH;
    let goes_on = is_far_down
        && hidden().is_some_and(|it| load >= FAR_TOO_MUCH * it)
        && !policies(scenario).any(holds_back);
    goes_on.then_some(false)
}

/// Says what happened to a run that may have ended when that was certain.
pub(super) fn judge_until(scenario: &Scenario, recording: &Recording) -> Outcome {
    let buckets = recording.populations.first().map_or(0, |it| it.calls.len());
    match recording.certain {
        Some(_) => {
            let buckets = u32::try_from(buckets).unwrap_or(u32::MAX);
            let at = scenario.bucket.saturating_mul(buckets);
            judge(&scenario.until(at), recording)
        }
        None => judge(scenario, recording),
    }
}

fn policies(scenario: &Scenario) -> impl Iterator<Item = &Policy> {
    let variants = scenario.populations.iter().flat_map(|it| &it.variants);
    let calls = scenario.services.iter().flat_map(|it| &it.calls);
    let calls = calls.map(|it| &it.policy);
    variants.map(|it| &it.policy).chain(calls)
}

/// Whether every queue is as short as one was before the triggers, a window long. A cache that a trigger emptied may still be filling.
fn is_well(scenario: &Scenario, seen: &Sight<'_>) -> bool {
    let phases = Phases::of(&scenario.until(seen.at));
    let sum = |of: &[u32]| of.iter().map(|it| u64::from(*it)).sum::<u64>();
    let mut services = scenario.services.iter().zip(&seen.recording.services);
    services.all(|(service, record)| {
        let before = record.queue.get(phases.usual()).unwrap_or_default();
        let longest = before.chunks_exact(phases.window).map(sum).max();
        let last = record.queue.len().saturating_sub(phases.window);
        let last = record.queue.get(last..).unwrap_or_default();
        service.cache.is_none() && sum(last) <= longest.unwrap_or_default()
    })
}
