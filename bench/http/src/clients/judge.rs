//! The policy that tower leaves to its users: the example of `tower::retry::budget`, with tower's backoff, which
//! judges answers as well.

use std::sync::Arc;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response};
use tower::retry::Policy;
use tower::retry::backoff::{Backoff, ExponentialBackoff};
use tower::retry::budget::{Budget, TpsBudget};

type End<B, E> = Result<Response<B>, E>;

#[derive(Clone)]
pub struct Judge {
    pub retries: usize,
    pub backoff: ExponentialBackoff,
    pub budget: Arc<TpsBudget>,
}

impl<B, E> Policy<Request<Full<Bytes>>, Response<B>, E> for Judge {
    type Future = <ExponentialBackoff as Backoff>::Future;

    fn retry(&mut self, _: &mut Request<Full<Bytes>>, end: &mut End<B, E>) -> Option<Self::Future> {
        match end {
            Ok(answer) if !answer.status().is_server_error() => {
                self.budget.deposit();
                None
            }
            _ if self.retries == 0 || !self.budget.withdraw() => None,
            _ => {
                self.retries -= 1;
                Some(self.backoff.next_backoff())
            }
        }
    }

    fn clone_request(&mut self, request: &Request<Full<Bytes>>) -> Option<Request<Full<Bytes>>> {
        Some(request.clone())
    }
}
