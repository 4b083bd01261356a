//! What does a call cost that succeeds at once? No allocation, no timer, and a look at the clock
//! only where something wants to know; the time is judged by `bench/`.
#![cfg(feature = "std")]

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use becalm::breaker::Span;
use becalm::policy::Mode;
use becalm::time::FakeSleeper;
use becalm::{
    Breaker, Budget, Bulkhead, Classify, Event, Failure, Hedge, Observer, Policy, Retrier,
    Throttle, rate::AdaptiveRate,
};

#[derive(Debug)]
struct Never;

impl std::fmt::Display for Never {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("never")
    }
}

impl Classify for Never {
    fn classify(&self) -> Failure {
        Failure::permanent()
    }
}

fn succeed_async(retrier: &Retrier) {
    let mut call = pin!(retrier.retry(|attempt| async move { Ok::<_, Never>(attempt.number()) }));
    let polled = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(polled, Poll::Ready(Ok(1))));
}

fn succeed_blocking(retrier: &Retrier) {
    assert!(matches!(
        retrier.retry_blocking(|_| Ok::<_, Never>(2)),
        Ok(2)
    ));
}

fn succeed_in_a_loop(retrier: &Retrier) {
    let mut call = retrier.call::<Never>();
    assert!(call.next_blocking().is_some());
    assert_eq!(call.success(3), 3);
}

fn succeed_without_an_engine(retrier: &Retrier) {
    let first = retrier.engine().first_attempt();
    let first = first.expect("nothing holds it up");
    assert_eq!(first.attempt().number(), 1);
    first.succeeded();
}

fn succeed(retrier: &Retrier) {
    succeed_without_an_engine(retrier);
    succeed_async(retrier);
    succeed_blocking(retrier);
    succeed_in_a_loop(retrier);
}

fn on(clock: &FakeSleeper, policy: Policy) -> Retrier {
    let builder = policy.builder().sleeper(clock.clone());
    builder.build().expect("a valid policy")
}

fn allocations(retrier: &Retrier) -> u64 {
    succeed(retrier); // what a process does once
    allocation_counter::measure(|| (0..100).for_each(|_| succeed(retrier))).count_total
}

const SECOND: Duration = Duration::from_secs(1);

fn plain() -> Policy {
    Policy::default()
}

/// All that there is at once.
fn whole_stack() -> Policy {
    plain()
        .deadline(30 * SECOND)
        .attempt_timeout(SECOND)
        .throttle(Throttle::accepts(2.0))
        .rate(AdaptiveRate::cubic())
        .hedge(Hedge::at_quantile(0.95))
        .bulkhead(Bulkhead::adaptive().waiting(10))
        .breaker(Breaker::default().slow(SECOND))
        .budget(all_kinds())
        .max_waiting(100)
}

fn all_kinds() -> Budget {
    Budget::ratio(0.1)
        .and(Budget::tokens())
        .and(Budget::grpc(10, 0.1))
        .and(Budget::concurrency(0.2, 3))
        .and(Budget::per_minute(60))
        .and(Budget::window(0.2, 10 * SECOND, 1.0))
}

