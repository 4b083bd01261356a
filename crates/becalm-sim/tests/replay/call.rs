//! What did a call do in its turn, and was it its turn?

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use becalm::{Failure, GaveUp, Retrier, StopReason, classify::Verdict, time::Instant};

use super::locked;
use super::operation::Attempts;
use super::worlds;

/// The attempts that a turn is to start: the number, and whether it is a hedge.
pub type Asked = Option<(u32, bool)>;

/// The calls that were woken.
#[derive(Debug, Default)]
pub struct Woken(Arc<Mutex<Vec<u64>>>);

impl Woken {
    pub fn take(&self) -> Vec<u64> {
        std::mem::take(&mut *locked(&self.0))
    }

    /// The waker of a call that is to be polled.
    pub fn waker(&self, call: u64) -> Arc<Bell> {
        Arc::new(Bell {
            call,
            has_rung: AtomicBool::new(true),
            woken: Arc::clone(&self.0),
        })
    }
}

/// Wakes a call.
#[derive(Debug)]
pub struct Bell {
    call: u64,
    has_rung: AtomicBool,
    woken: Arc<Mutex<Vec<u64>>>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.has_rung.store(true, Ordering::Relaxed);
        locked(&self.woken).push(self.call);
    }
}

type Ended = Result<(), GaveUp<&'static str>>;

/// A call under way in the engine.
pub struct Live {
    future: Pin<Box<dyn Future<Output = Ended>>>,
    attempts: Attempts,
    bell: Arc<Bell>,
    timeout: Option<Duration>,
    started: BTreeMap<u32, Instant>,
    has_hedged: bool,
    /// Before each attempt, as the trace has them.
    delays: Vec<Duration>,
}

impl Live {
    pub fn new(retrier: Retrier, timeout: Option<Duration>, bell: Arc<Bell>) -> Self {
        let attempts = Attempts::default();
        let operation = attempts.clone();
        let future = Box::pin(async move {
            let call = retrier.retry(|attempt| {
                let attempt = operation.start(attempt);
                async {
                    attempt
                        .await
                        .map_err(|failure: Failure| (failure, "failed"))
                }
            });
            call.await
        });
        Self {
            future,
            attempts,
            bell,
            timeout,
            started: BTreeMap::new(),
            has_hedged: false,
            delays: vec![Duration::ZERO],
        }
    }

    pub fn is_woken(&self) -> bool {
        self.bell.has_rung.load(Ordering::Relaxed)
    }

    /// An attempt comes to its end. `false` for one that the engine itself is to end: it has taken as
    /// long as the policy lets it.
    pub fn answer(&mut self, now: Instant, number: u32, verdict: Verdict) -> bool {
        let started = self.started.get(&number).copied().unwrap_or_default();
        let is_due = self
            .timeout
            .is_some_and(|limit| started.after(limit) == now);
        if is_due && verdict == worlds::timed_out() {
            return false;
        }
        self.attempts.answer(number, verdict);
        true
    }

    /// What the trace says of the next wait.
    pub fn decided(&mut self, delay: Duration) {
        self.delays.push(delay);
    }

    pub fn expect_start(&mut self, now: Instant, number: u32, hedge: bool) -> Result<(), String> {
        self.started.insert(number, now);
        self.has_hedged |= hedge;
        self.expect(Some((number, hedge)), Poll::Pending)
    }

    /// Polls the call, whose turn it must be, and compares what it does.
    pub fn expect(
        &mut self,
        starts: Asked,
        ends: Poll<Result<(), StopReason>>,
    ) -> Result<(), String> {
        if !self.bell.has_rung.swap(false, Ordering::Relaxed) {
            return Err("the call was not woken".into());
        }
        let waker = Waker::from(Arc::clone(&self.bell));
        let polled = self.future.as_mut().poll(&mut Context::from_waker(&waker));
        let started = self.attempts.take_started();
        if !started.iter().eq(starts.iter()) {
            return Err(format!("these attempts started: {started:?}"));
        }
        let got = match &polled {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(())) => Poll::Ready(Ok(())),
            Poll::Ready(Err(gave_up)) => Poll::Ready(Err(gave_up.reason())),
        };
        if got != ends {
            return Err(format!("the turn ended with {got:?}"));
        }
        match polled {
            Poll::Ready(Err(gave_up)) => self.compare(&gave_up),
            _ => Ok(()),
        }
    }

    /// What the error keeps of the call is what the trace has.
    fn compare(&self, gave_up: &GaveUp<&'static str>) -> Result<(), String> {
        let made = u32::try_from(self.started.len()).unwrap_or(u32::MAX);
        if gave_up.attempts() != made {
            return Err(format!(
                "{} attempts are told, not {made}",
                gave_up.attempts()
            ));
        }
        let told = gave_up.records().map(|record| &record.delay);
        if !self.has_hedged && !told.eq(self.delays.iter().take(self.started.len())) {
            let told: Vec<_> = gave_up.records().collect();
            return Err(format!("a delay differs: {told:?}, not {:?}", self.delays));
        }
        Ok(())
    }
}
