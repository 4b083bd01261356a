//! What does HTTP itself say about sending a request again?
//!
//! Semantics only, for any client and any body: statuses ([`classify_status`]), methods and keys
//! ([`operation`], [`declare`], [`idempotency_key`]), response headers ([`hint`], [`should_retry`], [`is_overloaded`]), and
//! [`verdict`], which weighs all of them; what gRPC says elsewhere than in the status ([`grpc_verdict`]); the scope of a request ([`scope`], [`write_scope`]) and "do not retry" for the layers
//! above ([`write_told`], [`told`]); and with the feature `tracing` the span of a request (`ClientSpan`).
//!
//! ```
//! use becalm::http::{self, Exchange};
//! use becalm::{Failure, classify::Verdict, classify::Cause};
//! use std::time::{Duration, SystemTime};
//!
//! # use ::http::{HeaderMap, Method, Request, Response};
//! let request = Request::get("https://shop.example/orders/17").body(())?;
//! let response = Response::builder().status(503).header("retry-after", "2").body("busy")?;
//!
//! let operation = http::operation(request.method(), request.headers());
//! let exchange = Exchange::new(operation, 1);
//! let verdict = http::verdict(response.status(), response.headers(), exchange, SystemTime::now);
//! let failure = Failure::transient().retry_after(Duration::from_secs(2));
//! assert_eq!(verdict, failure.because(Cause::Status(503)).into());
//! # Ok::<(), ::http::Error>(())
//! ```

mod answer;
mod answered;
mod grpc;
mod headers;
mod hosts;
mod lanes;
mod layers;
mod method;
mod origin;
#[cfg(feature = "tracing")]
mod span;
mod status;
mod unanswered;

pub use answer::{Answer, Judge};
#[doc(hidden)] // of `support`
pub use answered::Answered;
pub use grpc::{grpc_code, grpc_timeout, grpc_verdict, is_grpc};
pub use headers::{hint, is_overloaded, should_retry};
pub use hosts::Retriers;
#[doc(hidden)] // of `support`
pub use lanes::{Lanes, Trip};
pub use layers::{scope, told, write_scope, write_told};
pub use method::{declare, idempotency_key, operation};
pub use origin::{InvalidOrigin, Origin};
#[cfg(feature = "tracing")]
pub use span::ClientSpan;
pub use status::classify_status;
#[doc(hidden)] // of `support`
pub use unanswered::is_gone;
pub use unanswered::unanswered;

use ::http::{HeaderMap, StatusCode};

use crate::classify::{Class, Failure, Verdict};
use crate::idempotency::Operation;
use crate::time::UnixTime;

/// What is known of the request whose response is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exchange {
    /// What repeating the request would do: [`operation`] derives it.
    pub operation: Operation,
    /// The attempt that was answered, from 1. Where it is not known, 1 is the cautious choice.
    pub attempt: u32,
}

impl Exchange {
    /// Describes this attempt, from 1, of this operation.
    pub const fn new(operation: Operation, attempt: u32) -> Self {
        Self { operation, attempt }
    }
}

/// Judges a response: its status, corrected by [`should_retry`], with the [`hint`] of its
/// headers.
///
/// `x-should-retry: true` makes a permanent status transient; it proves nothing about the effect,
/// so an operation that is not idempotent still stops. `false` is [`Hint::Stop`](crate::Hint). A
/// success is a success whatever the headers say, but for one: an answer of gRPC that is nothing but
/// trailers (`Trailers-Only` of gRPC over HTTP/2) is judged by those ([`grpc_verdict`]).
///
/// Beside the word of a proxy that has no room ([`is_overloaded`]) a transient failure is throttled: the proxy is up, and asks
/// for less. It proves nothing about the effect, since an answer may have come through several proxies.
///
/// `wall` is the wall clock, such as `SystemTime::now`. It is read only when a failed response
/// has a header that may hold a date, such as `retry-after`.
pub fn verdict<W: Into<UnixTime>>(
    status: StatusCode,
    headers: &HeaderMap,
    exchange: Exchange,
    wall: impl FnOnce() -> W,
) -> Verdict {
    let Verdict::Failure(mut failure) = classify_status(status, exchange) else {
        return if is_grpc(headers) && grpc_code(headers).is_some() {
            grpc_verdict(headers, wall)
        } else {
            Verdict::Success
        };
    };
    if failure.class == Class::Permanent && should_retry(headers) == Some(true) {
        failure.class = Class::Transient;
    }
    failure.hint = hint(headers, wall);
    throttled(failure, headers).into()
}

/// As the words of a proxy have it.
fn throttled(mut failure: Failure, headers: &HeaderMap) -> Failure {
    if failure.class == Class::Transient && is_overloaded(headers) {
        failure.class = Class::Throttled;
    }
    failure
}
