//! Does each kind of budget keep the bound that it documents, over every interval of every history?

use std::time::Duration;

use becalm::budget::{Budgets, RetryBudget, Tokens, Withdrawal};
use becalm::{Budget, Class, Failure, Hint, time::Instant};
use proptest::prelude::*;

#[derive(Debug, Clone, Copy)]
enum Step {
    FirstTry,
    /// A call fails and asks for a retry.
    Fail(Failure),
    FailForGood,
    /// The oldest retry never starts, fails, or its call succeeds.
    Refund,
    Spent,
    SuccessAfterRetry,
    CleanSuccess,
    CallEnded,
    Pass(Duration),
}

fn any_step() -> impl Strategy<Value = Step> {
    let failure = prop_oneof![Just(Failure::transient()), Just(Failure::throttled())];
    let time =
        (0..37_u32, any::<u64>()).prop_map(|(bits, n)| Duration::from_nanos(n >> (63 - bits)));
    prop_oneof![
        5 => Just(Step::FirstTry),
        6 => failure.prop_map(Step::Fail),
        1 => Just(Step::FailForGood),
        1 => Just(Step::Refund),
        1 => Just(Step::Spent),
        1 => Just(Step::SuccessAfterRetry),
        2 => Just(Step::CleanSuccess),
        1 => Just(Step::CallEnded),
        3 => time.prop_map(Step::Pass),
    ]
}

/// What one step did, as the laws count it.
#[derive(Debug, Clone, Copy, Default)]
struct Event {
    at: Duration,
    first_tries: u64,
    granted: u64,
    /// What the grant took, in whole tokens.
    cost: u64,
    refunded: u64,
    /// What came back, of a retry that never started or as a success's last cost.
    returned: u64,
    clean_successes: u64,
    successes: u64,
    /// After the step.
    calls: u64,
    retries_under_way: u64,
}

fn history(config: Budget, steps: &[Step]) -> Vec<Event> {
    config.validate().expect("a valid budget");
    let budget = Budgets::new(config);
    let mut out: Vec<Withdrawal> = Vec::new();
    let (mut at, mut calls) = (Duration::ZERO, 0);
    let tokens = |withdrawal: &Withdrawal| withdrawal.micros() / 1_000_000;
    let mut history = Vec::new();
    for step in steps {
        let now = Instant::ZERO.after(at);
        let oldest = |out: &mut Vec<Withdrawal>| (!out.is_empty()).then(|| out.remove(0));
        let mut event = Event::default();
        match step {
            Step::FirstTry => {
                budget.call_began();
                budget.first_try(now);
                calls += 1;
                event.first_tries = 1;
            }
            Step::Fail(failure) => {
                budget.on_failure(now, failure);
                if let Some(withdrawal) = budget.withdraw(now, failure) {
                    (event.granted, event.cost) = (1, tokens(&withdrawal));
                    out.push(withdrawal);
                }
            }
            Step::FailForGood => budget.on_failure(now, &Failure::permanent().hint(Hint::Stop)),
            Step::Refund => {
                if let Some(withdrawal) = oldest(&mut out) {
                    (event.refunded, event.returned) = (1, tokens(&withdrawal));
                    budget.refund(withdrawal);
                }
            }
            Step::Spent => {
                if let Some(withdrawal) = oldest(&mut out) {
                    budget.spent(withdrawal);
                }
            }
            Step::SuccessAfterRetry => {
                if let Some(withdrawal) = oldest(&mut out) {
                    (event.successes, event.returned) = (1, tokens(&withdrawal));
                    budget.on_success(now, Some(withdrawal));
                }
            }
            Step::CleanSuccess => {
                (event.successes, event.clean_successes) = (1, 1);
                budget.on_success(now, None);
            }
            Step::CallEnded if calls > 0 => {
                budget.call_ended();
                calls -= 1;
            }
            Step::CallEnded => {}
            Step::Pass(time) => at += *time,
        }
        (event.at, event.calls) = (at, calls);
        event.retries_under_way = out.len() as u64;
        history.push(event);
    }
    history
}

/// Every interval of the history.
fn intervals(history: &[Event]) -> impl Iterator<Item = &[Event]> {
    (0..history.len())
        .flat_map(move |start| (start..history.len()).map(move |end| &history[start..=end]))
}

fn sum(interval: &[Event], what: impl Fn(&Event) -> u64) -> u64 {
    interval.iter().map(what).sum()
}

