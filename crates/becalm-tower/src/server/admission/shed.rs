//! What is a request told that is shed? When to come back, or not to, in the words of its protocol.

use std::time::Duration;

use becalm::Scope;
use becalm::StopReason;
use becalm::rng::Random;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Response, StatusCode};

use super::layer::AdmissionLayer;
use super::place::AdmittedBody;

impl AdmissionLayer {
    /// The answer to a request with these headers, in its scope.
    pub(super) fn shed<D>(&self, headers: &HeaderMap) -> Response<AdmittedBody<D>> {
        let is_unwanted = self.retries.is_most() && Scope::current() != Scope::NONE;
        if is_unwanted {
            // The layer that has read the scope tells its caller.
            Scope::NONE.telling(StopReason::DoNotRetry).report();
        }
        let mut response = Response::new(AdmittedBody::empty());
        if is_grpc(headers) {
            let pushback = if is_unwanted { -1 } else { millis(self.wait()) };
            let headers = response.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
            headers.insert("grpc-status", HeaderValue::from_static("8"));
            headers.insert("grpc-message", HeaderValue::from_static("overloaded"));
            headers.insert("grpc-retry-pushback-ms", pushback.into());
        } else {
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            let wait = self.wait();
            let is_more = u64::from(wait.subsec_nanos() > 0);
            let seconds = wait.as_secs().saturating_add(is_more);
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        response
    }

    fn wait(&self) -> Duration {
        let (least, spread) = self.retry_after;
        let share = (self.seed.stream().next_u64() >> 32) as u32;
        least + spread.mul_f64(f64::from(share) / f64::from(u32::MAX))
    }
}

fn is_grpc(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    content_type.is_some_and(|kind| kind.starts_with(b"application/grpc"))
}

fn millis(wait: Duration) -> i32 {
    i32::try_from(wait.as_millis()).unwrap_or(i32::MAX)
}
