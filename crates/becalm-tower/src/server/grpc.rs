//! How is a call of gRPC told that it is refused? By an answer that is nothing but trailers (`Trailers-Only` of gRPC over
//! HTTP/2), with status 200.

use std::time::Duration;

use becalm::http::is_grpc;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};

/// The content type of a request of gRPC, which its answer has, too; `None` where it is none.
pub(super) fn kind(request: &HeaderMap) -> Option<&HeaderValue> {
    request.get(CONTENT_TYPE).filter(|_| is_grpc(request))
}

/// The head of an answer with this code. The message is of printable ASCII, without a percent sign.
pub(super) fn trailers_only(
    kind: &HeaderValue,
    code: u8,
    message: &'static str,
    pushback: Option<i32>,
) -> HeaderMap {
    let mut head = HeaderMap::new();
    head.insert(CONTENT_TYPE, kind.clone());
    head.insert("grpc-status", u16::from(code).into());
    head.insert("grpc-message", HeaderValue::from_static(message));
    if let Some(pushback) = pushback {
        head.insert("grpc-retry-pushback-ms", pushback.into());
    }
    head
}

/// A wait as a pushback.
pub(super) fn millis(wait: Duration) -> i32 {
    i32::try_from(wait.as_millis()).unwrap_or(i32::MAX)
}
