//! Which hedges add load instead of taking latency away, or never start?

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use super::{Case, Count};
use crate::budget::Budget;
use crate::bulkhead::Limit;
use crate::duration::nanos;
use crate::hedge::{Hedge, HedgeDelay};
use crate::human::Human;

/// Below this a fixed delay is over before most answers are there.
const AT_ONCE: Duration = Duration::from_millis(1);

/// Copies of every tenth attempt take all that a budget of 10 % earns.
const EAGER: f64 = 0.9;

/// More calls a second than this are more than most client instances make.
pub(super) const MUCH_TRAFFIC: f64 = 100.0;

/// The hedge, where the attempts leave room for a copy.
fn hedge(case: &Case<'_>) -> Option<Hedge> {
    case.hedge.filter(|_| case.attempts > 1)
}

pub(super) fn hedge_without_budget(case: &Case<'_>) -> Option<String> {
    let hedge = hedge(case).filter(|_| case.budget == Budget::None)?;
    let times = hedge.copies.saturating_add(1).min(case.attempts);
    Some(format!(
        "without a budget a dependency that turns slow gets up to {times} times its load while it \
         is slow; set budget ratio:0.1"
    ))
}

pub(super) fn hedge_eager(case: &Case<'_>) -> Option<String> {
    let copied = match hedge(case)?.delay {
        HedgeDelay::After(delay) if delay < AT_ONCE => "every attempt".into(),
        HedgeDelay::Quantile(delay) if delay.quantile < EAGER => {
            format!("{:.0} % of all attempts", (1.0 - delay.quantile) * 100.0)
        }
        _ => return None,
    };
    Some(format!(
        "{copied} get a copy although nothing is wrong, which multiplies the load or spends the \
         budget that retries need; set p95, or a delay that few attempts reach"
    ))
}

pub(super) fn hedge_never_starts(case: &Case<'_>) -> Option<String> {
    let hedge = case.hedge?;
    let (copies, limit) = tightest(case, &hedge)?;
    if copies >= hedge.copies {
        return None;
    }
    let which = match copies {
        0 => "no copy ever starts".into(),
        copies => format!("at most {copies} of {} copies start", hedge.copies),
    };
    Some(format!("{which}: {limit}"))
}

/// How many copies can start, and what keeps others from it.
fn tightest(case: &Case<'_>, hedge: &Hedge) -> Option<(u32, String)> {
    let mut limits = Vec::new();
    let mut limit = |copies: u32, why: String| limits.push((copies, why));
    limit(
        case.attempts.saturating_sub(1),
        format!(
            "each counts as an attempt, and attempts is {}; raise attempts or lower copies",
            Count(case.attempts)
        ),
    );
    let delay = match hedge.delay {
        HedgeDelay::After(delay) => delay,
        HedgeDelay::Quantile(delay) => delay.min,
    };
    for (name, end) in [
        ("attempt timeout", case.attempt_timeout),
        ("deadline", case.deadline),
    ] {
        let Some(end) = end else { continue };
        let why = format!(
            "a copy comes no sooner than {} after the one before, and the {name} of {} ends that; \
             lower the hedge's delay or raise the {name}",
            Human(delay),
            Human(end),
        );
        limit(starts_before(end, delay), why);
    }
    if let Some(bulkhead) = case.bulkhead {
        let places = match bulkhead.limit {
            Limit::Fixed(most) => most,
            Limit::Aimd(aimd) => aimd.max,
            Limit::Gradient(gradient) => gradient.max,
        };
        let why = format!(
            "the bulkhead lets {places} run at once, the first attempt among them, and no copy \
             waits; raise its limit"
        );
        limit(places.saturating_sub(1), why);
    }
    limits.into_iter().min_by_key(|(copies, _)| *copies)
}

/// How many copies start before this end, each one delay after the one before.
fn starts_before(end: Duration, delay: Duration) -> u32 {
    let copies = nanos(end).saturating_sub(1).checked_div(nanos(delay));
    copies.map_or(u32::MAX, |copies| u32::try_from(copies).unwrap_or(u32::MAX))
}

pub(super) fn hedge_needs_traffic(case: &Case<'_>) -> Option<String> {
    let HedgeDelay::Quantile(delay) = hedge(case)?.delay else {
        return None;
    };
    let needed = delay.samples_needed();
    let rate = f64::from(needed) / delay.window.as_secs_f64();
    (rate > MUCH_TRAFFIC).then(|| {
        format!(
            "nothing is hedged below {rate:.0} attempts a second, with which a window of {} holds \
             the {needed} latencies that are needed; raise window, or lower the quantile or \
             samples",
            Human(delay.window)
        )
    })
}
