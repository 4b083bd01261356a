//! Which breakers open for nothing, do not open at all, or stay open too long?

use alloc::format;
use alloc::string::String;
use core::time::Duration;

use super::hedge::MUCH_TRAFFIC;
use super::{Case, Count};
use crate::breaker::{Breaker, Span, Trip};
use crate::human::Human;
use crate::sync::{MILLION, millionths};

/// Where one call in a hundred fails by chance, two fail together once in 10 000 calls, three once
/// in a million.
const FEW_FAILURES: u64 = 3;

/// A dependency that fails a smaller share than this does more good than harm.
const SMALL_SHARE: f64 = 0.1;

/// As the narrowest jitter of retries that is not a lint.
const NARROW: f64 = 1.0 / 6.0;

/// As the largest floor of a budget that is not a lint.
const MANY_PROBES: f64 = 10.0;

const LONG: Duration = Duration::from_secs(5 * 60);

pub(super) fn breaker_hair_trigger(case: &Case<'_>) -> Option<String> {
    let breaker = case.breaker?;
    let failures = failures_that_open(&breaker);
    if failures < FEW_FAILURES {
        let are = match failures {
            1 => "one failure opens",
            _ => "two failures open",
        };
        return Some(format!(
            "{are} the breaker, as chance alone brings about; set consecutive:5, or share:0.5 \
             with a min of 20"
        ));
    }
    match breaker.trip {
        Trip::Share { share, .. } if share < SMALL_SHARE => Some(format!(
            "the breaker opens when {:.1} % of the calls fail, and refuses the others too; set a \
             share of 0.5",
            share * 100.0
        )),
        _ => None,
    }
}

/// The fewest failures with which it opens.
fn failures_that_open(breaker: &Breaker) -> u64 {
    match breaker.trip {
        Trip::Consecutive(failures) => failures.into(),
        Trip::Share { share, .. } => {
            let failures = millionths(share).saturating_mul(breaker.min_calls.into());
            failures.div_ceil(MILLION).max(1)
        }
    }
}

pub(super) fn breaker_opened_by_one_call(case: &Case<'_>) -> Option<String> {
    let attempts = case.attempts;
    match case.breaker?.trip {
        Trip::Consecutive(failures)
            if u64::from(failures) >= FEW_FAILURES && failures <= attempts =>
        {
            Some(format!(
                "a call that fails for a reason of its own opens the breaker for all others with \
                 {failures} of its {} attempts; raise consecutive above attempts, or set share:0.5",
                Count(attempts)
            ))
        }
        _ => None,
    }
}

pub(super) fn breaker_blind_to_hangs(case: &Case<'_>) -> Option<String> {
    let is_blind = case.breaker?.slow.is_none() && case.attempt_timeout.is_none();
    is_blind.then(|| {
        "the breaker does not see calls that hang, unless the operation itself ends them; set \
         attempt_timeout, or slow"
            .into()
    })
}

pub(super) fn breaker_needs_traffic(case: &Case<'_>) -> Option<String> {
    let breaker = case.breaker?;
    let Trip::Share {
        window: Span::Time(window),
        ..
    } = breaker.trip
    else {
        return None;
    };
    let rate = f64::from(breaker.min_calls) / window.as_secs_f64();
    (rate > MUCH_TRAFFIC).then(|| {
        format!(
            "the breaker never opens below {rate:.0} attempts a second, with which {} hold the \
             min of {}; lower min or raise within",
            Human(window),
            breaker.min_calls
        )
    })
}

pub(super) fn breaker_no_jitter(case: &Case<'_>) -> Option<String> {
    let breaker = case.breaker?;
    (breaker.jitter < NARROW).then(|| {
        format!(
            "clients whose breakers opened together probe together, as a jitter of {} hardly \
             spreads the open time; set jitter:0.5",
            breaker.jitter
        )
    })
}

pub(super) fn breaker_probes_often(case: &Case<'_>) -> Option<String> {
    let breaker = case.breaker?;
    let mean = breaker.open_max.as_secs_f64() * (1.0 - breaker.jitter / 2.0);
    let rate = f64::from(breaker.probes) / mean;
    (rate > MANY_PROBES).then(|| {
        format!(
            "even in a long outage every client instance sends {rate:.0} probes a second; raise \
             open-max, or lower probes"
        )
    })
}

pub(super) fn breaker_open_long(case: &Case<'_>) -> Option<String> {
    let longest = case.breaker?.open_max;
    (longest > LONG).then(|| {
        format!(
            "calls are refused for up to {} after the dependency has come back; lower open-max to \
             1m",
            Human(longest)
        )
    })
}
