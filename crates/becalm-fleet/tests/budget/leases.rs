//! What does a process do that leases its retries, step by step?

use std::convert::Infallible;
use std::future::ready;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::Duration;

use becalm::budget::{InvalidBudget, Kind, RetryBudget};
use becalm::rng::{Seed, SplitMix64};
use becalm::time::FakeSleeper;
use becalm::{Budget, Failure, Policy, StopReason, time::Instant};
use becalm_fleet::budget::{
    Alone, Answer, Bucket, Exchange, Exchanges, Fleet, FleetBudget, InvalidFleet, Step, Store,
};

/// One process on its own, at milliseconds of its clock.
struct Lone {
    fleet: Fleet,
    budget: FleetBudget,
    exchanges: Exchanges,
    bucket: Bucket,
}

impl Lone {
    fn of(fleet: Fleet) -> Self {
        let budget = FleetBudget::new(fleet).expect("a valid fleet");
        let exchanges = budget.exchanges(SplitMix64::new(7), Instant::ZERO);
        Self {
            fleet,
            budget,
            exchanges,
            bucket: Bucket::default(),
        }
    }

    fn poll(&mut self, millis: u64) -> Option<Exchange> {
        match self.exchanges.poll(&self.budget, at(millis)) {
            Step::Send(exchange) => Some(exchange),
            _ => None,
        }
    }

    /// Exchanges with a store that is a thousand others' too, and tells what was exchanged.
    fn exchange(&mut self, millis: u64) -> Option<(Exchange, Answer)> {
        let exchange = self.poll(millis)?;
        let answer = self.bucket.exchange(&self.fleet, millis * 1000, &exchange);
        let sequence = exchange.sequence;
        self.exchanges
            .answered(&self.budget, at(millis), sequence, answer);
        Some((exchange, answer))
    }

    fn retries(&self, wanted: u32) -> u32 {
        let granted = |_: &u32| self.budget.withdraw(Instant::ZERO, &Failure::transient());
        let granted = (0..wanted).filter(|it| granted(it).is_some());
        u32::try_from(granted.count()).expect("few")
    }

    fn succeed(&self, times: u32) {
        for _ in 0..times {
            self.budget.deposit(Instant::ZERO);
        }
    }
}

fn at(millis: u64) -> Instant {
    Instant::ZERO.after(Duration::from_millis(millis))
}

fn hundred() -> Fleet {
    Fleet::new(Budget::ratio(0.1).burst(100.0).floor_per_second(0.0))
}

/// Equal to the last digit: nothing but whole tokens and tenths is added.
fn assert_tokens(bucket: &Bucket, expected: f64) {
    assert!((bucket.tokens() - expected).abs() < 1e-9, "{bucket:?}");
}

#[test]
fn what_is_exchanged_twice_is_counted_once_and_what_was_overtaken_not_at_all() {
    let fleet = hundred();
    let mut lone = Lone::of(fleet);
    lone.succeed(500);
    lone.retries(10);
    let first = lone.poll(1000).expect("it is due");
    assert_eq!(first.earned, 500);
    let mut bucket = Bucket::default();
    let answer = bucket.exchange(&fleet, 17, &first);
    assert_tokens(&bucket, 10.0 + 50.0 - f64::from(answer.granted));
    assert!(
        answer.granted > 0 && answer.granted == first.ask,
        "{first:?} {answer:?}"
    );
    let again = bucket.exchange(&fleet, 18, &first);
    assert_eq!((again.granted, again.instances), (answer.granted, 1));
    assert_tokens(&bucket, 60.0 - f64::from(answer.granted));

    let second = lone.poll(3100).expect("the first was not answered");
    assert_eq!(second.earned, 0, "it was reported, answered or not");
    let after = bucket.exchange(&fleet, 19, &second);
    let overtaken = bucket.exchange(&fleet, 20, &first);
    assert_eq!(overtaken.granted, 0);
    let again = bucket.exchange(&fleet, 21, &second);
    assert_eq!(again.granted, after.granted, "it still knows the last");
}

#[test]
fn a_bucket_without_a_past_holds_a_tenth_and_never_more_than_the_burst() {
    let fleet = Fleet::new(Budget::ratio(0.1).burst(100.0).floor_per_second(2.0));
    let mut lone = Lone::of(fleet);
    lone.succeed(5);
    let (exchange, answer) = lone.exchange(1000).expect("it is due");
    assert_eq!(
        (exchange.ask, answer.granted),
        (0, 0),
        "it has its one token"
    );
    assert_tokens(&lone.bucket, 10.5);
    lone.exchange(3000).expect("it is due");
    assert_tokens(&lone.bucket, 14.5);
    lone.succeed(5000);
    lone.exchange(5000).expect("it is due");
    assert_tokens(&lone.bucket, 100.0);
}

