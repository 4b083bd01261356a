//! What do the headers of gRPC say? That a call has failed already, and how long it may take.

use core::time::Duration;

use ::http::HeaderMap;

use crate::classify::{Cause, Failure, grpc};
use crate::hint::pushback;

/// The failure of an answer without a body: then the trailers are in the head (`Trailers-Only` of
/// gRPC over HTTP/2). A status that cannot be read is 2, `UNKNOWN`.
pub(super) fn trailers_only(headers: &HeaderMap) -> Option<Failure> {
    let kind = headers.get("content-type")?.as_bytes();
    if !kind.starts_with(b"application/grpc") {
        return None;
    }
    let status = headers.get("grpc-status")?.to_str().ok();
    let code = status.and_then(|status| status.parse().ok()).unwrap_or(2);
    if code == 0 {
        return None;
    }
    let mut failure = grpc::classify(code);
    failure.cause = u8::try_from(code).ok().map(Cause::Code);
    failure.hint = pushback(headers.get_all("grpc-retry-pushback-ms"));
    Some(failure)
}

/// The time that a request of gRPC has left, by its caller (`grpc-timeout` of gRPC over HTTP/2); of several the
/// shortest. What breaks the grammar is ignored.
pub fn grpc_timeout(headers: &HeaderMap) -> Option<Duration> {
    let texts = headers.get_all("grpc-timeout").into_iter();
    texts
        .filter_map(|text| timeout(text.to_str().ok()?.trim()))
        .min()
}

/// At most 8 digits and a unit.
fn timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let is_number = digits.len() <= 8 && digits.bytes().all(|byte| byte.is_ascii_digit());
    let count: u64 = digits.parse().ok().filter(|_| is_number)?;
    Some(match unit {
        "H" => Duration::from_secs(count * 3600),
        "M" => Duration::from_secs(count * 60),
        "S" => Duration::from_secs(count),
        "m" => Duration::from_millis(count),
        "u" => Duration::from_micros(count),
        "n" => Duration::from_nanos(count),
        _ => return None,
    })
}
