//! execution-policy: one pipeline, built once, that runs operations.

use std::future::ready;
use std::sync::Arc;
use std::time::{Duration, Instant};

use execution_policy::{
    BoxFuture, CircuitBreaker, Core, DefaultCore, ExecutionPolicy as Pipeline,
    ExecutionPolicyBuilder, Jitter, Retry, RetryBudget,
};

use super::{ATTEMPT_TIMEOUT, AsyncPeer, BASE, CAP, DEADLINE, RETRIES, Through, WAIT};
use crate::drive::{Drive, complete};
use crate::operation::{AsyncOperation, Failed, Outcome, reply};
use crate::peers::Breaker;

/// Retries alone.
pub struct ExecutionPolicy;

/// Retries with a shared budget that is never short of a token.
pub struct ExecutionPolicyBudget;

/// Retries within a total timeout.
pub struct ExecutionPolicyDeadline;

type Builder = ExecutionPolicyBuilder<u64, Failed>;

fn exponential() -> Retry<u64, Failed> {
    Retry::exponential()
        .max_attempts(RETRIES + 1)
        .base_delay(BASE)
        .max_delay(CAP)
        .jitter(Jitter::Full)
}

fn constant() -> Retry<u64, Failed> {
    Retry::fixed(WAIT).max_attempts(RETRIES + 1)
}

/// Every call that fails once has its retry paid by its own deposit.
fn budget() -> RetryBudget {
    RetryBudget::new(1.0, 10)
}

/// The policy with a budget, for several threads.
pub fn with_budget() -> Pipeline<DefaultCore, u64, Failed> {
    Builder::new().retry(exponential().budget(budget())).build()
}

/// Its own core, but for the timer.
struct NoTimer(DefaultCore);

impl Core for NoTimer {
    fn now(&self) -> Instant {
        self.0.now()
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }

    fn next_u64(&self) -> u64 {
        self.0.next_u64()
    }
}

fn run<C: Core + 'static, O: AsyncOperation, D: Drive>(
    pipeline: Pipeline<C, u64, Failed>,
    mut operation: O,
    drive: D,
) -> D::Output {
    let pipeline: &'static Pipeline<C, u64, Failed> = Box::leak(Box::new(pipeline));
    drive.drive(move || pipeline.run(async move || operation().await))
}

macro_rules! pipeline {
    ($name:ident, $note:literal, $retry:ident => $with:expr, $builder:ident => $within:expr) => {
        impl AsyncPeer for $name {
            const PACKAGE: &'static str = "execution-policy";
            const NOTE: &'static str = $note;

            fn usual<O: AsyncOperation, D: Drive>(operation: O, drive: D) -> D::Output {
                let $retry = exponential();
                let $builder = Builder::new().retry($with);
                run($within.build(), operation, drive)
            }

            fn waiting<O: AsyncOperation, D: Drive>(operation: O, drive: D) -> D::Output {
                let $retry = constant();
                let $builder = Builder::new().retry($with);
                run($within.build(), operation, drive)
            }

            fn without_wait<O: AsyncOperation, D: Drive>(
                operation: O,
                drive: D,
            ) -> Option<D::Output> {
                let $retry = exponential();
                let $builder = Builder::new().retry($with);
                let core = NoTimer(DefaultCore::new());
                Some(run($within.build_with(core), operation, drive))
            }
        }
    };
}

pipeline!(ExecutionPolicy, "", retry => retry, builder => builder);
pipeline!(ExecutionPolicyBudget, "shared budget", retry => retry.budget(budget()), builder => builder);
pipeline!(ExecutionPolicyDeadline, "deadline", retry => retry, builder => builder.total_timeout(DEADLINE));

/// A pipeline that is nothing but a breaker: it has none outside of one.
#[derive(Clone)]
struct Breaking(Arc<Pipeline<DefaultCore, u64, Failed>>);

/// Five failures in a row.
pub fn consecutive() -> impl Breaker {
    breaking(CircuitBreaker::consecutive_failures(5))
}

/// Half of the calls of ten seconds, from ten calls on.
pub fn time() -> impl Breaker {
    breaking(CircuitBreaker::failure_ratio().sampling_window(Duration::from_secs(10)))
}

fn breaking(breaker: CircuitBreaker<Failed>) -> impl Breaker {
    Breaking(Arc::new(Builder::new().circuit_breaker(breaker).build()))
}

impl Breaker for Breaking {
    #[inline]
    fn call(&mut self, request: Outcome) -> Option<Outcome> {
        match complete(self.0.run(async || reply(request))) {
            Err(error) if error.is_circuit_open() => None,
            Err(_) => Some(Err(Failed)),
            Ok(value) => Some(Ok(value)),
        }
    }
}

/// Deadline, retry with a budget, breaker, attempt timeout: one pipeline.
pub struct ExecutionPolicyStack;

impl Through for ExecutionPolicyStack {
    const PACKAGE: &'static str = "execution-policy";
    const BREAKS: bool = true;

    fn through<O: AsyncOperation, D: Drive>(operation: O, drive: D) -> D::Output {
        let breaker = CircuitBreaker::failure_ratio();
        // Its breaker does not hear of a call that the budget ends, and opens only if the budget
        // lasts for the ten calls that it wants to see.
        let budget = RetryBudget::new(1.0, 100);
        let pipeline = Builder::new()
            .total_timeout(DEADLINE)
            .retry(exponential().budget(budget))
            .circuit_breaker(breaker)
            .attempt_timeout(ATTEMPT_TIMEOUT);
        run(pipeline.build(), operation, drive)
    }
}
