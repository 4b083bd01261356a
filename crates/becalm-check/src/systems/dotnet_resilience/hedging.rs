//! What does the standard hedging handler do with a request that is slow or fails?
//!
//! Another attempt starts when the one before has failed, or after `Delay`; a request has one endpoint or several.

use std::time::Duration;

use becalm::hedge::Hedge;
use becalm::support::Human;

use super::options::{Options, timespan};
use super::sections::Section;
use super::{Draft, KEYS, Origin, Reading, code, end, in_code, preset, protection, repeated};
use crate::system::Remedies;

/// A policy has no more copies, and none later.
const MOST_COPIES: u32 = 4;
const LATEST: Duration = Duration::from_secs(3600);

/// What helps against a lint in the settings of this handler.
const REMEDIES: Remedies = &[
    (
        "no-budget",
        "lower `MaxHedgedAttempts`: the handler has no budget",
    ),
    (
        "retries-at-once",
        "lower `MaxHedgedAttempts`: what fails is followed by the next attempt at once",
    ),
    (
        "hints-ignored",
        "lower `MaxHedgedAttempts`: the handler heeds no Retry-After",
    ),
    (
        "attempt-timeout-fills-deadline",
        "lower the `Timeout` of `Endpoint` or `MaxHedgedAttempts`, or raise `TotalRequestTimeout`",
    ),
    (
        "breaker-opened-by-one-call",
        "raise `MinimumThroughput` above the number of attempts, or lower `MaxHedgedAttempts`",
    ),
    (
        "repeats-non-idempotent",
        "add the handler to clients alone whose requests are safe to repeat",
    ),
    (
        "repeats-what-may-be-done",
        "add the handler to clients alone whose requests are safe to repeat",
    ),
];

pub fn hedging(reading: &mut Reading<'_>, section: &Section<'_>, options: Options<'_>) {
    options.check(
        reading,
        "the section",
        &["TotalRequestTimeout", "Hedging", "Endpoint"],
    );
    let mut draft = Draft::of(preset("polly-http-hedging"), KEYS);
    draft.remedies = REMEDIES;
    draft.origin("hedge", Origin::Default);
    repeated(&mut draft);
    if let Some((_, endpoint)) = options.strategy(&["Endpoint"]) {
        endpoint.check(
            reading,
            "`Endpoint`",
            &["RateLimiter", "CircuitBreaker", "Timeout"],
        );
        protection::limits(reading, &mut draft, endpoint);
    }
    protection::times(reading, &mut draft, options, &["Endpoint", "Timeout"]);
    protection::breaker(
        reading,
        &mut draft,
        options,
        &["Endpoint", "CircuitBreaker"],
    );
    copies(reading, &mut draft, options);
    draft.lose("Endpoint", "each endpoint has a breaker and a limiter of its own, and what one refuses goes to the next", None);
    in_code(reading, section.span);
    end(reading, draft, section);
}

fn copies(reading: &mut Reading<'_>, draft: &mut Draft, options: Options<'_>) {
    let Some((key, hedging)) = options.strategy(&["Hedging"]) else {
        return;
    };
    hedging.check(reading, "`Hedging`", &["MaxHedgedAttempts", "Delay"]);
    let copies = hedging.whole(reading, "MaxHedgedAttempts", 1, 10);
    let form = "a time such as \"00:00:02\"";
    let delay = reading.told(hedging.get("Delay"), form, |it| {
        match it.strip_prefix('-') {
            Some(below) => timespan(below).map(|_| None),
            None => timespan(it).map(Some),
        }
    });
    let unknown = [
        ("attempts", Origin::unknown(&copies)),
        ("hedge", Origin::unknown(&delay)),
    ];
    let asked = copies.known().unwrap_or(1);
    let delay = delay.known().unwrap_or(Some(Duration::from_secs(2)));
    draft.policy.attempts = asked + 1;
    let how = format!("{asked} hedged attempts and the first one");
    draft.origin("attempts", Origin::Derived(key.span, how));
    if asked > MOST_COPIES {
        let why = "a policy has at most 4 copies at once";
        draft.lose("MaxHedgedAttempts", why, Some(key.span));
    }
    draft.origin("hedge", Origin::Line(key.span));
    for (name, origin) in unknown {
        if let Some(origin) = origin {
            draft.origin(name, origin);
        }
    }
    draft.policy.hedge =
        delay.map(|delay| Hedge::after(delay.min(LATEST)).copies(asked.min(MOST_COPIES)));
    let total = draft.policy.deadline.unwrap_or_default();
    let all = delay.unwrap_or_default().saturating_mul(asked);
    if all > total {
        let sentence = format!(
            "{} refuses delays of {} in a request of {}",
            reading.who(),
            Human(all),
            Human(total)
        );
        let remedy = "lower `Delay`, or raise `TotalRequestTimeout`";
        reading.find(key.span, code::REFUSED, sentence, remedy);
    }
}