#[test]
fn one_exchange_takes_no_more_than_its_part_of_the_bucket() {
    let mut lone = Lone::of(hundred().part(0.25));
    lone.succeed(10_000);
    lone.retries(1000);
    let (exchange, answer) = lone.exchange(1000).expect("it is due");
    assert!(exchange.ask > 100, "{exchange:?}");
    assert_eq!(answer.granted, 25);
    assert_eq!(lone.retries(1000), 25);
    // Of what is less than one token nothing.
    let mut bucket = Bucket::default();
    let dry = hundred().part(1.0);
    assert_eq!(bucket.exchange(&dry, 1, &exchange).granted, 100);
}

#[test]
fn a_refusal_brings_an_exchange_soon_but_not_before_the_gap() {
    let mut lone = Lone::of(hundred());
    lone.succeed(1000);
    let first = (0..1100).find(|millis| lone.exchange(*millis).is_some());
    let first = first.expect("within a period");
    // Nothing was refused: a period later.
    let second = (first..first + 2000).find(|millis| lone.exchange(*millis).is_some());
    let second = second.expect("it goes on");
    assert!((900..=1100).contains(&(second - first)), "{first} {second}");
    // Refused when the gap is over.
    assert_eq!(lone.retries(2), 1);
    let early = second + 750;
    for millis in second + 700..early {
        assert_eq!(lone.poll(second), None, "{millis}");
    }
    let third = (second..second + 2000).find(|millis| lone.exchange(*millis).is_some());
    let third = third.expect("it goes on");
    assert!((700..=760).contains(&(third - second)), "{second} {third}");
}

#[test]
fn what_nobody_uses_of_a_lease_runs_out_in_a_straight_line() {
    let mut lone = Lone::of(hundred());
    lone.succeed(1000);
    lone.retries(100);
    let (_, answer) = lone.exchange(1000).expect("it is due");
    assert_eq!(answer.granted, 50, "half of the bucket");
    // Of 49 and one in 1.1 s, looked at as often as it asks to be.
    let mut now = at(1000);
    let mut before = 50.0;
    let exchange = loop {
        let next = match lone.exchanges.poll(&lone.budget, now) {
            Step::WaitUntil(next) => next,
            Step::Send(exchange) => break exchange,
            _ => unreachable!("there are two steps"),
        };
        let held = lone.budget.gauges().held;
        let left = 1.0 - now.since(at(1000)).as_secs_f64() / 1.1;
        assert!(held <= 1.0 + 49.0 * left + 1e-6, "{held} at {now:?}");
        assert!(held >= before - 5.0 && next > now, "a little at a time");
        (before, now) = (held, next);
    };
    assert!(before < 20.0, "{before}");
    assert!(exchange.returned >= 30, "{exchange:?}");
}

#[test]
fn who_is_granted_much_is_back_soon() {
    // It hears of a hundred others, and a part of the burst is one.
    let after = |granted: u32| {
        let mut lone = Lone::of(hundred());
        lone.retries(40);
        let sequence = lone.poll(1000).expect("it is due").sequence;
        let answer = Answer::new(0, 100, 0, 0);
        lone.exchanges
            .answered(&lone.budget, at(1000), sequence, answer);
        lone.retries(40);
        let sequence = lone.poll(2200).expect("it is due").sequence;
        let answer = Answer::new(granted, 100, 0, 0);
        lone.exchanges
            .answered(&lone.budget, at(2200), sequence, answer);
        (2200..4000).find(|millis| lone.poll(*millis).is_some())
    };
    let (few, many) = (after(2).expect("again"), after(3).expect("again"));
    assert!((2900..=3300).contains(&few), "a period later, not {few}");
    assert_eq!(many, 2500, "three tenths of a period later");
}

#[test]
fn alone_and_safe_it_lives_on_what_it_holds_and_what_it_earns_and_reports_nothing_of_that() {
    let mut lone = Lone::of(hundred());
    lone.succeed(300);
    lone.retries(10);
    let (_, answer) = lone.exchange(1000).expect("it is due");
    assert_eq!(answer.granted, 20, "{answer:?}");
    assert_eq!(lone.budget.gauges().alone, None);
    assert!(lone.poll(2200).is_some(), "into the void");
    assert!(lone.poll(3999).is_none(), "it is out for two periods");
    assert_eq!(lone.budget.gauges().alone, None);
    lone.poll(4000);
    let gauges = lone.budget.gauges();
    assert_eq!(
        (gauges.alone, gauges.instances),
        (Some(Alone::Safe), Some(1))
    );
    assert_eq!(lone.retries(50), 1, "its lease has run out");
    assert!(lone.poll(4200).is_some(), "into the void");
    lone.succeed(25);
    assert_eq!(lone.retries(50), 2);
    lone.succeed(35);
    let (exchange, _) = lone.exchange(6300).expect("the store is back");
    assert_eq!(exchange.earned, 0);
    assert_eq!(lone.budget.gauges().alone, None);
    let held = lone.budget.gauges().held;
    let granted = f64::from(exchange.ask.min(100));
    assert!(held >= 3.0 && held <= 4.0 + granted, "{held}");
}

