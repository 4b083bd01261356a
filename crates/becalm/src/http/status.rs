//! What does a status code say about trying again?

use ::http::StatusCode;

use super::Exchange;
use crate::classify::{Classify, Failure, Verdict};
use crate::idempotency::Operation;

/// What this status alone says.
///
/// | status | verdict | reason |
/// |---|---|---|
/// | below 400 | success | redirects and 304 are the client's own affair |
/// | 408 | transient | the server gave up waiting for the request (RFC 9110 section 15.5.9) |
/// | 409 | transient for a keyed operation from attempt 2 on, else permanent | an earlier attempt with the same key is still in progress (draft-ietf-httpapi-idempotency-key-header-07); any other conflict stays |
/// | 425 | transient, unsent | refused because it might be a replay, so not processed (RFC 8470) |
/// | 429 | throttled | RFC 6585 section 4 |
/// | other 4xx | permanent | the request is at fault; an unknown one is a 400 (RFC 9110 section 15) |
/// | 501, 505, 506, 508, 510, 511 | permanent | only a change of server, configuration or login helps |
/// | 507 | permanent | must not be repeated unasked (RFC 4918 section 11.5) |
/// | other 5xx | transient | 500, 502, 503, 504; an unknown one is a 500 (RFC 9110 section 15), so gateways' 520 to 530 are too |
/// | 600 and up | transient | invalid, to be processed as a 5xx (RFC 9110 section 15) |
///
/// A 503 stays transient even with a `Retry-After`: the server says for how long it is away, not
/// that this client asked too much.
pub fn classify_status(status: StatusCode, exchange: Exchange) -> Verdict {
    let in_flight_duplicate = exchange.operation.is_keyed() && exchange.attempt >= 2;
    let failure = match status.as_u16() {
        ..400 => return Verdict::Success,
        409 if in_flight_duplicate => Failure::transient(),
        408 => Failure::transient(),
        425 => Failure::transient().unsent(),
        429 => Failure::throttled(),
        400..500 | 501 | 505..=508 | 510 | 511 => Failure::permanent(),
        500.. => Failure::transient(),
    };
    failure.into()
}

/// For a status that was returned as an error: [`classify_status`] of a first attempt without a
/// key. A status below 400 is permanent here: whoever calls it an error knows what to do with it.
impl Classify for StatusCode {
    fn classify(&self) -> Failure {
        match classify_status(*self, Exchange::new(Operation::Idempotent, 1)) {
            Verdict::Failure(failure) => failure,
            Verdict::Success => Failure::permanent(),
        }
    }
}
