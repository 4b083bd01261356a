//! What do the tests look through? Errors, observers, budgets and pollers that write down what they
//! see.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use becalm::budget::{RetryBudget, Withdrawal};
use becalm::observe::About;
use becalm::run::{Core, EngineBuilder};
use becalm::time::FakeSleeper;
use becalm::{
    Attempt, Budget, Classify, Event, Failure, GaveUp, Jitter, Observer, Policy, Retrier,
    StopReason, time::Instant,
};

pub const MS: Duration = Duration::from_millis(1);
pub const SECOND: Duration = Duration::from_secs(1);

/// An error that is nothing but its classification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault(pub Failure);

impl Fault {
    pub const DOWN: Self = Self(Failure::transient());
    pub const REFUSED: Self = Self(Failure::transient().unsent());
    pub const BUSY: Self = Self(Failure::throttled());
    pub const GONE: Self = Self(Failure::permanent());
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            Self::DOWN => "the shop is down",
            Self::GONE => "there is no such order",
            _ => "the shop is busy",
        })
    }
}

impl std::error::Error for Fault {}

impl Classify for Fault {
    fn classify(&self) -> Failure {
        self.0
    }
}

/// Delays that a test can foretell: `delay` before every retry, 4 attempts, no budget.
pub fn fixed(delay: Duration) -> Policy {
    Policy::fixed(delay)
        .cap(delay.max(20 * SECOND))
        .jitter(Jitter::None)
        .budget(Budget::None)
}

/// The retrier of this policy on this clock.
pub fn on(clock: &FakeSleeper, policy: Policy) -> Retrier {
    policy
        .builder()
        .sleeper(clock.clone())
        .build()
        .expect("a valid policy")
}

/// An event, without the name of its retrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// Number, waited.
    Attempt(u32, Duration),
    /// Next, delay.
    Retry(u32, Duration),
    /// Attempts, elapsed.
    Recovered(u32, Duration),
    /// Reason, attempts, elapsed.
    Stopped(StopReason, u32, Duration),
    BlocksRuntime,
}

/// Writes events down; clones share the book.
#[derive(Debug, Clone, Default)]
pub struct Journal(Arc<Mutex<Vec<(String, Seen)>>>);

impl Journal {
    /// Who said what.
    pub fn signed(&self) -> Vec<(String, Seen)> {
        self.0.lock().unwrap().clone()
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.signed().into_iter().map(|(_, seen)| seen).collect()
    }

    /// The last one, if it ends a call: attempts and reason.
    pub fn stops(&self) -> Vec<(StopReason, u32)> {
        let stop = |seen| match seen {
            Seen::Stopped(reason, attempts, _) => Some((reason, attempts)),
            _ => None,
        };
        self.seen().into_iter().filter_map(stop).collect()
    }
}

impl Observer for Journal {
    fn on_event(&self, about: &About<'_>, event: &Event<'_>) {
        let seen = match *event {
            Event::Attempt { number, waited } => Seen::Attempt(number, waited),
            Event::Retry { next, delay, .. } => Seen::Retry(next, delay),
            Event::Recovered { attempts, elapsed } => Seen::Recovered(attempts, elapsed),
            Event::Stopped {
                reason,
                attempts,
                elapsed,
                ..
            } => Seen::Stopped(reason, attempts, elapsed),
            Event::BlocksRuntime => Seen::BlocksRuntime,
            _ => return,
        };
        let signed = (about.retrier.to_owned(), seen);
        self.0.lock().unwrap().push(signed);
    }
}

/// A budget of whole tokens that counts what is asked of it.
#[derive(Debug)]
pub struct Ledger {
    book: Mutex<Book>,
    reads_clock: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Book {
    pub tokens: u32,
    pub first_tries: u32,
    pub deposits: u32,
    pub withdrawals: u32,
    pub denials: u32,
    pub refunds: u32,
}

impl Book {
    /// Retries that were paid for and not given back.
    pub fn spent(&self) -> u32 {
        self.withdrawals - self.refunds
    }
}

impl Ledger {
    pub fn of(tokens: u32) -> Arc<Self> {
        let book = Book {
            tokens,
            ..Book::default()
        };
        Arc::new(Self {
            book: Mutex::new(book),
            reads_clock: false,
        })
    }

    pub fn reading_the_clock(tokens: u32) -> Arc<Self> {
        let mut ledger = Arc::into_inner(Self::of(tokens)).expect("the only one");
        ledger.reads_clock = true;
        Arc::new(ledger)
    }