#[test]
fn alone_and_well_it_saves_no_part_of_the_burst() {
    let mut lone = Lone::of(hundred());
    lone.retries(10);
    lone.exchange(1000).expect("it is due");
    for second in [3, 5, 7, 9, 11, 13] {
        lone.succeed(1000);
        lone.poll(second * 1000).expect("into the void");
    }
    assert_eq!(lone.budget.gauges().alone, Some(Alone::Safe));
    lone.succeed(1000);
    assert_eq!(lone.retries(50), 1, "and not a hundred");
    // Where it is not well, it keeps what it wants.
    lone.poll(15_000).expect("into the void");
    lone.succeed(1000);
    assert_eq!(lone.retries(50), 26, "in a period");
}

#[test]
fn a_store_that_was_emptied_knows_few_and_that_does_not_raise_their_part() {
    let mut lone = Lone::of(hundred());
    let memory = 30_000;
    let alone_after = |lone: &mut Lone, from: u64, instances: &[u32]| {
        let mut now = from;
        for instances in instances {
            lone.retries(40);
            now += 1200;
            let sequence = lone.poll(now).expect("it is due").sequence;
            let answer = Answer::new(0, *instances, 0, 0);
            lone.exchanges
                .answered(&lone.budget, at(now), sequence, answer);
        }
        lone.poll(now + 1200);
        lone.retries(40);
        lone.poll(now + 4000);
        assert_eq!(lone.budget.gauges().alone, Some(Alone::Safe));
        lone.succeed(1000);
        lone.retries(40)
    };
    assert_eq!(alone_after(&mut lone, 0, &[100, 1, 2]), 1);
    assert_eq!(alone_after(&mut lone, memory, &[1, 1]), 1);
    // A memory later it is believed.
    assert_eq!(alone_after(&mut lone, 2 * memory, &[1, 1]), 15);
}

#[test]
fn a_few_retries_before_the_first_exchange_are_no_rate() {
    let mut lone = Lone::of(hundred());
    lone.retries(5);
    let first = (0..10_000).find_map(|seed| {
        let exchanges = lone.budget.exchanges(SplitMix64::new(seed), Instant::ZERO);
        lone.exchanges = exchanges;
        lone.poll(4)
    });
    let first = first.expect("one is due at once");
    assert_eq!(first.ask, 21, "twice ten in a period, and not a thousand");
}

#[test]
fn alone_it_retries_without_bound_or_not_at_all_if_told_so() {
    for (alone, expected) in [(Alone::Open, 50), (Alone::Closed, 0)] {
        let mut lone = Lone::of(hundred().alone(alone));
        lone.poll(500);
        lone.poll(3000);
        assert_eq!(lone.budget.gauges().alone, Some(alone));
        assert_eq!(
            lone.retries(50),
            if alone == Alone::Open { 50 } else { expected }
        );
    }
}

#[test]
fn a_process_that_never_heard_of_a_store_has_one_token_and_its_own_ratio() {
    let mut lone = Lone::of(hundred());
    lone.poll(999);
    lone.poll(3000);
    assert_eq!(lone.retries(50), 1);
    lone.succeed(100);
    assert_eq!(lone.retries(50), 1, "a burst of one, not of the fleet");
}

#[test]
fn first_tries_earn_where_they_are_to() {
    let of = |budget: Budget| {
        let mut lone = Lone::of(Fleet::new(budget.burst(100.0)));
        for _ in 0..7 {
            lone.budget.first_try(Instant::ZERO);
        }
        lone.succeed(3);
        lone.poll(1000).expect("it is due").earned
    };
    assert_eq!(of(Budget::first_tries(0.1)), 7);
    assert_eq!(of(Budget::ratio(0.1)), 3);
}

#[test]
fn a_retry_that_never_starts_gives_its_token_back() {
    let lone = Lone::of(hundred());
    let token = lone.budget.withdraw(Instant::ZERO, &Failure::transient());
    assert_eq!(lone.retries(1), 0);
    lone.budget.refund(token.expect("its one"));
    assert_eq!(lone.retries(9), 1);
    assert_eq!(lone.budget.gauges().denied, 9);
}

#[test]
fn who_has_not_been_heard_of_for_ten_leases_is_forgotten() {
    let fleet = hundred();
    let mut bucket = Bucket::default();
    let mut seen = 0;
    for process in 0..20_u64 {
        let mut lone = Lone::of(fleet);
        lone.exchanges = lone
            .budget
            .exchanges(SplitMix64::new(process), Instant::ZERO);
        let exchange = lone.poll(1000).expect("it is due");
        seen = bucket
            .exchange(&fleet, process * 2_000_000, &exchange)
            .instances;
    }
    assert_eq!(seen, 16, "within the last 30 s, and the one from then");
}

