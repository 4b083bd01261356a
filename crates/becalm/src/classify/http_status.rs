//! What does a status code of HTTP say about trying again?

use super::Failure;

/// Classifies an HTTP status by itself, whatever the request was.
///
/// | status | class | reason |
/// |---|---|---|
/// | 408 | transient | the server gave up waiting for the request (RFC 9110 section 15.5.9) |
/// | 425 | transient, unsent | refused because it might be a replay, so not processed (RFC 8470) |
/// | 429 | throttled | RFC 6585 section 4 |
/// | other 4xx | permanent | the request is at fault; an unknown one is a 400 (RFC 9110 section 15) |
/// | 501, 505, 506, 508, 510, 511 | permanent | only a change of server, configuration or login helps |
/// | 507 | permanent | must not be repeated unasked (RFC 4918 section 11.5) |
/// | other 5xx | transient | 500, 502, 503, 504; an unknown one is a 500 (RFC 9110 section 15), so gateways' 520 to 530 are too |
/// | 600 and up | transient | invalid, to be processed as a 5xx (RFC 9110 section 15) |
/// | below 400 | permanent | no failure of HTTP's: who calls it an error knows what to do with it |
///
/// A 503 stays transient even with a `Retry-After`: the server says for how long it is away, not
/// that this client asked too much. With the feature `http`, `http::classify_status` knows the
/// request as well.
pub const fn classify(status: u16) -> Failure {
    match status {
        408 => Failure::transient(),
        425 => Failure::transient().unsent().healthy(),
        429 => Failure::throttled(),
        ..500 | 501 | 505..=508 | 510 | 511 => Failure::permanent(),
        500.. => Failure::transient(),
    }
}
