//! What does a `retryPolicy` ask for?

use std::time::Duration;

use becalm::retry_on::{Codes, Methods, RetryOn};

use super::bare;
use super::fields::{Client, is_number, needed_span, number, required};
use crate::code;
use crate::document::{Node, Span};
use crate::list::list;
use crate::mapping::{Draft, Origin};
use crate::reading::Reading;

/// More are cut, by all clients (gRFC A6).
pub const MOST_ATTEMPTS: u32 = 5;

const KEYS: &[&str] = list!("attempts base multiplier cap jitter hint budget deadline retry_on");

/// `None` where a field is missing or unknown without which nothing is known.
pub fn draft(reading: &mut Reading<'_>, retry: &Node, span: Span) -> Option<Draft> {
    let has_all = [
        "initialBackoff",
        "maxBackoff",
        "backoffMultiplier",
        "retryableStatusCodes",
    ];
    // A key of another name may be a slip of `maxAttempts`.
    let mut keys = retry.entries().iter().map(|(key, _)| &*key.name);
    let is_of_generators = keys.all(|it| has_all.contains(&it) || it == "perAttemptRecvTimeout")
        && has_all.iter().all(|it| retry.entry(it).is_some());
    if is_of_generators {
        let sentence = "this `retryPolicy` has no `maxAttempts`: a client of gRPC refuses the config; generators of clients such as GAPIC read it, and repeat without a bound on attempts until `timeout`";
        let remedy = "for a client of gRPC, write `maxAttempts`";
        reading.find(span, code::NOT_KNOWN, sentence, remedy);
        return None;
    }
    let mut draft = Draft::of(bare(), KEYS);
    let attempts = attempts(reading, &mut draft, retry, span);
    let waits = waits(reading, &mut draft, retry, span);
    let codes = required(reading, retry, "retryableStatusCodes", span);
    if let Some(codes) = codes {
        let listed = self::codes(reading, codes);
        let may_be_empty = Client::of(reading.version) == Client::Java
            && retry.entry("perAttemptRecvTimeout").is_some();
        if codes.items().is_empty() && !may_be_empty {
            let sentence = "an empty `retryableStatusCodes` is refused: all calls fail";
            let remedy = "list at least one, such as \"UNAVAILABLE\"";
            reading.find(codes.span, code::REFUSED, sentence, remedy);
        }
        draft.policy.retry_on = RetryOn::new().methods(Methods::Any).codes(listed).into();
        draft.origin("retry_on", Origin::Line(codes.span));
    }
    limit_of_attempt(reading, &mut draft, retry);
    attempts.and(waits).and(codes)?;
    draft.lose("jitter at the cap", "each wait is spread by a fifth after the cap, and so may be a fifth longer than `maxBackoff`", None);
    Some(draft)
}

/// No client bounds an attempt by it as it is: grpc-java checks it and asks for it nowhere else (`RetriableStream`).
fn limit_of_attempt(reading: &mut Reading<'_>, draft: &mut Draft, retry: &Node) {
    let name = "perAttemptRecvTimeout";
    let Some((_, limit)) = retry.entry(name) else {
        return;
    };
    let client = Client::of(reading.version);
    let why = match client {
        Client::Core | Client::Js => {
            "an experiment of C-core: an attempt that has no answer by then is repeated; set `attempt_timeout` for the like, which holds for a whole answer"
        }
        Client::Go => "grpc-go does not read it",
        Client::Java => "grpc-java reads it, and bounds no attempt by it",
    };
    if client == Client::Java {
        let _ = super::fields::span(reading, limit);
    }
    if matches!(client, Client::Go | Client::Java) {
        let remedy = "set `timeout` of the method, which bounds all attempts together";
        let sentence = format!("`{name}`: {why}");
        reading.find(limit.span, code::TIMEOUT_IGNORED, sentence, remedy);
    }
    draft.lose(name, why, Some(limit.span));
}

