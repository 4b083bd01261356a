//! Whatever comes, and whenever the dependency is away.

use std::time::Duration;

use becalm::policy::Mode;
use becalm::rng::SplitMix64;
use becalm::time::Instant;
use becalm::{Breaker, Failure, Hint, Policy, StopReason};
use becalm_fleet::consumer::{Consume, Consumer, Delivery, Settle, Take};
use proptest::prelude::*;

use crate::world::{Message, World};

const AGE: u64 = 30_000;

fn consume(attempts: u32) -> Consume {
    let policy = Policy::exponential(Duration::from_millis(50))
        .cap(Duration::from_secs(2))
        .attempts(attempts)
        .deadline(Duration::from_millis(AGE));
    let pause = Breaker::consecutive(3)
        .open(Duration::from_millis(200))
        .open_max(Duration::from_secs(2))
        .successes(1);
    Consume::new(policy).pause(pause)
}

fn messages() -> impl Strategy<Value = Vec<Message>> {
    let message = (0..5_000_u64, 0..4_u8, 0..3_u8).prop_map(|(published, kind, key)| Message {
        published,
        is_poison: kind == 0,
        key: Some(key),
    });
    proptest::collection::vec(message, 1..60)
}

prop_compose! {
    fn worlds()(
        messages in messages(),
        attempts in 2..6_u32,
        consumers in 1..4_usize,
        concurrency in 1..5_usize,
        handling in 1..200_u64,
        outages in proptest::collection::vec((0..8_000_u64, 0..6_000_u64), 0..3),
        seed: u64,
    ) -> World {
        let mut messages = messages;
        if consumers > 1 {
            for message in &mut messages {
                message.key = None;
            }
        }
        World {
            consume: consume(attempts),
            is_ladder: false,
            consumers,
            concurrency,
            handling,
            outages: outages.into_iter().map(|(from, long)| from..from + long).collect(),
            messages,
            until: 200_000,
            seed,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// That no two probes run at once, and nothing beside one that has begun, the world asserts.
    #[test]
    fn every_message_ends_and_keys_stay_in_order(world in worlds()) {
        let histories = world.run();
        let mut handled = Vec::new();
        for (number, (history, message)) in histories.iter().zip(&world.messages).enumerate() {
            prop_assert!(history.ended.is_some(), "{number} is left: {history:?}");
            prop_assert!(!message.is_poison || history.is_dead());
            handled.push((message.key, history.ended.map(|it| it.0), message.published, number));
        }
        handled.sort_by_key(|it| (it.1, it.2, it.3));
        for key in 0..3 {
            let of_key = || handled.iter().filter(|it| it.0 == Some(key)).map(|it| (it.2, it.3));
            prop_assert!(of_key().is_sorted(), "{key}: {:?}", of_key().collect::<Vec<_>>());
        }
    }

    /// Poison keeps no pause up: with an outage shorter than their age, all good messages are handled.
    #[test]
    fn no_good_message_dies_of_an_outage_or_of_poison(world in worlds()) {
        let histories = world.run();
        for (history, message) in histories.iter().zip(&world.messages) {
            // As one outage may charge it once, by what has failed before it.
            let is_charged_enough = history.charged_at.len() >= world.consume.policy.attempts as usize;
            prop_assert!(
                message.is_poison || history.is_handled() || is_charged_enough,
                "{history:?}"
            );
            let charges = world.outages.len();
            prop_assert!(message.is_poison || history.charged_at.len() <= charges, "{history:?}");
        }
    }

    #[test]
    fn an_outage_never_charges_what_has_not_failed_before_it(mut world in worlds()) {
        world.outages.clear();
        world.outages.push(0..10_000);
        for history in world.run() {
            let early = history.charged_at.iter().filter(|at| **at < 10_000);
            prop_assert_eq!(early.count(), 0);
        }
    }

    #[test]
    fn poison_alone_ends_by_its_age(mut world in worlds()) {
        for message in &mut world.messages {
            message.is_poison = true;
        }
        for (history, message) in world.run().iter().zip(&world.messages) {
            prop_assert_eq!(history.charged_at.len(), 0);
            let (at, how) = history.ended.expect("it ends");
            prop_assert_eq!(how, Err(StopReason::DeadlineExceeded));
            // One dies with each probe, and those of one key wait for each other.
            let probes = world.messages.len() as u64;
            prop_assert!(message.key.is_some() || at <= message.published + AGE + probes * 2_200);
        }
    }
}

struct Bench {
    consumer: Consumer,
    random: SplitMix64,
    now: Instant,
}

impl Bench {
    fn new(consume: Consume) -> Self {
        Self {
            consumer: Consumer::new(consume).expect("valid settings"),
            random: SplitMix64::new(7),
            now: Instant::from_nanos(1_000_000_000),
        }
    }

    fn passes(&mut self, millis: u64) {
        self.now = self.now.after(Duration::from_millis(millis));
    }

    fn fails(&mut self, delivery: Delivery, failure: Failure) -> Settle {
        let running = self
            .consumer
            .begin(delivery, self.now)
            .expect("it may begin");
        self.passes(1);
        self.consumer
            .failed(running, self.now, &failure, &mut self.random)
    }

    fn succeeds(&mut self) {
        let running = self
            .consumer
            .begin(Delivery::default(), self.now)
            .expect("it may begin");
        self.passes(1);
        assert_eq!(self.consumer.succeeded(running, self.now), Settle::Ack);
    }
}

fn is_charged(settle: Settle) -> bool {
    match settle {
        Settle::Later { charged, .. } => charged,
        other => panic!("{other:?}"),
    }
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn only_what_began_after_a_failure_and_succeeded_charges_the_next() {
    let mut bench = Bench::new(consume(5));
    let slow = bench
        .consumer
        .begin(Delivery::default(), bench.now)
        .expect("it may begin");
    bench.passes(10);
    assert!(!is_charged(
        bench.fails(Delivery::default(), Failure::transient())
    ));
    bench.passes(10);
    let _ = bench.consumer.succeeded(slow, bench.now); // it had begun before
    let again = |since| Delivery::default().failed(1).since_failed(millis(since));
    assert!(!is_charged(bench.fails(again(10), Failure::transient())));
    bench.succeeds();
    assert!(is_charged(bench.fails(again(12), Failure::transient())));
    let just_now = Delivery::default()
        .failed(2)
        .charged(1)
        .since_failed(millis(0));
    assert!(!is_charged(bench.fails(just_now, Failure::transient())));
}

#[test]
fn what_is_permanent_dies_at_once_and_tells_nothing_of_the_others() {
    let mut bench = Bench::new(consume(5));
    for _ in 0..10 {
        let reason = StopReason::Permanent;
        assert_eq!(
            bench.fails(Delivery::default(), Failure::permanent()),
            Settle::Dead { reason }
        );
        let reason = StopReason::DoNotRetry;
        let stop = Failure::transient().hint(Hint::Stop);
        assert_eq!(
            bench.fails(Delivery::default(), stop),
            Settle::Dead { reason }
        );
    }
    assert_eq!(bench.consumer.next(bench.now), Take::Any);
}

#[test]
fn attempts_count_charged_failures_alone() {
    let mut bench = Bench::new(consume(3));
    bench.succeeds();
    let tried_often = Delivery::default()
        .failed(90)
        .charged(1)
        .since_failed(millis(5));
    assert!(is_charged(bench.fails(tried_often, Failure::transient())));
    bench.succeeds();
    let reason = StopReason::AttemptsExhausted;
    let last = tried_often.charged(2);
    assert_eq!(
        bench.fails(last, Failure::transient()),
        Settle::Dead { reason }
    );
    let fresh = last.since_failed(millis(0));
    assert!(!is_charged(bench.fails(fresh, Failure::transient())));
}

#[test]
fn a_hint_is_a_floor_of_the_delay_and_of_the_pause() {
    let mut bench = Bench::new(consume(5));
    let throttled = Failure::throttled().retry_after(millis(7_000));
    for _ in 0..2 {
        match bench.fails(Delivery::default(), throttled) {
            Settle::Later { delay, .. } => assert!(delay >= millis(7_000)),
            other => panic!("{other:?}"),
        }
    }
    let Settle::Pause { pause, delay } = bench.fails(Delivery::default(), throttled) else {
        panic!("three in a row");
    };
    assert_eq!(pause, delay);
    assert!(
        pause >= millis(7_000) && pause <= millis(7_700),
        "{pause:?}"
    );
    let until = bench.now.after(pause);
    assert_eq!(bench.consumer.next(bench.now), Take::NotBefore(until));
    assert!(
        bench
            .consumer
            .begin(Delivery::default(), bench.now)
            .is_none()
    );
    bench.now = until;
    assert_eq!(bench.consumer.next(bench.now), Take::One);
}

#[test]
fn a_probe_runs_alone_and_a_success_ends_the_pause() {
    let mut bench = Bench::new(consume(5));
    let beside = bench
        .consumer
        .begin(Delivery::default(), bench.now)
        .expect("it may begin");
    let mut pauses = Vec::new();
    for _ in 0..2 {
        let _ = bench.fails(Delivery::default(), Failure::transient());
    }
    for _ in 0..6 {
        let Settle::Pause { pause, .. } = bench.fails(Delivery::default(), Failure::transient())
        else {
            panic!("it is down");
        };
        pauses.push(pause.as_millis());
        bench.now = bench.now.after(pause);
    }
    // 200 ms, doubling up to 2 s, half of each drawn.
    let ceilings = [200, 400, 800, 1_600, 2_000, 2_000];
    for (pause, ceiling) in pauses.iter().zip(ceilings) {
        assert!((ceiling / 2..=ceiling).contains(pause), "{pauses:?}");
    }
    // What began before the pause proves nothing.
    let _ = bench.consumer.succeeded(beside, bench.now);
    assert_eq!(bench.consumer.next(bench.now), Take::One);
    let probe = bench
        .consumer
        .begin(Delivery::default(), bench.now)
        .expect("a probe");
    assert!(probe.is_probe());
    // However long it takes: longer than any pause.
    bench.passes(1_000_000);
    assert_eq!(bench.consumer.next(bench.now), Take::AfterProbe);
    assert!(
        bench
            .consumer
            .begin(Delivery::default(), bench.now)
            .is_none()
    );
    bench.consumer.released(probe);
    assert_eq!(bench.consumer.next(bench.now), Take::One);
    bench.succeeds();
    assert_eq!(bench.consumer.next(bench.now), Take::Any);
}

/// A weekend and a day: Friday's evening to Tuesday's.
#[test]
fn by_default_a_message_outlives_a_long_weekend() {
    let mut bench = Bench::new(Consume::default());
    let hours = |hours: u64| {
        Delivery::default()
            .failed(40)
            .age(Duration::from_secs(hours * 3600))
    };
    assert!(!is_charged(bench.fails(hours(90), Failure::transient())));
    let reason = StopReason::DeadlineExceeded;
    assert_eq!(
        bench.fails(hours(96), Failure::transient()),
        Settle::Dead { reason }
    );
}

#[test]
fn settings_that_are_refused_name_the_field() {
    let no_attempts = Consume::new(Policy::default().attempts(0));
    assert_eq!(Consumer::new(no_attempts).unwrap_err().field(), "attempts");
    let observes = Consume::new(Policy::default().mode(Mode::Observe));
    assert!(observes.validate().is_err());
    assert_eq!(Consumer::new(observes).unwrap_err().field(), "mode");
    let no_row = Consume::default().pause(Breaker::consecutive(0));
    assert_eq!(Consumer::new(no_row).unwrap_err().field(), "breaker");
}

#[test]
fn what_failed_while_others_succeeded_neither_makes_nor_keeps_a_pause() {
    let mut bench = Bench::new(consume(5));
    bench.succeeds();
    let poison = || {
        Delivery::default()
            .failed(2)
            .charged(1)
            .since_failed(millis(0))
    };
    for _ in 0..10 {
        assert!(!is_charged(bench.fails(poison(), Failure::transient())));
    }
    assert_eq!(bench.consumer.next(bench.now), Take::Any);
    for _ in 0..3 {
        let _ = bench.fails(Delivery::default(), Failure::transient());
    }
    bench.passes(200);
    // In place of the probe that it was, another goes at once.
    assert!(!is_charged(bench.fails(poison(), Failure::transient())));
    assert_eq!(bench.consumer.next(bench.now), Take::One);
    bench.succeeds();
    assert_eq!(bench.consumer.next(bench.now), Take::Any);
}
