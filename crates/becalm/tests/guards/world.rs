//! A retrier under guards, with its probes, and five ways to make a call on it.

use std::cell::Cell;
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::time::Duration;

use becalm::breaker::State;
use becalm::budget::RetryBudget;
use becalm::rng::Seed;
use becalm::time::FakeSleeper;
use becalm::{
    Attempt, Breaker, Event, GaveUp, Observer, Policy, Retrier, Scope, Sleeper, StopReason,
    call::{Call, CallOptions, Decision, Start},
    classify::Verdict,
    time::Instant,
};

use crate::probe::{Fault, Ledger, MS, SECOND, fixed, ready};

/// What the tests ask of the events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    Attempt(u32),
    Retry(u32),
    Recovered(u32),
    Stopped(StopReason, u32),
    Breaker(State, State, Option<Duration>),
}

#[derive(Clone, Default)]
struct Meddler {
    told: Arc<Mutex<Vec<Told>>>,
    in_wait: Arc<Mutex<Option<Box<dyn FnOnce() + Send>>>>,
}

impl Meddler {
    fn meddle(&self) {
        let meddle = self.in_wait.lock().unwrap().take();
        if let Some(meddle) = meddle {
            meddle();
        }
    }
}

impl Observer for Meddler {
    fn on_event(&self, _: &becalm::observe::About<'_>, event: &Event<'_>) {
        let told = match *event {
            Event::Attempt { number, .. } => Told::Attempt(number),
            Event::Retry { next, .. } => Told::Retry(next),
            Event::Recovered { attempts, .. } => Told::Recovered(attempts),
            Event::Stopped {
                reason, attempts, ..
            } => Told::Stopped(reason, attempts),
            Event::Breaker {
                from, to, open_for, ..
            } => Told::Breaker(from, to, open_for),
            _ => return,
        };
        self.told.lock().unwrap().push(told);
        if let Told::Retry(_) = told {
            self.meddle();
        }
    }
}

/// A retrier with all of its probes.
pub struct World {
    pub retrier: Retrier,
    pub clock: FakeSleeper,
    pub ledger: Arc<Ledger>,
    meddler: Meddler,
}

impl World {
    /// On a clock that jumps to the end of every wait.
    pub fn new(policy: Policy) -> Self {
        Self::on(&FakeSleeper::auto(), policy)
    }

    /// On this clock, with a ledger of 1000 tokens in place of the policy's budget.
    pub fn on(clock: &FakeSleeper, policy: Policy) -> Self {
        Self::paying(clock, policy, 1000)
    }

    pub fn paying(clock: &FakeSleeper, policy: Policy, tokens: u32) -> Self {
        let ledger = Ledger::of(tokens);
        let budget: Arc<dyn RetryBudget> = ledger.clone();
        Self::build(clock, policy, ledger, Some(budget))
    }

    /// With the policy's own budget; the ledger stays untouched.
    pub fn with_own_budget(clock: &FakeSleeper, policy: Policy) -> Self {
        Self::build(clock, policy, Ledger::of(0), None)
    }

    fn build(
        clock: &FakeSleeper,
        policy: Policy,
        ledger: Arc<Ledger>,
        budget: Option<Arc<dyn RetryBudget>>,
    ) -> Self {
        let meddler = Meddler::default();
        let builder = policy
            .builder()
            .sleeper(clock.clone())
            .observer(meddler.clone())
            .seed(Seed::fixed(7))
            .count_demand();
        let builder = match budget {
            Some(budget) => builder.retry_budget(budget),
            None => builder,
        };
        Self {
            retrier: builder.build().expect("a valid policy"),
            clock: clock.clone(),
            ledger,
            meddler,
        }
    }

    /// What happens when the next wait before a retry begins.
    pub fn in_next_wait(&self, meddle: impl FnOnce(&Retrier) + Send + 'static) {
        let retrier = self.retrier.clone();
        let meddle = Box::new(move || meddle(&retrier));
        *self.meddler.in_wait.lock().unwrap() = Some(meddle);
    }

    pub fn told(&self) -> Vec<Told> {
        self.meddler.told.lock().unwrap().clone()
    }

    /// The changes of the breaker's state.
    pub fn breaker_told(&self) -> Vec<(State, State, Option<Duration>)> {
        let change = |told| match told {
            Told::Breaker(from, to, open_for) => Some((from, to, open_for)),
            _ => None,
        };
        self.told().into_iter().filter_map(change).collect()
    }

    pub fn state(&self) -> State {
        self.retrier.breaker_state().expect("a breaker")
    }

    pub fn now(&self) -> Duration {
        self.clock.now().since(Instant::ZERO)
    }

    /// A call of one attempt that fails, or succeeds.
    pub fn one(&self, answer: Result<u32, Fault>) -> Result<u32, Stop> {
        let mut options = CallOptions::new();
        options.attempts = Some(1);
        in_blocking_engine(self, &options, &|_| answer)
    }

    /// Asserts that nothing is held.
    #[track_caller]
    pub fn assert_idle(&self, context: &str) {
        assert_eq!(self.retrier.waiting(), 0, "{context}: waiting");
        let in_flight = self.retrier.in_flight().unwrap_or(0);
        assert_eq!(in_flight, 0, "{context}: in flight");
    }
}

/// Opens after so many failures in a row, for exactly a second, then two, then four.
pub fn consecutive(failures: u32) -> Breaker {
    Breaker::consecutive(failures)
        .open(SECOND)
        .jitter(0.0)
        .successes(1)
}