pub fn attempts(reading: &mut Reading<'_>, draft: &mut Draft, of: &Node, span: Span) -> Option<()> {
    let node = required(reading, of, "maxAttempts", span)?;
    let client = Client::of(reading.version);
    let (asked, at) = reading.needed(
        node,
        "a whole number from 2, the first try included",
        |text| {
            let takes_points = match client {
                Client::Js => true,
                Client::Java => is_number(node),
                Client::Core | Client::Go => false,
            };
            if client.has_plain_numbers() && !is_number(node) {
                return None;
            }
            let whole = if takes_points {
                let number: f64 = text.parse().ok()?;
                (number.fract() == 0.0).then_some(number)?
            } else {
                f64::from(text.parse::<i32>().ok()?)
            };
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "saturates"
            )]
            (whole >= 2.0).then_some(whole as u32)
        },
    )?;
    draft.policy.attempts = asked.min(MOST_ATTEMPTS);
    if asked > MOST_ATTEMPTS {
        let unless = match client {
            Client::Go => ", unless the program asks for more (`WithMaxCallAttempts`)",
            Client::Java => {
                ", unless the program asks for more (`maxRetryAttempts`, `maxHedgedAttempts`)"
            }
            Client::Core | Client::Js => "",
        };
        let how =
            format!("cut from {asked}: no client of gRPC makes more than {MOST_ATTEMPTS}{unless}");
        draft.origin("attempts", Origin::Derived(at, how));
        let sentence =
            format!("gRPC makes at most {MOST_ATTEMPTS} attempts, and not {asked}{unless}");
        let remedy = format!("write {MOST_ATTEMPTS} or less");
        reading.find(at, code::ATTEMPTS_CUT, sentence, remedy);
    } else {
        draft.origin("attempts", Origin::Line(at));
    }
    Some(())
}

fn waits(reading: &mut Reading<'_>, draft: &mut Draft, retry: &Node, span: Span) -> Option<()> {
    let base = wait(reading, retry, "initialBackoff", span);
    let cap = wait(reading, retry, "maxBackoff", span);
    let multiplier = number(reading, retry, "backoffMultiplier", span, {
        let client = Client::of(reading.version);
        move |multiplier, node| multiplier > 0.0 && (!client.has_plain_numbers() || is_number(node))
    });
    let ((base, at), (cap, cap_at), (multiplier, multiplier_at)) = (base?, cap?, multiplier?);
    if base > cap {
        let sentence = match Client::of(reading.version) {
            Client::Core | Client::Go => {
                "the first wait is `maxBackoff`, as `initialBackoff` is longer"
            }
            Client::Js | Client::Java => {
                "the first wait is longer than `maxBackoff`, which bounds the later ones alone"
            }
        };
        let remedy = "set `initialBackoff` to less than `maxBackoff`";
        reading.find(at, code::WAIT_IGNORED, sentence, remedy);
        draft.lose("initialBackoff", sentence, Some(at));
    }
    draft.policy.cap = cap.max(Duration::from_nanos(1));
    draft.origin("cap", Origin::Line(cap_at));
    draft.policy.base = base.min(draft.policy.cap);
    draft.origin("base", Origin::Line(at));
    draft.policy.multiplier = multiplier.max(1.0);
    draft.origin("multiplier", Origin::Line(multiplier_at));
    if multiplier < 1.0 {
        draft.origin(
            "multiplier",
            Origin::NotExpressible("waits that become shorter".into()),
        );
        let sentence = format!(
            "each wait is {multiplier} of the one before: waits become shorter while the server fails"
        );
        let remedy = "set a `backoffMultiplier` of 1.5 or 2";
        reading.find(multiplier_at, code::WAIT_IGNORED, sentence, remedy);
    }
    Some(())
}

fn wait(reading: &mut Reading<'_>, retry: &Node, name: &str, at: Span) -> Option<(Duration, Span)> {
    let node = required(reading, retry, name, at)?;
    let (wait, at) = needed_span(reading, node)?;
    if wait.is_zero() && Client::of(reading.version) != Client::Js {
        let sentence = format!("`{name}` is 0, which is refused: all calls fail");
        reading.find(at, code::REFUSED, sentence, "set more than 0s");
    }
    Some((wait, at))
}

/// The codes of a list; one that this client does not know is told.
pub fn codes(reading: &mut Reading<'_>, list: &Node) -> Codes {
    let client = Client::of(reading.version);
    let mut codes = Codes::default();
    for node in list.items() {
        let told = reading.told(
            Some(node),
            "the name of a status code, such as \"UNAVAILABLE\"",
            |text| {
                if is_number(node) {
                    let number = text.parse().ok().filter(|it: &u32| *it <= 16)?;
                    return (client != Client::Core).then_some(number);
                }
                let is_spelled =
                    client == Client::Js || !text.contains(|c: char| c.is_ascii_lowercase());
                let code = if text.eq_ignore_ascii_case("OK") {
                    Some(0)
                } else {
                    Codes::by_name(text)
                };
                code.filter(|_| is_spelled)
            },
        );
        let Some(code) = told.known() else {
            continue;
        };
        if code == 0 && client == Client::Java {
            let sentence = "grpc-java refuses a list of codes with OK: all calls fail";
            reading.find(node.span, code::REFUSED, sentence, "leave it out");
        }
        codes = codes.and(code);
    }
    codes
}
