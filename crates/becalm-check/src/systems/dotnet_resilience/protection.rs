//! What ends, refuses or delays a request beside its retries?

use std::time::Duration;

use becalm::breaker::{self, Trip};
use becalm::bulkhead::Limit;
use becalm::support::Human;

use super::options::Options;
use super::{Draft, Origin, Reading};
use crate::code;
use crate::list::list;
use crate::told::Told;

/// The time-out of an attempt, whose strategy is at this path, and that of the request; and whether the validator takes them.
pub fn times(reading: &mut Reading<'_>, draft: &mut Draft, section: Options<'_>, attempt: &[&str]) {
    let least = Duration::from_millis(10);
    let mut time = |path: &[&str]| {
        let Some((_, strategy)) = section.strategy(path) else {
            return Told::Absent;
        };
        strategy.check(reading, "a time-out", &["Timeout"]);
        strategy.time(reading, "Timeout", least)
    };
    let total = time(&["TotalRequestTimeout"]);
    let one = time(attempt);
    let span = match (&one, &total) {
        (Told::Is(_, span), _) | (_, Told::Is(_, span)) => Some(*span),
        _ => None,
    };
    draft.set("deadline", total, |policy, it| policy.deadline = Some(it));
    draft.set("attempt_timeout", one, |policy, it| {
        policy.attempt_timeout = Some(it);
    });
    if let (Some(one), Some(total), Some(span)) =
        (draft.policy.attempt_timeout, draft.policy.deadline, span)
    {
        if one > total {
            let sentence = format!(
                "{} refuses an attempt of {} in a request of {}",
                reading.who(),
                Human(one),
                Human(total)
            );
            let remedy = "set `TotalRequestTimeout` to the time of all attempts and delays";
            reading.find(span, code::REFUSED, sentence, remedy);
        }
    }
}

/// The outermost: so many requests run at once, and so many more wait.
pub fn limits(reading: &mut Reading<'_>, draft: &mut Draft, section: Options<'_>) {
    let mut place = None;
    if let Some((key, limiter)) = section.strategy(&["RateLimiter"]) {
        place = Some(key.span);
        limiter.check(reading, "`RateLimiter`", &["DefaultRateLimiterOptions"]);
        if let Some((_, own)) = limiter.strategy(&["DefaultRateLimiterOptions"]) {
            own.check(
                reading,
                "`DefaultRateLimiterOptions`",
                &["PermitLimit", "QueueLimit", "QueueProcessingOrder"],
            );
            let most = i32::MAX.unsigned_abs();
            let permits = own.whole(reading, "PermitLimit", 1, most);
            let queue = own.whole(reading, "QueueLimit", 0, most);
            if let Some(bulkhead) = &mut draft.policy.bulkhead {
                if let Told::Is(permits, _) = permits {
                    bulkhead.limit = Limit::Fixed(permits.min(1_000_000));
                }
                if let Told::Is(queue, _) = queue {
                    bulkhead.waiting = queue.min(1_000_000);
                }
            }
            draft.origin("bulkhead", Origin::Line(key.span));
        }
    }
    draft.lose("RateLimiter", "it counts requests with all their retries and delays; the bulkhead of a policy counts attempts", place);
}

/// The breaker whose strategy is at this path.
pub fn breaker(reading: &mut Reading<'_>, draft: &mut Draft, section: Options<'_>, path: &[&str]) {
    let mut sampled = Duration::from_secs(30);
    let mut place = None;
    if let Some((key, strategy)) = section.strategy(path) {
        place = Some(key.span);
        let known = list!("FailureRatio MinimumThroughput SamplingDuration BreakDuration");
        strategy.check(reading, "`CircuitBreaker`", known);
        let least = Duration::from_millis(500);
        let ratio = reading.told(strategy.get("FailureRatio"), "a number from 0 to 1", |it| {
            it.parse().ok().filter(|it| (0.0..=1.0).contains(it))
        });
        let calls = strategy.whole(reading, "MinimumThroughput", 2, i32::MAX.unsigned_abs());
        let sampling = strategy.time(reading, "SamplingDuration", least);
        let open = strategy.time(reading, "BreakDuration", least);
        let counts = Origin::unknown(&ratio).or_else(|| Origin::unknown(&calls));
        let times = Origin::unknown(&sampling).or_else(|| Origin::unknown(&open));
        let origin = counts.or(times).unwrap_or(Origin::Line(key.span));
        sampled = sampling.known().unwrap_or(sampled);
        if let Some(breaker) = &mut draft.policy.breaker {
            if let Trip::Share { share, window } = &mut breaker.trip {
                *share = ratio.known().unwrap_or(*share).max(0.000_001);
                *window = breaker::Span::Time(sampled);
            }
            breaker.min_calls = calls.known().unwrap_or(breaker.min_calls).min(100_000_000);
            breaker.open = open.known().unwrap_or(breaker.open);
            breaker.open_max = breaker.open;
        }
        draft.origin("breaker", origin);
    }
    let timeout = draft.policy.attempt_timeout.unwrap_or_default();
    if sampled < timeout.saturating_mul(2) {
        let sentence = format!(
            "{} refuses a breaker that samples {}: it is to be twice the time-out of an attempt of {} at least",
            reading.who(),
            Human(sampled),
            Human(timeout)
        );
        let told = match draft
            .origins
            .iter()
            .find(|(key, _)| *key == "attempt_timeout")
        {
            Some((_, Origin::Line(span))) => Some(*span),
            _ => None,
        };
        if let Some(span) = place.or(told) {
            let remedy = "set `SamplingDuration` to more";
            reading.find(span, code::REFUSED, sentence, remedy);
        }
    }
}