/// 100 ms between attempts, and this breaker.
pub fn broken_by(breaker: Breaker) -> Policy {
    fixed(100 * MS).breaker(breaker)
}

/// How a call stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    pub reason: StopReason,
    pub attempts: u32,
    pub next_probe: Option<Duration>,
}

impl From<GaveUp<Fault>> for Stop {
    fn from(gave_up: GaveUp<Fault>) -> Self {
        Self {
            reason: gave_up.reason(),
            attempts: gave_up.attempts(),
            next_probe: gave_up.next_probe(),
        }
    }
}

pub fn stop(reason: StopReason, attempts: u32) -> Stop {
    Stop {
        reason,
        attempts,
        next_probe: None,
    }
}

pub fn broken(attempts: u32, next_probe: Duration) -> Stop {
    Stop {
        next_probe: Some(next_probe),
        ..stop(StopReason::BreakerOpen, attempts)
    }
}

pub type Operation<'a> = &'a dyn Fn(Attempt) -> Result<u32, Fault>;

/// One way to make a call.
pub type Driver = fn(&World, &CallOptions, Operation<'_>) -> Result<u32, Stop>;

pub const DRIVERS: [(&str, Driver); 5] = [
    ("async", in_async_engine),
    ("blocking", in_blocking_engine),
    ("loop", in_async_loop),
    ("blocking loop", in_blocking_loop),
    ("sans-IO", sans_io),
];

/// Those that tell an observer.
pub fn engines() -> impl Iterator<Item = (&'static str, Driver)> {
    DRIVERS.into_iter().filter(|(name, _)| *name != "sans-IO")
}

macro_rules! with_options {
    ($call:expr, $options:expr) => {{
        let call = $call.operation($options.operation);
        let call = call.priority($options.priority);
        let call = match $options.attempts {
            Some(attempts) => call.attempts(attempts),
            None => call,
        };
        match $options.deadline {
            Some(deadline) => call.deadline(deadline),
            None => call,
        }
    }};
}

fn in_async_engine(
    world: &World,
    options: &CallOptions,
    operation: Operation<'_>,
) -> Result<u32, Stop> {
    let call = world
        .retrier
        .retry(|attempt| async move { operation(attempt) });
    Ok(ready(with_options!(call, options))?)
}

fn in_blocking_engine(
    world: &World,
    options: &CallOptions,
    operation: Operation<'_>,
) -> Result<u32, Stop> {
    let call = world.retrier.blocking(operation);
    Ok(with_options!(call, options).call()?)
}

fn in_async_loop(
    world: &World,
    options: &CallOptions,
    operation: Operation<'_>,
) -> Result<u32, Stop> {
    ready(async {
        let mut call = world.retrier.call().options(*options);
        while let Some(attempt) = call.next().await {
            match operation(attempt) {
                Ok(answer) => return Ok(call.success(answer)),
                Err(fault) => call.failure(fault),
            }
        }
        Err(call.gave_up().into())
    })
}

fn in_blocking_loop(
    world: &World,
    options: &CallOptions,
    operation: Operation<'_>,
) -> Result<u32, Stop> {
    let mut call = world.retrier.call().options(*options);
    while let Some(attempt) = call.next_blocking() {
        match operation(attempt) {
            Ok(answer) => return Ok(call.success(answer)),
            Err(fault) => call.failure(fault),
        }
    }
    Err(call.gave_up().into())
}

/// As a driver of another kind, such as a simulator, would.
fn sans_io(world: &World, options: &CallOptions, operation: Operation<'_>) -> Result<u32, Stop> {
    let clock = &world.clock;
    let mut random = world.retrier.random();
    let mut call = Call::begin(&world.retrier, *options, Scope::NONE, clock.now());
    let stopped = |call: &Call<&Retrier>, reason| Stop {
        reason,
        attempts: call.attempt_number(),
        next_probe: call.next_probe().map(|at| at.since(clock.now())),
    };
    loop {
        let attempt = match call.poll_start(clock.now(), Waker::noop(), &mut random) {
            Ok(Start::Go(attempt)) => attempt,
            Ok(Start::Wait(until)) => {
                assert_ne!(until, Instant::NEVER, "nobody would wake it");
                clock.advance(until.since(clock.now()));
                continue;
            }
            Ok(other) => panic!("{other:?}"),
            Err(reason) => return Err(stopped(&call, reason)),
        };
        let answer = operation(attempt);
        let verdict = match answer {
            Ok(_) => Verdict::Success,
            Err(Fault(failure)) => Verdict::Failure(failure),
        };
        match call.on_outcome(clock.now(), verdict, &mut random) {
            Decision::Done => return answer.map_err(|_| unreachable!()),
            Decision::RetryIn(delay) => {
                world.meddler.meddle();
                clock.advance(delay);
            }
            Decision::Stop(reason) => return Err(stopped(&call, reason)),
            other => panic!("{other:?} after a failure"),
        }
    }
}

/// Counts how often an operation is invoked, and answers the same every time.
pub struct Counted {
    pub answer: Result<u32, Fault>,
    pub times: Cell<u32>,
}

impl Counted {
    pub fn new(answer: Result<u32, Fault>) -> Self {
        Self {
            answer,
            times: Cell::new(0),
        }
    }

    pub fn serve(&self) -> Result<u32, Fault> {
        self.times.set(self.times.get() + 1);
        self.answer
    }
}

pub const DEFAULT: CallOptions = CallOptions::new();
