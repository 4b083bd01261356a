//! What does the head of an answer say of a call? Nothing, which commits it, or its failure.

use std::time::Duration;

use becalm::classify::{Cause, Failure, Verdict};
use becalm::http::{self as semantics, Exchange};
use becalm::time::UnixTime;
use becalm::{Hint, Operation};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, Response, StatusCode};
use prost::Message;
use tonic::Code;
use tonic::metadata::MetadataMap;
use tonic_types::pb;

static STATUS: HeaderName = HeaderName::from_static("grpc-status");
static PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");
const DETAILS: &str = "grpc-status-details-bin";
const RETRY_INFO: &str = "type.googleapis.com/google.rpc.RetryInfo";

/// The failure of an answer that is nothing but trailers (`Trailers-Only` of gRPC over HTTP/2), or is none of gRPC. Any
/// other answer has begun, and commits the call (gRFC A6).
pub(super) fn failure<D, W: Into<UnixTime>>(
    answer: &Response<D>,
    wall: impl FnOnce() -> W,
) -> Option<Failure> {
    let (status, headers) = (answer.status(), answer.headers());
    if status == StatusCode::OK && !headers.contains_key(&STATUS) {
        return None;
    }
    let verdict = if status == StatusCode::OK {
        semantics::grpc_verdict(headers, wall) // whatever its content type is
    } else {
        let exchange = Exchange::new(Operation::NotIdempotent, 1);
        semantics::verdict(status, headers, exchange, wall)
    };
    let Verdict::Failure(mut failure) = verdict else {
        return None;
    };
    failure.cause = Some(cause(code(status, headers)));
    if !headers.contains_key(&PUSHBACK) {
        failure.hint = retry_info(headers).or(failure.hint);
    }
    Some(failure)
}

/// As the lists of a policy name it.
pub(super) fn cause(code: Code) -> Cause {
    Cause::Code(u8::try_from(code as i32).unwrap_or_default())
}

/// The status of a failed call, of an answer without gRPC's as grpc/grpc, `doc/http-grpc-status-mapping.md`, has it.
pub(super) fn code(status: StatusCode, headers: &HeaderMap) -> Code {
    if let Some(status) = headers.get(&STATUS) {
        return Code::from_bytes(status.as_bytes());
    }
    match status.as_u16() {
        400 => Code::Internal,
        401 => Code::Unauthenticated,
        403 => Code::PermissionDenied,
        404 => Code::Unimplemented,
        429 | 502..=504 => Code::Unavailable,
        _ => Code::Unknown,
    }
}

/// "Clients should wait until `retry_delay` amount of time has passed" (googleapis, `google/rpc/error_details.proto`).
fn retry_info(headers: &HeaderMap) -> Option<Hint> {
    let details = HeaderMap::from_iter([(
        HeaderName::from_static(DETAILS),
        headers.get(DETAILS)?.clone(),
    )]);
    let details: Bytes = MetadataMap::from_headers(details)
        .get_bin(DETAILS)?
        .to_bytes()
        .ok()?;
    let mut all = pb::Status::decode(details).ok()?.details.into_iter();
    let info = all.find(|any| any.type_url == RETRY_INFO)?;
    let delay = pb::RetryInfo::decode(&*info.value).ok()?.retry_delay?;
    // Not by the conversions of `prost-types`: they overflow where the seconds are the least that there are.
    let nanos = u32::try_from(delay.nanos).ok();
    let nanos = nanos.filter(|nanos| *nanos < 1_000_000_000)?;
    let seconds = delay.seconds.try_into().ok()?;
    Some(Hint::AtLeast(Duration::new(seconds, nanos)))
}