/// Policies by name, with how often a call that succeeds at once looks at the clock: at its start
/// where something measures it, at its end where something counts by time.
fn policies() -> Vec<(&'static str, Policy, u64)> {
    let breaker = |breaker| plain().breaker(breaker);
    let budget = |budget| plain().budget(budget);
    let timed = plain().deadline(30 * SECOND).attempt_timeout(SECOND);
    vec![
        ("nothing", plain(), 0),
        ("no budget", budget(Budget::None), 0),
        ("only observed", plain().mode(Mode::Observe), 0),
        ("deadline", plain().deadline(30 * SECOND), 1),
        ("attempt timeout", plain().attempt_timeout(SECOND), 1),
        ("time limits", timed.clone(), 1),
        ("breaker in a row", breaker(Breaker::consecutive(5)), 0),
        (
            "breaker by calls",
            breaker(Breaker::share(0.5, Span::Calls(100))),
            0,
        ),
        ("breaker by time", breaker(Breaker::default()), 1),
        (
            "breaker, slow calls",
            breaker(Breaker::consecutive(5).slow(SECOND)),
            2,
        ),
        (
            "breaker by time, slow calls",
            breaker(Breaker::default().slow(SECOND)),
            2,
        ),
        (
            "time limits, breaker by time",
            timed.clone().breaker(Breaker::default()),
            2,
        ),
        ("bulkhead", plain().bulkhead(Bulkhead::calls(9)), 0),
        (
            "bulkhead with a queue",
            plain().bulkhead(Bulkhead::calls(9).waiting(9)),
            0,
        ),
        (
            "adaptive bulkhead",
            plain().bulkhead(Bulkhead::adaptive()),
            2,
        ),
        ("throttle", plain().throttle(Throttle::accepts(2.0)), 2),
        ("rate", plain().rate(AdaptiveRate::cubic()), 2),
        ("hedge", plain().hedge(Hedge::after(SECOND)), 1),
        (
            "hedge at a quantile",
            plain().hedge(Hedge::at_quantile(0.95)),
            2,
        ),
        ("tokens", budget(Budget::tokens()), 0),
        ("grpc", budget(Budget::grpc(10, 0.1)), 0),
        ("concurrency", budget(Budget::concurrency(0.2, 3)), 0),
        ("per minute", budget(Budget::per_minute(60)), 0),
        ("window", budget(Budget::window(0.2, 10 * SECOND, 1.0)), 1),
        (
            "bulkhead, breaker",
            plain()
                .bulkhead(Bulkhead::calls(9))
                .breaker(Breaker::consecutive(5)),
            0,
        ),
        ("the whole stack", whole_stack(), 2),
    ]
}

#[test]
fn a_success_allocates_nothing() {
    for (name, policy, _) in policies() {
        let retrier = on(&FakeSleeper::new(), policy);
        assert_eq!(allocations(&retrier), 0, "{name}");
    }
}

/// What is not configured costs no clock read, and all together costs two.
#[test]
fn a_success_reads_the_clock_only_where_something_wants_to_know() {
    for (name, policy, reads) in policies() {
        let clock = FakeSleeper::new();
        let retrier = on(&clock, policy);
        for (engine, succeed) in [
            ("async", succeed_async as fn(&Retrier)),
            ("blocking", succeed_blocking),
            ("loop", succeed_in_a_loop),
            ("without an engine", succeed_without_an_engine),
        ] {
            succeed(&retrier);
            let before = clock.clock_reads();
            succeed(&retrier);
            assert_eq!(clock.clock_reads() - before, reads, "{name}, {engine}");
        }
    }
}

#[test]
fn a_success_creates_no_timer() {
    for (name, policy, _) in policies() {
        let clock = FakeSleeper::new();
        let retrier = on(&clock, policy);
        succeed(&retrier);
        assert_eq!(clock.slept(), [], "{name}");
    }
}

/// A reload that takes the guards out takes their cost away, too.
#[test]
fn what_is_taken_out_costs_nothing_any_more() {
    let clock = FakeSleeper::new();
    let retrier = on(&clock, whole_stack());
    succeed(&retrier);
    retrier.replace_policy(plain()).expect("a valid policy");
    let before = clock.clock_reads();
    succeed(&retrier);
    assert_eq!(clock.clock_reads(), before);
    assert_eq!(allocations(&retrier), 0);
}

#[test]
fn nor_does_it_allocate_where_demand_is_counted_and_an_observer_looks_on() {
    struct Idle;
    impl Observer for Idle {
        fn on_event(&self, _: &becalm::observe::About<'_>, _: &Event<'_>) {}
    }
    for policy in [plain(), whole_stack()] {
        let builder = policy.builder().sleeper(FakeSleeper::new());
        let retrier = builder.count_demand().observer(Idle).build();
        assert_eq!(allocations(&retrier.expect("a valid policy")), 0);
    }
}
