//! What would be the same scenario, but worse or better?

use std::time::Duration;

use crate::engine::Distribution;
use crate::scenario::{Arrivals, Effect, Scenario, Trigger, scaled};

/// The scenario without its triggers.
#[must_use]
pub fn calm(scenario: &Scenario) -> Scenario {
    let mut calm = scenario.clone();
    calm.triggers.clear();
    calm
}

/// The scenario with triggers that last this many times as long, and as much time after them.
///
/// Several triggers keep their order: all times count from the beginning of the first.
#[must_use]
pub fn longer(scenario: &Scenario, factor: f64) -> Scenario {
    let mut longer = scenario.clone();
    let begins = scenario.triggers.iter().map(|trigger| trigger.from);
    let Some(first) = begins.min() else {
        return longer;
    };
    for trigger in &mut longer.triggers {
        trigger.from = first.saturating_add(scaled(trigger.from.saturating_sub(first), factor));
        trigger.length = scaled(trigger.length, factor);
        lengthen(trigger, factor);
    }
    let after = scenario.horizon.saturating_sub(scenario.triggers_end());
    longer.horizon = longer.triggers_end().saturating_add(after);
    longer
}

fn lengthen(trigger: &mut Trigger, factor: f64) {
    if let Effect::Deploy { each, pause, .. } = &mut trigger.effect {
        *each = scaled(*each, factor);
        *pause = scaled(*pause, factor);
    }
}

/// The scenario with this many times the first tries: at a higher rate, with a trace that is played
/// faster and again, with clients of a closed loop that think for a shorter time.
#[must_use]
pub fn louder(scenario: &Scenario, factor: f64) -> Scenario {
    let mut louder = scenario.clone();
    for population in &mut louder.populations {
        match &mut population.arrivals {
            Arrivals::Poisson(rate) | Arrivals::Constant(rate) => *rate *= factor,
            Arrivals::Bursty {
                rate, burst_rate, ..
            } => {
                *rate *= factor;
                *burst_rate *= factor;
            }
            Arrivals::Trace(recorded) => *recorded = recorded.faster(factor, scenario.horizon),
            Arrivals::Closed { think } => *think = each_scaled(think, 1.0 / factor),
        }
    }
    louder
}

/// The scenario with this many times the clients in every closed loop, and at least one in each.
#[must_use]
pub fn crowded(scenario: &Scenario, factor: f64) -> Scenario {
    let mut crowded = scenario.clone();
    for population in &mut crowded.populations {
        if matches!(population.arrivals, Arrivals::Closed { .. }) {
            let clients = (f64::from(population.clients) * factor).round();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "saturates"
            )]
            let clients = clients as u32;
            population.clients = clients.max(1);
        }
    }
    crowded
}

/// A distribution of times that are so many times as long.
fn each_scaled(distribution: &Distribution, factor: f64) -> Distribution {
    let scale = |time: &Duration| scaled(*time, factor);
    match distribution {
        Distribution::Constant(time) => Distribution::Constant(scale(time)),
        Distribution::Exponential(mean) => Distribution::Exponential(scale(mean)),
        Distribution::Uniform(low, high) => Distribution::Uniform(scale(low), scale(high)),
        Distribution::Lognormal { median, sigma } => Distribution::Lognormal {
            median: scale(median),
            sigma: *sigma,
        },
        Distribution::Bimodal {
            fast,
            slow,
            slow_share,
        } => Distribution::Bimodal {
            fast: scale(fast),
            slow: scale(slow),
            slow_share: *slow_share,
        },
        Distribution::Empirical(times) => {
            Distribution::Empirical(times.iter().map(scale).collect())
        }
    }
}

/// What a search gives a service to come back in, at least.
pub(super) const RESPITE: Duration = Duration::from_secs(20);

/// The scenario with half of the time after its triggers: a search makes hundreds of runs, and a
/// storm that lasts is the dearest of them. Recorded arrivals are played to their end, as what matters of
/// them may come late.
pub(super) fn hurried(scenario: &Scenario) -> Scenario {
    if is_recorded(scenario) {
        return scenario.clone();
    }
    let end = scenario.triggers_end();
    let after = scenario.horizon.saturating_sub(end);
    let mut hurried = scenario.clone();
    hurried.horizon = end.saturating_add((after / 2).max(RESPITE).min(after));
    hurried
}

/// What a run that goes on has after its triggers, at least.
const GOES_ON: Duration = Duration::from_secs(60);
/// How much longer it is at most.
const LONGER: Duration = Duration::from_secs(60);
/// Events that it may take at most.
const MOST_EVENTS: u64 = 5_000_000;

/// The scenario with four times as much time after its triggers, or a minute more: what is not back by then is taken to stay down.
///
/// `None` for recorded arrivals, after whose end no call comes; and where a run takes this many events that a longer one
/// would take more than it may.
pub(super) fn prolonged(scenario: &Scenario, events: u64) -> Option<Scenario> {
    let after = scenario.horizon.saturating_sub(scenario.triggers_end());
    let more = after.saturating_mul(4).min(after.saturating_add(LONGER));
    let more = more.max(GOES_ON);
    let mut prolonged = scenario.clone();
    prolonged.horizon = scenario.triggers_end().saturating_add(more);
    let is_too_much = is_too_much(scenario, events, prolonged.horizon);
    (!is_recorded(scenario) && !is_too_much).then_some(prolonged)
}

/// Whether a run of this length would take more than it may, where one of the scenario takes this many events.
pub(super) fn is_too_much(scenario: &Scenario, events: u64, horizon: Duration) -> bool {
    let longer = horizon
        .as_nanos()
        .div_ceil(scenario.horizon.as_nanos().max(1));
    u128::from(events) * longer > u128::from(MOST_EVENTS)
}

/// Whether somebody's calls were recorded, which have an end.
pub(super) fn is_recorded(scenario: &Scenario) -> bool {
    let mut populations = scenario.populations.iter();
    populations.any(|it| matches!(it.arrivals, Arrivals::Trace(_)))
}