fn any_steps() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec(any_step(), 1..150)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn tokens_cost_no_more_than_capacity_and_what_success_earned(
        capacity in 20..200_u32, cost in 1..20_u32, throttled in 1..20_u32, refund in any::<bool>(),
        clean in 0..5_u32, steps in any_steps(),
    ) {
        let mut tokens = Tokens::default();
        (tokens.capacity, tokens.cost, tokens.throttled_cost) = (capacity, cost, throttled);
        (tokens.refund_last, tokens.clean_success) = (refund, clean);
        let history = history(Budget::Tokens(tokens), &steps);
        for interval in intervals(&history) {
            let comes_back = |event: &Event| {
                if event.refunded > 0 || refund { event.returned } else { 0 }
            };
            let most = u64::from(capacity)
                + u64::from(clean) * sum(interval, |event| event.clean_successes)
                + sum(interval, comes_back);
            prop_assert!(sum(interval, |event| event.cost) <= most, "{interval:?}");
        }
    }

    #[test]
    fn grpc_grants_less_than_half_its_tokens_and_what_success_earned(
        most in 1..50_u32, ratio in 1..2000_u32, steps in any_steps(),
    ) {
        let history = history(Budget::grpc(most, f64::from(ratio) / 1000.0), &steps);
        for interval in intervals(&history) {
            // In two-thousandths, so that nothing is rounded.
            let earned = 2 * u64::from(ratio) * sum(interval, |event| event.successes);
            let granted = 2000 * sum(interval, |event| event.granted);
            prop_assert!(granted < 1000 * u64::from(most) + earned, "{interval:?}");
        }
    }

    #[test]
    fn a_window_grants_its_share_of_the_first_tries_in_it_and_its_floor(
        share in 0..2_000_000_u32, floor in 1..3000_u32, ttl in 1000..60_000_u32, steps in any_steps(),
    ) {
        let ttl = Duration::from_millis(ttl.into());
        // The floor of the whole window, in thousandths.
        let reserve = f64::from(floor) / 1000.0 / ttl.as_secs_f64();
        let history = history(Budget::window(f64::from(share) / 1e6, ttl, reserve), &steps);
        let slice = |event: &Event| event.at.as_nanos() / (ttl / 10).as_nanos();
        let allowed = |first_tries: u64| {
            u64::from(share) * first_tries + u64::from(floor) * 1000 + 1 // the floor's rounding
        };
        for (end, last) in history.iter().enumerate().filter(|(_, event)| event.granted > 0) {
            let window: Vec<Event> = history[..=end]
                .iter()
                .filter(|event| slice(event) + 10 > slice(last))
                .copied()
                .collect();
            let first_tries = sum(&window, |event| event.first_tries);
            for start in 0..window.len() {
                if last.at <= window[start].at + ttl * 9 / 10 {
                    let part = &window[start..];
                    let made = 1_000_000 * sum(part, |event| event.granted);
                    let back = 1_000_000 * sum(part, |event| event.refunded);
                    prop_assert!(made <= allowed(first_tries) + back, "{part:?}");
                }
            }
        }
    }

    #[test]
    fn concurrency_grants_no_more_than_its_share_of_the_calls_under_way(
        share in 0..1_000_000_u32, floor in 1..5_u32, steps in any_steps(),
    ) {
        let history = history(Budget::concurrency(f64::from(share) / 1e6, floor), &steps);
        for event in history.iter().filter(|event| event.granted > 0) {
            let of_calls = u64::from(share) * event.calls;
            let most = of_calls.max(u64::from(floor) * 1_000_000);
            prop_assert!(event.retries_under_way * 1_000_000 <= most, "{event:?}");
        }
    }

    #[test]
    fn over_any_minute_no_more_is_granted_than_was_refunded_and_is_configured(
        retries in 1..20_u32, steps in any_steps(),
    ) {
        let history = history(Budget::per_minute(retries), &steps);
        let minute = Duration::from_secs(60);
        for interval in intervals(&history) {
            let (first, last) = (interval[0].at, interval[interval.len() - 1].at);
            if last <= first + minute {
                let most = u64::from(retries) + sum(interval, |event| event.refunded);
                prop_assert!(sum(interval, |event| event.granted) <= most, "{interval:?}");
            }
        }
    }

    /// Each bound holds for the part that each kind has in a set.
    #[test]
    fn of_several_kinds_each_keeps_its_bound(steps in any_steps()) {
        let config = Budget::grpc(20, 0.5).and(Budget::per_minute(9)).and(Budget::concurrency(0.5, 2));
        let history = history(config, &steps);
        for interval in intervals(&history) {
            let granted = sum(interval, |event| event.granted);
            let successes = sum(interval, |event| event.successes);
            prop_assert!(2 * granted < 20 + successes, "{interval:?}");
            let (first, last) = (interval[0], interval[interval.len() - 1]);
            if last.at <= first.at + Duration::from_secs(60) {
                prop_assert!(granted <= 9 + sum(interval, |event| event.refunded));
            }
            if last.granted > 0 {
                prop_assert!(last.retries_under_way <= 2.max(last.calls / 2), "{last:?}");
            }
        }
    }

    /// Values that no validation has seen do not panic, and fill stays a fraction.
    #[test]
    fn any_values_saturate(
        numbers in prop::array::uniform4(any::<f64>()), counts in prop::array::uniform6(any::<u32>()),
        ttl in any::<u64>(), steps in any_steps(), later in any::<u64>(),
    ) {
        let [a, b, c, d] = numbers;
        let mut tokens = Tokens::default();
        (tokens.capacity, tokens.cost, tokens.throttled_cost, tokens.clean_success) =
            (counts[0], counts[1], counts[2], counts[3]);
        let config = Budget::ratio(a)
            .burst(b)
            .and(Budget::first_tries(c).floor_per_second(d))
            .and(Budget::Tokens(tokens))
            .and(Budget::grpc(counts[4], c))
            .and(Budget::window(d, Duration::from_nanos(ttl), a))
            .and(Budget::concurrency(b, counts[5]))
            .and(Budget::per_minute(counts[0]));
        let budget = Budgets::new(config);
        for (step, now) in steps.iter().zip([0, later, u64::MAX].into_iter().cycle()) {
            let now = Instant::from_nanos(now);
            match step {
                Step::Fail(failure) => {
                    budget.on_failure(now, failure);
                    if let Some(withdrawal) = budget.withdraw(now, failure) {
                        match failure.class {
                            Class::Throttled => budget.refund(withdrawal),
                            _ => budget.on_success(now, Some(withdrawal)),
                        }
                    }
                }
                Step::Pass(_) => budget.reconfigure(&config, now),
                Step::CallEnded => budget.call_ended(),
                _ => {
                    budget.call_began();
                    budget.first_try(now);
                    budget.deposit(now);
                    budget.on_success(now, None);
                }
            }
            let fill = budget.fill(now);
            prop_assert!((0.0..=1.0).contains(&fill), "{fill}");
        }
    }
}

