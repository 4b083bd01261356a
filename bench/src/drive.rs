//! What is done with a call that a library has prepared?
//!
//! A library's file says how a call is written; a driver here says whether it is timed in a tight
//! loop, timed inside a runtime, or made once to see that it really retries. So no library is
//! measured by other means than another.

use std::fmt::Debug;
use std::future::Future;
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::measure::{Case, Group};
use crate::operation::Flaky;

/// Does something with an async call.
pub trait Drive {
    /// What becomes of it.
    type Output;

    /// `call` makes one whole call, retries and waits included.
    fn drive<C, F, E>(self, call: C) -> Self::Output
    where
        C: FnMut() -> F + 'static,
        F: Future<Output = Result<u64, E>>,
        E: Debug;
}

/// Does something with a blocking call.
pub trait DriveBlocking {
    /// What becomes of it.
    type Output;

    /// `call` makes one whole call, retries and waits included.
    fn drive<C, E>(self, call: C) -> Self::Output
    where
        C: FnMut() -> Result<u64, E> + 'static,
        E: Debug;
}

/// Times it in a tight loop, without a runtime.
pub struct Loop {
    /// The table.
    pub group: Group,
    /// The row.
    pub name: String,
    /// The operation, where it fails: its attempts are checked after each batch.
    pub flaky: Option<Flaky>,
}

impl Drive for Loop {
    type Output = Case;

    fn drive<C, F, E>(self, mut call: C) -> Case
    where
        C: FnMut() -> F + 'static,
        F: Future<Output = Result<u64, E>>,
        E: Debug,
    {
        Case::timed(self.group, self.name, "", move |calls| {
            checked(self.flaky, calls, || {
                for _ in 0..calls {
                    succeeded(&complete(call()));
                }
            });
        })
    }
}

impl DriveBlocking for Loop {
    type Output = Case;

    fn drive<C, E>(self, mut call: C) -> Case
    where
        C: FnMut() -> Result<u64, E> + 'static,
        E: Debug,
    {
        Case::timed(self.group, self.name, "", move |calls| {
            checked(self.flaky, calls, || {
                for _ in 0..calls {
                    succeeded(&call());
                }
            });
        })
    }
}

/// Times it inside a tokio runtime. While its clock is paused, a wait costs what the timer costs and
/// takes no time.
pub struct TokioLoop {
    /// The table.
    pub group: Group,
    /// The row.
    pub name: String,
    /// The operation, where it fails: its attempts are checked after each batch.
    pub flaky: Option<Flaky>,
    /// Whether the clock is paused.
    pub is_paused: bool,
}

impl Drive for TokioLoop {
    type Output = Case;

    fn drive<C, F, E>(self, mut call: C) -> Case
    where
        C: FnMut() -> F + 'static,
        F: Future<Output = Result<u64, E>>,
        E: Debug,
    {
        let runtime = runtime(self.is_paused);
        Case::timed(self.group, self.name, "", move |calls| {
            checked(self.flaky, calls, || {
                runtime.block_on(async {
                    for _ in 0..calls {
                        succeeded(&call().await);
                    }
                });
            });
        })
    }
}

/// Times it in a tight loop, within reach of a tokio runtime's timer: what makes one for each call
/// can, and none is waited for.
pub struct TimerLoop {
    /// The table.
    pub group: Group,
    /// The row.
    pub name: String,
}

impl Drive for TimerLoop {
    type Output = Case;

    fn drive<C, F, E>(self, mut call: C) -> Case
    where
        C: FnMut() -> F + 'static,
        F: Future<Output = Result<u64, E>>,
        E: Debug,
    {
        let runtime = runtime(false);
        Case::timed(self.group, self.name, "", move |calls| {
            let _entered = runtime.enter();
            for _ in 0..calls {
                succeeded(&complete(call()));
            }
        })
    }
}

/// A call that is stuck for so long has failed.
const PATIENCE: Duration = Duration::from_hours(24);

/// Makes the call once, on a paused clock.
pub struct Once;

impl Drive for Once {
    type Output = bool;

    fn drive<C, F, E>(self, mut call: C) -> bool
    where
        C: FnMut() -> F + 'static,
        F: Future<Output = Result<u64, E>>,
        E: Debug,
    {
        runtime(true).block_on(async {
            let ended = tokio::time::timeout(PATIENCE, call()).await;
            ended.is_ok_and(|result| result.is_ok())
        })
    }
}

/// Makes that many calls on a paused clock, whatever becomes of them.
pub struct Many(pub u64);

impl Drive for Many {
    type Output = ();

    fn drive<C, F, E>(self, mut call: C)
    where
        C: FnMut() -> F + 'static,
        F: Future<Output = Result<u64, E>>,
        E: Debug,
    {
        runtime(true).block_on(async {
            for _ in 0..self.0 {
                let _whatever = call().await;
            }
        });
    }
}

impl DriveBlocking for Once {
    type Output = bool;

    fn drive<C, E>(self, mut call: C) -> bool
    where
        C: FnMut() -> Result<u64, E> + 'static,
        E: Debug,
    {
        call().is_ok()
    }
}

/// A runtime of this thread, with its clock paused or not.
pub fn runtime(paused: bool) -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .start_paused(paused)
        .build()
        .expect("a runtime of one thread needs nothing that could be missing")
}

/// Polls a future to its end. What it waits for is at hand, or gives way once and is again.
#[inline]
pub fn complete<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}

/// Looks at the result, so that nobody's error path is dropped by the compiler.
#[inline]
fn succeeded<E: Debug>(result: &Result<u64, E>) {
    match result {
        Ok(value) => {
            black_box(*value);
        }
        Err(error) => panic!("the call gave up: {error:?}"),
    }
}

/// Runs a batch, and checks that every call made the attempts it should.
#[inline]
fn checked(flaky: Option<Flaky>, calls: u64, batch: impl FnOnce()) {
    let Some(flaky) = flaky else {
        return batch();
    };
    let before = flaky.attempts();
    batch();
    let attempts = flaky.attempts() - before;
    assert_eq!(
        attempts,
        calls * flaky.attempts_per_call(),
        "{calls} calls made {attempts} attempts"
    );
}
