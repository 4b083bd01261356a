//! Which throttles, rates and bulkheads keep calls out, or waiting, for nothing?

use alloc::format;
use alloc::string::String;

use super::Case;
use crate::bulkhead::{Limit, Order};
use crate::human::Human;

/// A healthy dependency rejects less than this, 1 - 1/k, of what it is sent.
const EAGER: f64 = 1.1;

pub(super) fn throttle_eager(case: &Case<'_>) -> Option<String> {
    let k = case.throttle?.k;
    (k < EAGER).then(|| {
        format!(
            "calls are shed as soon as {:.1} % of them are rejected, as happens to a healthy \
             dependency; set accepts:2",
            (1.0 - 1.0 / k) * 100.0
        )
    })
}

pub(super) fn throttle_stops_probing(case: &Case<'_>) -> Option<String> {
    let throttle = case.throttle?;
    (throttle.max >= 1.0).then(|| {
        format!(
            "a client whose calls are all rejected sends about one within {}, and notices late \
             that the dependency has come back; set max:0.9",
            Human(throttle.window)
        )
    })
}

pub(super) fn rate_waits_forever(case: &Case<'_>) -> Option<String> {
    let waits = case.rate?.max_wait.is_none() && case.deadline.is_none();
    waits.then(|| {
        "once the server throttles, attempts queue for their turn and nothing bounds how long; set \
         max-wait or a deadline"
            .into()
    })
}

/// In the order of arrival a wait ends where attempts do.
pub(super) fn bulkhead_waits_forever(case: &Case<'_>) -> Option<String> {
    let bulkhead = case.bulkhead.filter(|it| it.waiting > 0)?;
    let waits =
        bulkhead.order == Order::Lifo && bulkhead.max_wait.is_none() && case.deadline.is_none();
    waits.then(|| {
        "with order lifo the oldest calls wait for as long as more come than are served, and \
         nothing bounds that; set max-wait or a deadline"
            .into()
    })
}

pub(super) fn bulkhead_held_by_hangs(case: &Case<'_>) -> Option<String> {
    let is_held =
        case.bulkhead.is_some() && case.attempt_timeout.is_none() && case.deadline.is_none();
    is_held.then(|| {
        "attempts that hang keep their places for ever, and once they have all, every other call \
         waits or is refused, unless the operation itself ends them; set attempt_timeout or a \
         deadline"
            .into()
    })
}

pub(super) fn bulkhead_wait_fills_deadline(case: &Case<'_>) -> Option<String> {
    let (longest, deadline) = (case.bulkhead?.max_wait?, case.deadline?);
    (longest >= deadline).then(|| {
        format!(
            "a call may wait {} for its place, which leaves no time for an attempt before the \
             deadline of {}; lower max-wait or raise the deadline",
            Human(longest),
            Human(deadline)
        )
    })
}

/// A queue this many times as long as what runs is worked off in about as many call times.
const LONG_QUEUE: u32 = 10;

pub(super) fn bulkhead_long_queue(case: &Case<'_>) -> Option<String> {
    let bulkhead = case.bulkhead?;
    let places = match bulkhead.limit {
        Limit::Fixed(calls) => calls,
        Limit::Aimd(aimd) => aimd.initial,
        Limit::Gradient(gradient) => gradient.initial,
    };
    let is_long = bulkhead.order == Order::Fifo
        && bulkhead.max_wait.is_none()
        && bulkhead.waiting > places.saturating_mul(LONG_QUEUE);
    is_long.then(|| {
        format!(
            "the last of {} waiting calls waits {} times as long as a call takes, with {places} at \
             once; lower waiting to {places} or less, or set max-wait",
            bulkhead.waiting,
            bulkhead.waiting / places.max(1)
        )
    })
}
