//! google-cloud-gax: the retry loop of Google's client libraries, and its throttlers.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use google_cloud_gax::backoff_policy::BackoffPolicy;
use google_cloud_gax::error::Error;
use google_cloud_gax::exponential_backoff::ExponentialBackoffBuilder;
use google_cloud_gax::retry_loop_internal::retry_loop;
use google_cloud_gax::retry_policy::{AlwaysRetry, RetryPolicy, RetryPolicyExt};
use google_cloud_gax::retry_result::RetryResult;
use google_cloud_gax::retry_state::RetryState;
use google_cloud_gax::retry_throttler::{
    AdaptiveThrottler, CircuitBreaker, RetryThrottler, SharedRetryThrottler,
};

use super::{AsyncPeer, BASE, CAP, RETRIES, WAIT};
use crate::drive::Drive;
use crate::operation::{AsyncOperation, Failed};
use crate::peers::Throttle;

/// The package.
pub const PACKAGE: &str = "google-cloud-gax";

/// Its loop, which always has a throttle.
pub struct GoogleGax;

/// What one call is made with.
#[derive(Clone)]
struct Parts {
    throttler: SharedRetryThrottler,
    attempts: Arc<dyn RetryPolicy>,
    backoff: Arc<dyn BackoffPolicy>,
}

fn parts(backoff: impl BackoffPolicy + 'static) -> Parts {
    Parts {
        throttler: Arc::new(Mutex::new(AdaptiveThrottler::default())),
        attempts: Arc::new(AlwaysRetry.with_attempt_limit(RETRIES + 1)),
        backoff: Arc::new(backoff),
    }
}

fn exponential() -> Parts {
    let backoff = ExponentialBackoffBuilder::new()
        .with_initial_delay(BASE)
        .with_maximum_delay(CAP);
    parts(backoff.build().expect("constants that it accepts"))
}

#[derive(Debug)]
struct Constant;

impl BackoffPolicy for Constant {
    fn on_failure(&self, _: &RetryState) -> Duration {
        WAIT
    }
}

fn call<O: AsyncOperation, D: Drive>(
    parts: Parts,
    wait: impl AsyncFn(Duration) + Copy + Send + 'static,
    mut operation: O,
    drive: D,
) -> D::Output {
    drive.drive(move || {
        // A client clones them out of its options for each call.
        let parts = parts.clone();
        retry_loop(
            async move |_| operation().await.map_err(Error::io),
            wait,
            true,
            parts.throttler,
            parts.attempts,
            parts.backoff,
        )
    })
}

impl AsyncPeer for GoogleGax {
    const PACKAGE: &'static str = PACKAGE;
    const NOTE: &'static str = "shared throttler";

    fn usual<O: AsyncOperation, D: Drive>(operation: O, drive: D) -> D::Output {
        call(exponential(), tokio::time::sleep, operation, drive)
    }

    fn waiting<O: AsyncOperation, D: Drive>(operation: O, drive: D) -> D::Output {
        call(parts(Constant), tokio::time::sleep, operation, drive)
    }

    fn without_wait<O: AsyncOperation, D: Drive>(operation: O, drive: D) -> Option<D::Output> {
        Some(call(exponential(), async |_| (), operation, drive))
    }
}

/// A throttler behind the lock through which its clients share it.
#[derive(Clone)]
struct Locked {
    throttler: SharedRetryThrottler,
    failure: Arc<RetryResult>,
}

/// The tokens of gRPC: a retry costs what a success gives.
pub fn circuit_breaker() -> impl Throttle {
    locked(CircuitBreaker::clamp(100, 50, 1))
}

/// The throttle of Google's SRE book, with its factor of 2.
pub fn adaptive() -> impl Throttle {
    locked(AdaptiveThrottler::default())
}

fn locked(throttler: impl RetryThrottler + 'static) -> impl Throttle {
    Locked {
        throttler: Arc::new(Mutex::new(throttler)),
        failure: Arc::new(RetryResult::Continue(Error::io(Failed))),
    }
}

impl Locked {
    #[inline]
    fn grants(&self) -> bool {
        self.lock().on_retry_failure(&self.failure);
        !self.lock().throttle_retry_attempt()
    }

    #[inline]
    fn lock(&self) -> MutexGuard<'_, dyn RetryThrottler + 'static> {
        self.throttler.lock().expect("no throttler panics")
    }
}

impl Throttle for Locked {
    #[inline]
    fn success(&mut self) {
        self.lock().on_success();
    }

    #[inline]
    fn recovery(&mut self) -> bool {
        let granted = self.grants();
        self.lock().on_success();
        granted
    }

    fn failure(&mut self) -> bool {
        self.grants()
    }
}
