//! What does a client get whose request is not run?

use std::time::Duration;

use becalm::StopReason;
use becalm::http::write_told;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use http_body::Body;

use crate::server::body::{BufferedBody, End};
use crate::server::grpc;

/// Why a request was not handed to its handler, or has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    KeyMissing,
    KeyMalformed,
    NoCaller,
    BodyBroken,
    BodyTooLong,
    BodyLate,
    NoRoom,
    InFlight,
    OtherPayload,
    OtherCredentials,
    AnswerNotKept,
    StoreUnavailable,
    HandlerGone,
    HandlerLate,
}

impl Refusal {
    /// Why a request has none of its body, if it has not.
    pub const fn of(end: End) -> Option<Self> {
        match end {
            End::Over => None,
            End::TooLong => Some(Self::BodyTooLong),
            End::Late => Some(Self::BodyLate),
            End::NoRoom => Some(Self::NoRoom),
        }
    }

    const fn status(self) -> StatusCode {
        match self {
            Self::KeyMissing | Self::KeyMalformed | Self::NoCaller | Self::BodyBroken => {
                StatusCode::BAD_REQUEST
            }
            Self::BodyTooLong => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyLate => StatusCode::REQUEST_TIMEOUT,
            Self::InFlight | Self::OtherCredentials | Self::AnswerNotKept => StatusCode::CONFLICT,
            Self::OtherPayload => StatusCode::UNPROCESSABLE_ENTITY,
            Self::StoreUnavailable | Self::NoRoom => StatusCode::SERVICE_UNAVAILABLE,
            Self::HandlerGone => StatusCode::INTERNAL_SERVER_ERROR,
            Self::HandlerLate => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    /// What [`status`](Self::status) is in gRPC (googleapis, `google/rpc/code.proto`), where that exists. A conflict that passes is
    /// `UNAVAILABLE`: `ABORTED` would say that nothing is being done.
    const fn code(self) -> u8 {
        match self {
            Self::KeyMissing
            | Self::KeyMalformed
            | Self::NoCaller
            | Self::BodyBroken
            | Self::BodyTooLong
            | Self::OtherPayload => 3,
            Self::BodyLate | Self::HandlerLate => 4,
            Self::AnswerNotKept => 6,
            Self::OtherCredentials => 9,
            Self::NoRoom => 8,
            Self::HandlerGone => 13,
            Self::InFlight | Self::StoreUnavailable => 14,
        }
    }

    /// The answer: to a call of gRPC, whose content type is `grpc`, in gRPC's words; to any other with the details of RFC 9457 as
    /// the draft shows them (section 2.7).
    pub fn answer<D: Body>(
        self,
        grpc: Option<&HeaderValue>,
        retry_after: Duration,
    ) -> Response<BufferedBody<D>> {
        let (is_to_come_again, is_done) = (
            matches!(self, Self::InFlight | Self::StoreUnavailable | Self::NoRoom),
            matches!(
                self,
                Self::OtherCredentials | Self::AnswerNotKept | Self::HandlerLate
            ),
        );
        if let Some(kind) = grpc {
            let mut response = Response::new(BufferedBody::whole(Bytes::new(), None));
            let pushback = match (is_to_come_again, is_done) {
                (true, _) => Some(grpc::millis(retry_after)),
                (false, true) => Some(-1),
                (false, false) => None,
            };
            *response.headers_mut() =
                grpc::trailers_only(kind, self.code(), self.title(), pushback);
            return response;
        }
        let (status, title) = (self.status(), self.title());
        let body = format!(r#"{{"title":"{title}","status":{}}}"#, status.as_u16());
        let mut response = Response::new(BufferedBody::whole(Bytes::from(body), None));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        let problem = HeaderValue::from_static("application/problem+json");
        headers.insert(CONTENT_TYPE, problem);
        if is_to_come_again {
            // Whole seconds: never earlier than it was set.
            let seconds = retry_after
                .as_secs()
                .saturating_add(u64::from(retry_after.subsec_nanos() > 0));
            headers.insert(RETRY_AFTER, seconds.into());
        }
        if is_done {
            write_told(headers, StopReason::DoNotRetry);
        }
        response
    }

    /// Without what JSON or gRPC would escape.
    const fn title(self) -> &'static str {
        match self {
            Self::KeyMissing => "This request needs an Idempotency-Key",
            Self::KeyMalformed => {
                "Idempotency-Key is to be one text of 1 to 255 characters, between double quotes"
            }
            Self::NoCaller => "An Idempotency-Key belongs to a caller, and this request names none",
            Self::BodyBroken => "The body of the request broke off",
            Self::BodyTooLong => "The body is too long for a request with an Idempotency-Key",
            Self::BodyLate => "The body of the request did not come in time",
            Self::NoRoom => "The bodies of other requests take all the room at present",
            Self::InFlight => "A request with this Idempotency-Key is being worked on",
            Self::OtherPayload => "This Idempotency-Key was used with another payload",
            Self::OtherCredentials => {
                "This Idempotency-Key came with other credentials before, so its request is not done again; \
                 a server that knows its callers (IdempotencyLayer::caller) answers renewed credentials"
            }
            Self::AnswerNotKept => {
                "The request with this Idempotency-Key is done, and its answer was too long to be kept"
            }
            Self::StoreUnavailable => {
                "Whether this Idempotency-Key was used cannot be told at present"
            }
            Self::HandlerGone => "The work on this request broke off",
            Self::HandlerLate => {
                "The request with this Idempotency-Key was begun and did not end in time: whether it is done is not \
                 known, so it is not done again"
            }
        }
    }
}
