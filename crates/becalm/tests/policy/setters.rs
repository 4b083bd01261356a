//! What does a setter set, and what does `None` clear? And what is set by default?

use std::time::Duration;

use becalm::rate::AdaptiveRate;
use becalm::{Breaker, Budget, Bulkhead, Hedge, Jitter, Policy, Throttle};

const MS: Duration = Duration::from_millis(1);

/// Where a struct may grow, its fields cannot be written down from outside.
#[test]
fn c12_what_may_grow_is_set_field_by_field() {
    use becalm::budget::{Concurrency, Grpc, PerMinute, Ratio, Tokens, Window};
    use becalm::{Operation, call::CallOptions, throttle::Priority};

    let tokens = Tokens::default().capacity(100).cost(10).throttled_cost(3);
    let tokens = tokens.refund_last(false).clean_success(2);
    assert_eq!(
        Budget::Tokens(tokens).to_string(),
        "tokens:100,cost:10,throttled:3,refund:none,clean:2"
    );
    let ratio = Ratio::default().ratio(0.2).burst(5.0).floor_per_second(1.0);
    assert_eq!(
        Budget::Ratio(ratio),
        Budget::ratio(0.2).burst(5.0).floor_per_second(1.0)
    );
    let grpc = Grpc::default().max_tokens(7).token_ratio(0.5);
    assert_eq!(Budget::Grpc(grpc), Budget::grpc(7, 0.5));
    let window = Window::default()
        .share(0.1)
        .ttl(2000 * MS)
        .floor_per_second(3.0);
    assert_eq!(Budget::Window(window), Budget::window(0.1, 2000 * MS, 3.0));
    let concurrency = Concurrency::default().share(0.5).floor(9);
    assert_eq!(
        Budget::Concurrency(concurrency),
        Budget::concurrency(0.5, 9)
    );
    assert_eq!(
        Budget::PerMinute(PerMinute::default().retries(6)),
        Budget::per_minute(6)
    );

    let options = CallOptions::new()
        .operation(Operation::NotIdempotent)
        .attempts(2);
    let options = options.deadline(MS).priority(Priority::Sheddable);
    assert_eq!((options.attempts, options.deadline), (Some(2), Some(MS)));
    assert_eq!(options.operation, Operation::NotIdempotent);
    assert_eq!(options.priority, Priority::Sheddable);
    assert_eq!(options.attempts(None).deadline(None).attempts, None);
}

#[test]
fn c12_none_clears_what_a_setter_has_set() {
    let set = Policy::default()
        .deadline(MS)
        .attempt_timeout(MS)
        .throttled_base(MS)
        .max_waiting(1)
        .throttle(Throttle::default())
        .rate(AdaptiveRate::cubic())
        .hedge(Hedge::after(MS))
        .bulkhead(Bulkhead::calls(1))
        .breaker(Breaker::consecutive(5).slow(MS).slow(None));
    assert_eq!(set.breaker, Some(Breaker::consecutive(5)));
    let cleared = set
        .deadline(None)
        .attempt_timeout(None)
        .throttled_base(None)
        .max_waiting(None)
        .throttle(None)
        .rate(None)
        .hedge(None)
        .bulkhead(None)
        .breaker(None);
    assert_eq!(cleared, Policy::default());

    assert_eq!(Policy::default().budget(None).budget, Budget::None);
    let kept = Policy::default().budget(Some(Budget::per_minute(3)));
    assert_eq!(kept.budget, Budget::per_minute(3));
}

#[test]
fn the_default_is_what_the_documentation_promises() {
    let policy = Policy::default();
    assert_eq!(policy.attempts, 4);
    assert_eq!(policy.base, 100 * MS);
    assert_eq!((policy.multiplier, policy.cap), (2.0, 20_000 * MS));
    assert_eq!(policy.max_hint, 60_000 * MS);
    assert_eq!(policy.jitter, Jitter::Full);
    assert_eq!(
        policy.budget,
        Budget::ratio(0.1).burst(Duration::from_secs(5))
    );
    assert_eq!(policy.floor, Duration::ZERO);
    assert_eq!((policy.deadline, policy.attempt_timeout), (None, None));
}
