//! Which values mean something? The range of each kind of field.

use std::time::Duration;

use becalm::Policy;
use becalm::policy::{InvalidPolicy, Mode};

use crate::engine::Distribution;

use super::InvalidScenario;

/// Beyond it nanoseconds in 64 bits would not do for sums.
pub(super) const LONGEST: Duration = Duration::from_secs(10 * 366 * 86_400);
pub(super) const MOST: u32 = 50_000_000;

/// Refuses what is not valid.
pub(super) fn require(
    is_valid: bool,
    why: impl FnOnce() -> InvalidScenario,
) -> Result<(), InvalidScenario> {
    if is_valid { Ok(()) } else { Err(why()) }
}

pub(super) fn share(of: &str, field: &'static str, share: f64) -> Result<(), InvalidScenario> {
    require((0.0..=1.0).contains(&share), || InvalidScenario::Share {
        of: of.to_owned(),
        field,
    })
}

pub(super) fn rate(of: &str, field: &'static str, rate: f64) -> Result<(), InvalidScenario> {
    // At more than one a nanosecond time would stand still.
    require(rate > 0.0 && rate <= 1e9, || InvalidScenario::Rate {
        of: of.to_owned(),
        field,
    })
}

pub(super) fn factor(of: &str, field: &'static str, factor: f64) -> Result<(), InvalidScenario> {
    if factor == 0.0 {
        return Ok(());
    }
    rate(of, field, factor)
}

pub(super) fn count(of: &str, field: &'static str, count: u32) -> Result<(), InvalidScenario> {
    require((1..=MOST).contains(&count), || InvalidScenario::Count {
        of: of.to_owned(),
        field,
    })
}

pub(super) fn limit(
    of: &str,
    field: &'static str,
    time: Option<Duration>,
) -> Result<(), InvalidScenario> {
    require(time.is_none_or(|time| time <= LONGEST), || {
        InvalidScenario::Time {
            of: of.to_owned(),
            field,
        }
    })
}

/// Without any, attempts would follow each other in no time.
pub(super) fn patience(of: &str, timeout: Option<Duration>) -> Result<(), InvalidScenario> {
    require(
        timeout.is_none_or(|time| time > Duration::ZERO && time <= LONGEST),
        || InvalidScenario::Time {
            of: of.to_owned(),
            field: "timeout",
        },
    )
}

pub(super) fn policy(of: &str, policy: &Policy) -> Result<(), InvalidScenario> {
    // A policy that repeats nothing would be simulated under the name of one that does.
    let is_kept = match policy.mode {
        Mode::Enforce => Ok(()),
        _ => Err(InvalidPolicy::Observes),
    };
    let is_valid = policy.validate().and(is_kept);
    is_valid.map_err(|why| InvalidScenario::Policy {
        of: of.to_owned(),
        why,
    })
}

pub(super) fn time(
    of: &str,
    field: &'static str,
    times: &Distribution,
) -> Result<(), InvalidScenario> {
    let is_short = |time: &Duration| *time <= LONGEST;
    let is_valid = match times {
        Distribution::Constant(time) | Distribution::Exponential(time) => is_short(time),
        Distribution::Uniform(low, high) => low <= high && is_short(high),
        Distribution::Lognormal { median, sigma } => {
            is_short(median) && (0.0..=10.0).contains(sigma)
        }
        Distribution::Bimodal {
            fast,
            slow,
            slow_share,
        } => is_short(fast) && is_short(slow) && (0.0..=1.0).contains(slow_share),
        Distribution::Empirical(times) => !times.is_empty() && times.iter().all(is_short),
    };
    require(is_valid, || InvalidScenario::Time {
        of: of.to_owned(),
        field,
    })
}
