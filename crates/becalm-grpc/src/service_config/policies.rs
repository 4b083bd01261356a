//! What does gRPC ask of retries, hedges and throttles, and which policy does the like?
//!
//! The rules are gRFC A6's, *Integration with Service Config*, and those of `service_config.proto`.

use becalm::hint::HintMode;
use becalm::retry_on::{Codes, Methods, RetryOn};
use becalm::{Budget, Hedge, Jitter, Policy};
use std::time::Duration;

use super::MOST_ATTEMPTS;
use super::field::Field;
use super::invalid::Fault;

/// gRPC spreads each wait by a fifth to either side (gRFC A6, *Exponential Backoff*).
const JITTER: f64 = 0.2;
/// A server's pushback is obeyed however long it is (gRFC A6, *Pushback*).
const ANY_PUSHBACK: Duration = Duration::from_secs(365 * 24 * 3600);

/// A call that is neither retried nor hedged.
pub(super) fn once() -> Policy {
    Policy::fixed(Duration::ZERO)
        .jitter(Jitter::None)
        .attempts(1)
        .hint(HintMode::Honor)
        .max_hint(ANY_PUSHBACK)
}

pub(super) fn retry(field: &Field<'_>, faults: &mut Vec<Fault>) -> Option<Policy> {
    field.object(faults)?;
    let attempts = attempts(field, faults);
    let mut span = |name| field.required(name, faults)?.span(faults);
    let (base, cap) = (span("initialBackoff"), span("maxBackoff"));
    let multiplier = multiplier(field, faults);
    let codes = field
        .required("retryableStatusCodes", faults)
        .and_then(|list| {
            if list.is_empty_list() {
                list.refuse("a list of at least one status code", faults);
            }
            codes(&list, faults)
        });
    let (base, cap) = (base?, cap?);
    let policy = Policy::exponential(base.min(cap))
        .multiplier(multiplier?)
        .cap(cap)
        .attempts(attempts?)
        .jitter(Jitter::Proportional(JITTER))
        .hint(HintMode::Honor)
        .max_hint(ANY_PUSHBACK);
    Some(policy.retry_on(of_codes(codes?)))
}

/// Who configures retries declares that the calls, each a POST, may be done twice.
fn of_codes(codes: Codes) -> RetryOn {
    RetryOn::new().methods(Methods::Any).codes(codes)
}

/// A copy after each `hedgingDelay`, and the next one at once where one has failed with a code that is not
/// fatal.
pub(super) fn hedging(field: &Field<'_>, faults: &mut Vec<Fault>) -> Option<Policy> {
    field.object(faults)?;
    let attempts = attempts(field, faults);
    let delay = match field.get("hedgingDelay") {
        None => Some(Duration::ZERO),
        Some(delay) if delay.as_text() == Some("0s") => Some(Duration::ZERO),
        Some(delay) => delay.span(faults),
    };
    let codes = field
        .get("nonFatalStatusCodes")
        .map_or_else(|| Some(Codes::default()), |list| codes(&list, faults));
    let attempts = attempts?;
    let hedge = Hedge::after(delay?).copies(attempts - 1);
    let policy = once().attempts(attempts).hedge(hedge);
    Some(policy.retry_on(of_codes(codes?)))
}

pub(super) fn throttling(field: &Field<'_>, faults: &mut Vec<Fault>) -> Option<Budget> {
    field.object(faults)?;
    let tokens = field.required("maxTokens", faults).and_then(|tokens| {
        let whole = tokens.as_whole().and_then(|whole| whole.try_into().ok());
        let whole = whole.filter(|whole: &u32| (1..=1000).contains(whole));
        if whole.is_none() {
            tokens.refuse("a whole number from 1 to 1000", faults);
        }
        whole
    });
    let ratio = field.required("tokenRatio", faults).and_then(|ratio| {
        // Decimals beyond the third are ignored, so that less than a thousandth is nothing.
        let number = ratio
            .as_number()
            .filter(|ratio| (0.001..=1000.0).contains(ratio));
        if number.is_none() {
            ratio.refuse("a number from 0.001 to 1000", faults);
        }
        number
    });
    Some(Budget::grpc(tokens?, ratio?))
}

/// At least two, cut to gRPC's limit.
fn attempts(field: &Field<'_>, faults: &mut Vec<Fault>) -> Option<u32> {
    let attempts = field.required("maxAttempts", faults)?;
    match attempts.as_whole() {
        Some(whole) if whole >= 2 => {
            Some(u32::try_from(whole).map_or(MOST_ATTEMPTS, |whole| whole.min(MOST_ATTEMPTS)))
        }
        _ => {
            attempts.refuse("a whole number of at least 2, the first included", faults);
            None
        }
    }
}

fn multiplier(field: &Field<'_>, faults: &mut Vec<Fault>) -> Option<f64> {
    let multiplier = field.required("backoffMultiplier", faults)?;
    let number = multiplier.as_number().filter(|number| number.is_finite());
    match number {
        Some(number) if number >= 1.0 => Some(number),
        Some(number) if number > 0.0 => {
            let wanted = "at least 1 (gRPC takes less, and waits shorter and shorter; \
                          becalm does not)";
            multiplier.refuse(wanted, faults);
            None
        }
        _ => {
            multiplier.refuse("a number above 0", faults);
            None
        }
    }
}

/// By names in any case of letters, or by numbers.
fn codes(list: &Field<'_>, faults: &mut Vec<Fault>) -> Option<Codes> {
    let mut codes = Codes::default();
    for field in list.list(faults)? {
        let code = match field.as_text() {
            Some(name) => Codes::by_name(name),
            None => field.as_whole().and_then(|code| code.try_into().ok()),
        };
        match code {
            Some(code @ 1..=16) => codes = codes.and(code),
            Some(0) => field.refuse("a code that means failure", faults),
            _ => field.refuse(
                "a status code of gRPC, by its name or its number up to 16",
                faults,
            ),
        }
    }
    Some(codes)
}
