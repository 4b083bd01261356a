//! What is retried? The same few operations for every library.

use std::fmt;
use std::future::{Future, pending};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

/// The one error of every operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failed;

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the operation failed")
    }
}

impl std::error::Error for Failed {}

/// What every operation returns.
pub type Outcome = Result<u64, Failed>;

/// An operation that a library may call as often as it likes, from any thread.
pub trait AsyncOperation:
    FnMut() -> <Self as AsyncOperation>::Attempt + Copy + Send + Sync + 'static
{
    /// One attempt.
    type Attempt: Future<Output = Outcome> + Send + 'static;
}

impl<F, A> AsyncOperation for F
where
    F: FnMut() -> A + Copy + Send + Sync + 'static,
    A: Future<Output = Outcome> + Send + 'static,
{
    type Attempt = A;
}

/// An operation without a future.
pub trait BlockingOperation: FnMut() -> Outcome + Copy + 'static {}

impl<F: FnMut() -> Outcome + Copy + 'static> BlockingOperation for F {}

/// Succeeds at once. The only `black_box` inside a measured loop is here and around the result, so
/// that the compiler can neither fold the call away nor lift it out of the loop, for any library.
#[inline]
pub async fn succeed() -> Outcome {
    Ok(black_box(7))
}

/// Succeeds at once.
#[inline]
#[expect(clippy::unnecessary_wraps)]
pub fn succeed_blocking() -> Outcome {
    Ok(black_box(7))
}

/// What the caller asks for: a success or a failure.
#[inline]
pub fn reply(request: Outcome) -> Outcome {
    black_box(request)
}

/// Counts the attempts of an operation that fails a given number of times in every call.
///
/// Leaked, so that operations are `Copy` and `'static` as every library wants them. One thread at a
/// time makes attempts; the counter is atomic because some libraries want operations to be `Send`.
#[derive(Clone, Copy)]
pub struct Flaky {
    attempts: &'static AtomicU64,
    attempts_per_call: u64,
}

impl Flaky {
    /// Fails `failures` times, succeeds, fails `failures` times, and so on.
    pub fn failing(failures: u64) -> Self {
        Self {
            attempts: Box::leak(Box::default()),
            attempts_per_call: failures + 1,
        }
    }

    /// How many attempts were made until now.
    pub fn attempts(self) -> u64 {
        self.attempts.load(Ordering::Relaxed)
    }

    /// How many attempts every call makes.
    pub fn attempts_per_call(self) -> u64 {
        self.attempts_per_call
    }

    /// A load and a store: no dearer than a plain counter.
    #[inline]
    fn count(self) -> u64 {
        let attempts = self.attempts.load(Ordering::Relaxed) + 1;
        self.attempts.store(attempts, Ordering::Relaxed);
        attempts
    }

    #[inline]
    fn attempt(self) -> Outcome {
        if self.count().is_multiple_of(self.attempts_per_call) {
            Ok(black_box(7))
        } else {
            Err(black_box(Failed))
        }
    }

    /// The operation, as a closure that returns a future.
    pub fn asynchronous(self) -> impl AsyncOperation {
        move || async move { self.attempt() }
    }

    /// An operation of which every first attempt never ends and every second one succeeds: a hedge
    /// that fires is all that ends the call.
    pub fn stalling(self) -> impl AsyncOperation {
        move || async move {
            if self.count().is_multiple_of(2) {
                Ok(black_box(7))
            } else {
                pending().await
            }
        }
    }

    /// The operation, as a closure.
    pub fn blocking(self) -> impl BlockingOperation {
        move || self.attempt()
    }
}
