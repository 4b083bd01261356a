//! Does the head of an answer say already that a gRPC call has failed?

use ::http::HeaderMap;

use crate::classify::{Failure, grpc};
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
    failure.hint = pushback(headers.get_all("grpc-retry-pushback-ms"));
    Some(failure)
}
