//! All of its layers together, with the timeouts of tower.

use tower::timeout::TimeoutLayer;
use tower::{Service, ServiceBuilder, service_fn};

use super::breaker;
use super::retry::{bucket, exponential};
use crate::drive::Drive;
use crate::operation::AsyncOperation;
use crate::peers::{ATTEMPT_TIMEOUT, DEADLINE, Through};

/// Deadline, retry with a budget, breaker, attempt timeout.
pub struct TowerResilienceStack;

impl Through for TowerResilienceStack {
    const PACKAGE: &'static str = "tower-resilience-retry";
    const NOTE: &'static str = "with its breaker, and timeouts of tower";
    const BREAKS: bool = true;

    fn through<O: AsyncOperation, D: Drive>(mut operation: O, drive: D) -> D::Output {
        let breaker = breaker::builder().sliding_window_size(100);
        let breaker = breaker.build().expect("constants that it accepts");
        let mut service = ServiceBuilder::new()
            .layer(TimeoutLayer::new(DEADLINE))
            .layer(exponential().budget(bucket()).build())
            .layer(breaker)
            .layer(TimeoutLayer::new(ATTEMPT_TIMEOUT))
            .service(service_fn(move |()| operation()));
        drive.drive(move || service.call(()))
    }
}
