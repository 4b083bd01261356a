//! Is everything on one builder chain, in the fixed order, and readable as a sentence?

use becalm::breaker::Span;
use becalm::bulkhead::Order;
use becalm::run::Stopped;
use becalm::time::FakeSleeper;
use becalm::{
    Breaker, Budget, Bulkhead, Classify, GaveUp, Hedge, Jitter, Policy, Retrier, Throttle,
    rate::AdaptiveRate,
};

use crate::probe::{Fault, MS, SECOND};
use crate::world::DRIVERS;

/// All that there is, in no order.
fn everything() -> Policy {
    Policy::exponential(100 * MS)
        .breaker(Breaker::share(0.5, Span::Time(10 * SECOND)).slow(SECOND))
        .attempt_timeout(2 * SECOND)
        .hedge(Hedge::after(50 * MS))
        .bulkhead(
            Bulkhead::calls(50)
                .waiting(100)
                .max_wait(SECOND)
                .order(Order::Lifo),
        )
        .budget(Budget::ratio(0.2).and(Budget::per_minute(60)))
        .throttle(Throttle::accepts(2.0))
        .rate(AdaptiveRate::cubic().max_wait(5 * SECOND))
        .max_waiting(1000)
        .jitter(Jitter::Equal)
        .throttled_base(SECOND)
        .deadline(30 * SECOND)
}

const SENTENCE: &str = "deadline 30s, then throttle (accepts:2,within:2m), then rate \
    (cubic,max-wait:5s), then retry (4 attempts, exponential from 100ms x 2 (1s when throttled), \
    cap 20s, equal jitter, budget ratio:0.2,burst:5s,min:10,floor:10/h + per-minute:60, 1000 waiting at once), then \
    hedge (after:50ms,copies:1), then bulkhead (calls:50,waiting:100,max-wait:1s,order:lifo), then \
    breaker (share:0.5,within:10s,min:20,slow:1s,open:5s), then attempt timeout 2s, then the operation";

#[test]
fn the_sentence_names_all_of_it_in_the_order_of_protection() {
    assert_eq!(everything().to_string(), SENTENCE);
    let builder = everything()
        .builder()
        .name("orders")
        .sleeper(FakeSleeper::new());
    let retrier = builder.build().expect("a valid policy");
    assert_eq!(retrier.to_string(), format!("orders: {SENTENCE}"));
    retrier
        .replace_policy(Policy::fixed(SECOND).attempts(1))
        .expect("a valid policy");
    assert_eq!(retrier.to_string(), "orders: no retry, then the operation");
}

#[test]
fn with_everything_on_calls_succeed_and_fail_in_every_driver() {
    for (driver, drive) in DRIVERS {
        let world = crate::world::World::new(everything());
        let options = crate::world::DEFAULT;
        assert_eq!(drive(&world, &options, &|_| Ok(17)), Ok(17), "{driver}");
        let recovers = drive(&world, &options, &|attempt| {
            if attempt.number() < 4 {
                Err(Fault::DOWN)
            } else {
                Ok(17)
            }
        });
        assert_eq!(recovers, Ok(17), "{driver}");
        let gone = drive(&world, &options, &|_| Err(Fault::GONE)).unwrap_err();
        assert_eq!(gone.attempts, 1, "{driver}");
        world.assert_idle(driver);
    }
}

/// What a success carries is one word beside the operation's own error.
#[test]
fn a_give_up_is_one_word_beside_the_error_and_can_be_sent() {
    fn sent<T: Send + Sync + 'static>() {}
    sent::<Retrier>();
    sent::<GaveUp<Fault>>();
    assert_eq!(size_of::<Stopped>(), size_of::<usize>());
    let both = size_of::<Option<Fault>>() + size_of::<usize>();
    assert_eq!(size_of::<GaveUp<Fault>>(), both);
    assert_eq!(size_of::<Result<(), GaveUp<Fault>>>(), both);
    let clonable = |retrier: &Retrier| retrier.clone();
    let retrier = everything().retrier().expect("a valid policy");
    assert_eq!(clonable(&retrier).policy(), everything());
    let isolated = everything()
        .breaker(crate::world::consecutive(1))
        .retrier()
        .expect("valid");
    clonable(&isolated).isolate();
    let refused = isolated
        .retry_blocking(|_| Ok::<u32, Fault>(17))
        .unwrap_err();
    assert!(refused.classify().hint.is_some(), "clones share the guards");
}