#[test]
fn a_fleet_that_cannot_be_is_refused() {
    let second = Duration::from_secs(1);
    for (fleet, reason) in [
        (Fleet::new(Budget::per_minute(60)), InvalidFleet::Kind),
        (Fleet::new(Budget::None), InvalidFleet::Kind),
        (
            Fleet::new(Budget::ratio(0.0)),
            InvalidFleet::Budget(InvalidBudget::Ratio),
        ),
        (hundred().part(f64::NAN), InvalidFleet::Part),
        (hundred().period(Duration::ZERO), InvalidFleet::Period),
        (hundred().gap(second * 2), InvalidFleet::Gap),
        (hundred().lease(second), InvalidFleet::Lease),
    ] {
        assert_eq!(FleetBudget::new(fleet).err(), Some(reason));
    }
}

#[test]
fn a_retrier_is_refused_by_it_as_by_any_budget_and_shows_its_gauge() {
    let lone = Lone::of(hundred());
    let clock = FakeSleeper::auto();
    let budget = Arc::new(lone.budget);
    let retrier = Policy::default()
        .builder()
        .sleeper(clock)
        .retry_budget(budget.clone())
        .build()
        .expect("a valid policy");
    let timed_out = || std::io::Error::from(std::io::ErrorKind::TimedOut);
    let mut attempts = 0;
    let gave_up = retrier
        .retry_blocking(|_| {
            attempts += 1;
            Err::<(), _>(timed_out())
        })
        .expect_err("it fails");
    assert_eq!(gave_up.reason(), StopReason::BudgetExhausted);
    assert_eq!(attempts, 2, "one token");
    let gauges: Vec<_> = retrier.budget_gauges().collect();
    assert_eq!(gauges.len(), 1, "{gauges:?}");
    assert_eq!((gauges[0].kind, gauges[0].denied), (Kind::Ratio, 1));
    assert!(gauges[0].left == 0.0 && gauges[0].fill == 0.0, "{gauges:?}");
    assert!(
        retrier
            .retry_blocking(|_| Ok::<_, std::io::Error>(3))
            .is_ok()
    );
    let mut exchanges = budget.exchanges(SplitMix64::new(1), Instant::ZERO);
    let Step::Send(exchange) = exchanges.poll(&budget, at(1000)) else {
        panic!("it is due");
    };
    assert_eq!(exchange.earned, 1);
}

/// A bucket of this process, which says when it was asked.
struct Here(Mutex<Bucket>, Arc<Mutex<u32>>);

impl Store for Here {
    type Error = Infallible;

    fn exchange(
        &self,
        fleet: &Fleet,
        exchange: &Exchange,
    ) -> impl Future<Output = Result<Answer, Infallible>> + Send {
        *self.1.lock().expect("unpoisoned") += 1;
        let mut bucket = self.0.lock().expect("unpoisoned");
        ready(Ok(bucket.exchange(fleet, 1, exchange)))
    }
}

#[test]
fn who_keeps_a_budget_exchanges_in_time_and_at_a_refusal_and_ends_with_the_last_holder() {
    let clock = FakeSleeper::new();
    let budget = Arc::new(FleetBudget::new(hundred()).expect("a valid fleet"));
    let asked = Arc::<Mutex<u32>>::default();
    let store = Here(Mutex::default(), Arc::clone(&asked));
    let mut keeping = pin!(budget.keep_on(store, Arc::new(clock.clone()), &Seed::fixed(1)));
    let mut poll = || {
        let mut context = Context::from_waker(Waker::noop());
        keeping.as_mut().poll(&mut context).is_ready()
    };
    let asked = || *asked.lock().expect("unpoisoned");
    assert!(!poll());
    for _ in 0..100 {
        clock.advance(Duration::from_millis(100));
        assert!(!poll());
    }
    assert!(
        (9..=11).contains(&asked()),
        "once a second, not {}",
        asked()
    );
    // Just after one: the next is a period away, and soon where a retry is refused.
    let before = asked();
    while asked() == before {
        clock.advance(Duration::from_millis(10));
        assert!(!poll());
    }
    clock.advance(Duration::from_millis(700));
    assert!(!poll());
    let failure = Failure::transient();
    while budget.withdraw(Instant::ZERO, &failure).is_some() {}
    assert!(!poll());
    clock.advance(Duration::from_millis(60));
    assert!(!poll());
    assert_eq!(asked(), before + 2);
    assert!(budget.gauges().held >= 1.0, "it was granted more");
    drop(budget);
    assert!(poll(), "nobody holds it");
}
