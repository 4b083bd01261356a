//! What would be the same scenario, but worse or better?

use std::sync::Arc;
use std::time::Duration;

use crate::engine::Distribution;
use crate::scenario::{Arrivals, Effect, Scenario, Trigger};

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
        trigger.from = first.saturating_add(times(trigger.from.saturating_sub(first), factor));
        trigger.length = times(trigger.length, factor);
        lengthen(trigger, factor);
    }
    let after = scenario.horizon.saturating_sub(scenario.triggers_end());
    longer.horizon = longer.triggers_end().saturating_add(after);
    longer
}

fn lengthen(trigger: &mut Trigger, factor: f64) {
    if let Effect::Deploy { each, pause, .. } = &mut trigger.effect {
        *each = times(*each, factor);
        *pause = times(*pause, factor);
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
            Arrivals::Trace(times) => *times = played(times, factor, scenario.horizon),
            Arrivals::Closed { think } => *think = scaled(think, 1.0 / factor),
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

/// Calls that no run needs more of.
const MOST_CALLS: usize = 100_000_000;

/// A trace played so many times as fast, over and over, until it was to end.
fn played(trace: &[Duration], factor: f64, horizon: Duration) -> Arc<[Duration]> {
    let end = trace.last().copied().unwrap_or_default().min(horizon);
    let round = times(end, 1.0 / factor);
    if round.is_zero() {
        return trace.into();
    }
    let rounds = (0..).map(|round_number: u32| round.saturating_mul(round_number));
    let faster = rounds
        .take_while(|from| *from <= end)
        .flat_map(|from| {
            let once = trace.iter().filter(|time| **time <= end);
            once.map(move |time| from.saturating_add(times(*time, 1.0 / factor)))
        })
        .take_while(|time| *time <= end)
        .take(MOST_CALLS);
    faster.collect()
}

/// A distribution of times that are so many times as long.
fn scaled(distribution: &Distribution, factor: f64) -> Distribution {
    let scale = |time: &Duration| times(*time, factor);
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

/// So many times as long, to the nanosecond below; what cannot be is the longest that can.
pub(super) fn times(duration: Duration, factor: f64) -> Duration {
    Duration::try_from_secs_f64(duration.as_secs_f64() * factor).unwrap_or(Duration::MAX)
}