    pub fn book(&self) -> Book {
        *self.book.lock().unwrap()
    }
}

impl RetryBudget for Ledger {
    fn reads_clock(&self) -> bool {
        self.reads_clock
    }

    fn first_try(&self, _now: Instant) {
        self.book.lock().unwrap().first_tries += 1;
    }

    fn deposit(&self, _now: Instant) {
        self.book.lock().unwrap().deposits += 1;
    }

    fn withdraw(&self, _now: Instant, _failure: &Failure) -> Option<Withdrawal> {
        let mut book = self.book.lock().unwrap();
        let Some(left) = book.tokens.checked_sub(1) else {
            book.denials += 1;
            return None;
        };
        book.tokens = left;
        book.withdrawals += 1;
        Some(Withdrawal::of_micros(1_000_000))
    }

    fn refund(&self, withdrawal: Withdrawal) {
        assert_eq!(withdrawal.micros(), 1_000_000, "exactly what was taken");
        let mut book = self.book.lock().unwrap();
        book.tokens += 1;
        book.refunds += 1;
    }

    fn fill(&self, _now: Instant) -> f64 {
        f64::from(self.book().tokens)
    }
}

/// A retrier with all of its probes.
pub struct Watched {
    pub retrier: Retrier,
    pub clock: FakeSleeper,
    pub journal: Journal,
    pub ledger: Arc<Ledger>,
}

/// The policy on this clock, with a ledger of this many tokens in place of its budget.
pub fn watched(clock: &FakeSleeper, policy: Policy, tokens: u32) -> Watched {
    let (journal, ledger) = (Journal::default(), Ledger::of(tokens));
    let retrier = policy
        .builder()
        .sleeper(clock.clone())
        .observer(journal.clone())
        .retry_budget(ledger.clone())
        .build()
        .expect("a valid policy");
    Watched {
        retrier,
        clock: clock.clone(),
        journal,
        ledger,
    }
}

/// Makes a call as a driver without futures does: its first attempt has no engine.
pub fn by_first_attempt<T>(
    retrier: &Retrier,
    call: EngineBuilder<Core>,
    operation: impl Fn(Attempt) -> Result<T, Fault>,
) -> Result<T, GaveUp<Fault>> {
    let mut last = None;
    let mut engine = match call.first_attempt() {
        Err(engine) => engine,
        Ok(first) => {
            let attempt = first.attempt();
            let (result, inside) = first.scope().enter_with_scope(|| operation(attempt));
            match result {
                Ok(value) => {
                    first.succeeded();
                    return Ok(value);
                }
                Err(fault) => {
                    let mut engine = Box::new(first.into_engine(inside));
                    engine.failed_with(attempt, retrier.classifier(), &fault);
                    last = Some(fault);
                    engine
                }
            }
        }
    };
    loop {
        let attempt = match engine.block_attempt() {
            Ok(attempt) => attempt,
            Err(stopped) => return Err(stopped.with_error(last)),
        };
        match engine.inside(attempt.number(), || operation(attempt)) {
            Ok(value) => {
                engine.succeeded(attempt.number());
                return Ok(value);
            }
            Err(fault) => {
                engine.failed_with(attempt, retrier.classifier(), &fault);
                last = Some(fault);
            }
        }
    }
}

/// A future polled by hand, which counts how often it was woken.
pub struct ByHand<F> {
    future: Pin<Box<F>>,
    wakes: Arc<Wakes>,
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl<F: Future> ByHand<F> {
    pub fn new(future: F) -> Self {
        Self {
            future: Box::pin(future),
            wakes: Arc::default(),
        }
    }

    pub fn poll(&mut self) -> Poll<F::Output> {
        let waker = Waker::from(Arc::clone(&self.wakes));
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }

    /// The future, for somebody else to poll.
    pub fn into_future(self) -> Pin<Box<F>> {
        self.future
    }

    pub fn wakes(&self) -> usize {
        self.wakes.0.load(Ordering::SeqCst)
    }

    /// Polls as long as it wakes itself.
    pub fn run(&mut self) -> Poll<F::Output> {
        loop {
            let before = self.wakes();
            match self.poll() {
                Poll::Pending if self.wakes() > before => {}
                polled => return polled,
            }
        }
    }
}

/// The output of a future that needs nobody but itself to go on.
pub fn ready<F: Future>(future: F) -> F::Output {
    match ByHand::new(future).run() {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the future waits for somebody"),
    }
}

/// Runs a future on this thread without any runtime.
pub fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// Pends once.
pub async fn yield_now() {
    let mut yielded = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
