//! What does a `hedgingPolicy` ask of grpc-js and grpc-java?

use std::time::Duration;

use becalm::retry_on::{Codes, Methods, RetryOn};
use becalm::{Backoff, Hedge, Jitter};

use super::bare;
use super::fields::{Client, field, required, span};
use super::retrying::{attempts, codes};
use crate::document::Node;
use crate::mapping::{Draft, Origin};
use crate::reading::Reading;
use crate::system::Remedies;
use crate::told::Told;

const KEYS: &[&str] = &[
    "attempts", "hedge", "hint", "budget", "deadline", "retry_on",
];

/// What helps against a lint in a `hedgingPolicy`.
const REMEDIES: Remedies = &[
    (
        "retries-at-once",
        "leave statuses out of `nonFatalStatusCodes`, or lower `maxAttempts`: what fails so is followed by the next attempt at once",
    ),
    (
        "repeats-non-idempotent",
        "name methods that are not idempotent in an entry of their own, without `hedgingPolicy`",
    ),
    (
        "repeats-what-may-be-done",
        "name methods that are not idempotent in an entry of their own, without `hedgingPolicy`",
    ),
];

/// `None` where nobody knows how many attempts there are.
pub fn draft(reading: &mut Reading<'_>, hedging: &Node) -> Option<Draft> {
    let policy = bare().base(Duration::ZERO).backoff(Backoff::Fixed);
    let mut draft = Draft::of(policy.jitter(Jitter::None).attempts(2), KEYS);
    draft.remedies = REMEDIES;
    attempts(reading, &mut draft, hedging, hedging.span)?;
    let delay = match Client::of(reading.version) {
        Client::Java => required(reading, hedging, "hedgingDelay", hedging.span),
        _ => field(reading, hedging, "hedgingDelay"),
    };
    let delay = match delay {
        Some(node) => span(reading, node),
        None => Told::Is(Duration::ZERO, hedging.span),
    };
    let copies = draft.policy.attempts - 1;
    draft.set("hedge", delay, |policy, it| {
        policy.hedge = Some(Hedge::after(it).copies(copies));
    });
    let listed = field(reading, hedging, "nonFatalStatusCodes");
    let listed = listed.map(|list| (codes(reading, list), list.span));
    let (codes, at) = listed.unwrap_or((Codes::default(), hedging.span));
    draft.policy.retry_on = RetryOn::new().methods(Methods::Any).codes(codes).into();
    draft.origin("retry_on", Origin::Line(at));
    let why = "a failure starts the next copy at once, where a policy awaits the copies that run";
    draft.lose("hedgingPolicy", why, Some(hedging.span));
    Some(draft)
}
