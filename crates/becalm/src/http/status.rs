//! What does a status code say about trying again?

use ::http::StatusCode;

use super::Exchange;
use crate::classify::{Cause, Classify, Failure, Verdict, http_status};

/// Judges the status of an answer.
///
/// Below 400 it is a success, since redirects and 304 are the client's own affair. Otherwise it is as
/// [`http_status::classify`] says, but for one status that depends on the request.
///
/// A 409 is transient for a keyed operation from attempt 2 on: an earlier attempt with the same key
/// is still in progress (draft-ietf-httpapi-idempotency-key-header-07). Any other conflict stays.
pub fn classify_status(status: StatusCode, exchange: Exchange) -> Verdict {
    let in_flight_duplicate = exchange.operation.is_keyed() && exchange.attempt >= 2;
    let code = status.as_u16();
    let failure = match code {
        ..400 => return Verdict::Success,
        409 if in_flight_duplicate => Failure::transient().healthy(),
        code => http_status::classify(code),
    };
    failure.because(Cause::Status(code)).into()
}

/// For a status that was returned as an error: [`http_status::classify`].
impl Classify for StatusCode {
    fn classify(&self) -> Failure {
        let status = self.as_u16();
        http_status::classify(status).because(Cause::Status(status))
    }
}
