//! Is the service written by hand the engine's equal?

use std::future::{Ready, ready};
use std::io::Error;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use becalm::{Policy, Retrier};
use becalm_examples::tower_service::Retried;
use proptest::prelude::*;
use tower_service::Service;

use crate::trace::{Trace, Traced, told, traces};

/// The traced operation as a service.
impl Service<()> for Traced {
    type Response = usize;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<usize, Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, (): ()) -> Self::Future {
        Box::pin(self.clone().attempt())
    }
}

/// What `Retrier::retry` tells of this trace.
pub fn told_by_engine(trace: &Trace) -> Vec<String> {
    told(trace, |retrier, traced| async move {
        retrier.retry(|_| traced.clone().attempt()).await
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn c6_a_tower_service_tells_what_the_engine_tells(trace in traces()) {
        let by_service = told(&trace, |retrier, service| Retried { service, retrier }.call(()));
        prop_assert_eq!(by_service, told_by_engine(&trace));
    }
}

#[derive(Clone)]
struct Echo;

impl Service<u32> for Echo {
    type Response = u32;
    type Error = Error;
    type Future = Ready<Result<u32, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: u32) -> Self::Future {
        ready(Ok(request))
    }
}

#[test]
fn c6_a_tower_call_that_succeeds_allocates_nothing() {
    let plain = Policy::default();
    let limited = Policy::default()
        .deadline(Duration::from_secs(9))
        .attempt_timeout(Duration::from_secs(3))
        .hedge(becalm::Hedge::after(Duration::from_secs(1)));
    for policy in [plain, limited] {
        let retrier: Retrier = policy.retrier().expect("a valid policy");
        let mut service = Retried {
            service: Echo,
            retrier,
        };
        let mut call = |request| {
            let mut future = pin!(service.call(request));
            match future
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()))
            {
                Poll::Ready(Ok(answer)) => answer,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(call(16), 16); // what is made once has been made
        let allocated = allocation_counter::measure(|| assert_eq!(call(17), 17));
        assert_eq!(allocated.count_total, 0);
    }
}