/// An idle minute, hour or year later the whole minute is there again, and no more.
#[test]
fn what_has_fallen_out_of_a_window_is_forgotten_however_long_it_was_idle() {
    for (config, most, back_after) in [
        (Budget::per_minute(5), 5, Duration::from_secs(61)),
        (
            Budget::window(0.0, Duration::from_secs(10), 0.5),
            5,
            Duration::from_secs(10),
        ),
    ] {
        for idle in [
            back_after,
            10 * back_after,
            Duration::from_secs(365 * 86_400),
        ] {
            let budget = Budgets::new(config);
            let take = |now: Duration| {
                let now = Instant::ZERO.after(now);
                std::iter::from_fn(|| budget.withdraw(now, &Failure::transient())).count()
            };
            assert_eq!(take(Duration::ZERO), most);
            assert_eq!(take(back_after.saturating_sub(Duration::from_nanos(1))), 0);
            assert_eq!(take(idle), most, "{config} after {idle:?}");
            assert_eq!(take(idle), 0);
        }
    }
}

/// A clock may count from 1970, or from anywhere: a slice that nobody has been in is no newer one.
#[test]
fn a_refund_finds_its_retry_wherever_the_clock_began() {
    let window = Budget::window(0.0, Duration::from_secs(7), 1.0);
    for budget in [window, Budget::per_minute(6)] {
        for shift in 0..64 {
            let now = Instant::from_nanos(u64::MAX >> shift);
            let budgets = Budgets::new(budget);
            let paid = budgets.withdraw(now, &Failure::transient());
            assert!(budgets.fill(now) < 1.0, "{budget} at {now:?}");
            budgets.refund(paid.expect("it is full"));
            assert!(
                (budgets.fill(now) - 1.0).abs() < 1e-9,
                "{budget} at {now:?}"
            );
        }
    }
}
