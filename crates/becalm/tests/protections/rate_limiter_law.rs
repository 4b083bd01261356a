//! Does the rate limiter keep its law over every interval of every history?
//!
//! Calls that started in an interval are at most the integral of the rate over it, the bucket's
//! size at its begin, and one for the token that was on its way; without cancellations, not that
//! one either. (Here no place is cancelled that is ready: it would have started.)

use std::time::Duration;

use becalm::{
    rate::{AdaptiveRate, RateLimiter},
    time::Instant,
};
use proptest::prelude::*;

#[derive(Debug, Clone, Copy)]
enum Step {
    Acquire,
    /// The oldest or the newest of those who wait gives up.
    Cancel(bool),
    Success,
    Throttle,
    Pass(Duration),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => Just(Step::Acquire),
        1 => any::<bool>().prop_map(Step::Cancel),
        4 => Just(Step::Success),
        1 => Just(Step::Throttle),
        6 => (0..32_u32, any::<u64>()).prop_map(|(bits, n)| {
            Step::Pass(Duration::from_nanos(n >> (63 - bits)))
        }),
    ]
}

#[derive(Debug, Clone, Copy)]
struct Sums {
    started: f64,
    cancelled: bool,
    /// The integral of the rate.
    supplied: f64,
    /// Of the bucket, at this moment.
    capacity: f64,
}

/// The sums after each step since the first throttle. Calls start as soon as they may.
fn history(steps: &[Step]) -> Vec<Sums> {
    let limiter = RateLimiter::new(AdaptiveRate::cubic());
    let mut now = Instant::ZERO;
    for _ in 0..40 {
        now = now.after(Duration::from_millis(50));
        limiter.on_success(now);
    }
    limiter.on_throttle(now);
    let mut sums = Sums {
        started: 0.0,
        cancelled: false,
        supplied: 0.0,
        capacity: limiter.rate().max(1.0),
    };
    let mut waiting = Vec::new();
    let mut history = vec![sums];
    for step in steps {
        match step {
            Step::Acquire => waiting.push(limiter.acquire(now).expect("no longest wait")),
            Step::Cancel(_) if waiting.is_empty() => {}
            Step::Cancel(oldest) => {
                let index = if *oldest { 0 } else { waiting.len() - 1 };
                limiter.cancel(waiting.remove(index));
                sums.cancelled = true;
            }
            Step::Success => limiter.on_success(now),
            Step::Throttle => limiter.on_throttle(now),
            Step::Pass(time) => {
                sums.supplied += limiter.rate() * time.as_secs_f64();
                now = now.after(*time);
            }
        }
        let before = waiting.len();
        waiting.retain(|place| limiter.ready(place, now).is_err());
        sums.started += f64::from(u32::try_from(before - waiting.len()).unwrap());
        sums.capacity = limiter.rate().max(1.0);
        history.push(sums);
    }
    history
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn over_every_interval_of_every_history_the_law_holds(
        steps in proptest::collection::vec(any_step(), 1..150),
    ) {
        let history = history(&steps);
        for (start, from) in history.iter().enumerate() {
            for to in &history[start..] {
                let started = to.started - from.started;
                let on_its_way = if from.cancelled { 1.0 } else { 0.0 };
                let room = from.capacity + to.supplied - from.supplied + on_its_way;
                prop_assert!(started <= room + 1e-5, "from {from:?} to {to:?}");
            }
        }
    }
}

/// And it grants what it may: under constant demand at a steady rate, all of it.
#[test]
fn a_rate_that_is_wanted_is_used_within_1_percent() {
    let limiter = RateLimiter::new(AdaptiveRate::cubic().max_wait(Duration::ZERO));
    let mut now = Instant::ZERO;
    for _ in 0..400 {
        now = now.after(Duration::from_millis(10));
        limiter.on_success(now);
    }
    limiter.on_throttle(now);
    let (rate, mut granted) = (limiter.rate(), 0_u32);
    // A hundred seconds, in which no answer comes, and the bucket of the begin.
    for _ in 0..100_000 {
        now = now.after(Duration::from_millis(1));
        granted += u32::from(limiter.acquire(now).is_ok());
    }
    let share = f64::from(granted) / (rate * 101.0);
    assert!((share - 1.0).abs() < 0.01, "{share}");
}
