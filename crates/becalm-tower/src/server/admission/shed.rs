//! What is a request told that is shed? When to come back, or not to, in the words of its protocol.

use std::time::Duration;

use becalm::Scope;
use becalm::StopReason;
use becalm::rng::Random;
use http::header::RETRY_AFTER;
use http::{HeaderValue, Response, StatusCode};

use super::layer::AdmissionLayer;
use super::place::AdmittedBody;
use crate::server::grpc;

const RESOURCE_EXHAUSTED: u8 = 8;

impl AdmissionLayer {
    /// The answer to a request in its scope, whose content type is `grpc` if it is a call of gRPC.
    pub(super) fn shed<D>(&self, grpc: Option<&HeaderValue>) -> Response<AdmittedBody<D>> {
        let is_unwanted = self.retries.is_most() && Scope::current() != Scope::NONE;
        if is_unwanted {
            // The layer that has read the scope tells its caller.
            Scope::NONE.telling(StopReason::DoNotRetry).report();
        }
        let mut response = Response::new(AdmittedBody::empty());
        if let Some(kind) = grpc {
            let pushback = if is_unwanted {
                -1
            } else {
                grpc::millis(self.wait())
            };
            let told = grpc::trailers_only(kind, RESOURCE_EXHAUSTED, "overloaded", Some(pushback));
            *response.headers_mut() = told;
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
