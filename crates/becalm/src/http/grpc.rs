//! What do the headers and trailers of gRPC say? How a call has ended, and how long it may take.

use core::time::Duration;

use ::http::header::CONTENT_TYPE;
use ::http::{HeaderMap, HeaderName, HeaderValue};

use super::{hint, throttled};
use crate::classify::{Cause, Verdict, grpc};
use crate::hint::pushback;
use crate::time::UnixTime;

static STATUS: HeaderName = HeaderName::from_static("grpc-status");
static PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");
static TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");
const KIND: &[u8] = b"application/grpc";
/// `UNKNOWN`, for which every code that is none of gRPC's is to be taken (grpc/grpc, `doc/statuscodes.md`).
const UNKNOWN: u8 = 2;

/// Whether these headers, of a request or of an answer, are those of a call of gRPC, or of gRPC-Web, by their
/// `content-type`.
pub fn is_grpc(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let parts = kind.and_then(|kind| kind.split_at_checked(KIND.len()));
    parts.is_some_and(|(kind, rest)| {
        let is_other = rest.first().is_some_and(u8::is_ascii_alphanumeric);
        kind.eq_ignore_ascii_case(KIND) && !is_other
    })
}

/// The code of gRPC, from 0 (`OK`) to 16, in trailers, or in the headers of an answer that is nothing but trailers
/// (`Trailers-Only` of gRPC over HTTP/2). One that cannot be read is 2, `UNKNOWN`; `None` where there is none.
pub fn grpc_code(trailers: &HeaderMap) -> Option<u8> {
    let status = trailers.get(&STATUS)?.to_str().ok();
    let code = status.and_then(|status| status.trim().parse().ok());
    Some(code.filter(|code| *code <= 16).unwrap_or(UNKNOWN))
}

/// Judges a call of gRPC by its trailers: by the code ([`grpc::classify`]), whose absence is 2, `UNKNOWN`; with the hint in
/// `grpc-retry-pushback-ms`, or else that of HTTP's fields ([`hint`]).
pub fn grpc_verdict<W: Into<UnixTime>>(trailers: &HeaderMap, wall: impl FnOnce() -> W) -> Verdict {
    let code = grpc_code(trailers).unwrap_or(UNKNOWN);
    if code == 0 {
        return Verdict::Success;
    }
    let mut failure = grpc::classify(code.into()).because(Cause::Code(code));
    let pushback = pushback(trailers.get_all(&PUSHBACK));
    failure.hint = pushback.or_else(|| hint(trailers, wall));
    throttled(failure, trailers).into()
}

/// The time that a request of gRPC has left, by its caller (`grpc-timeout` of gRPC over HTTP/2); of several the
/// shortest. What breaks the grammar is ignored.
pub fn grpc_timeout(headers: &HeaderMap) -> Option<Duration> {
    let texts = headers.get_all(&TIMEOUT).into_iter();
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
