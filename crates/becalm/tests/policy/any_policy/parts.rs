//! The parts that stand around the attempts: any at all, and any that validates.

use std::time::Duration;

use becalm::breaker::{Breaker, Refuses, Span, Trip};
use becalm::bulkhead::{Aimd, Bulkhead, Gradient, Limit, Order};
use becalm::{Hedge, Policy, Throttle, rate::AdaptiveRate};
use proptest::option;
use proptest::prelude::*;
use proptest::strategy::BoxedStrategy;

use super::any_duration;

/// What a policy has besides its retries.
#[derive(Debug, Clone, Copy)]
pub struct Parts {
    throttle: Option<Throttle>,
    rate: Option<AdaptiveRate>,
    hedge: Option<Hedge>,
    bulkhead: Option<Bulkhead>,
    breaker: Option<Breaker>,
}

impl Parts {
    pub fn set(self, policy: &mut Policy) {
        policy.throttle = self.throttle;
        policy.rate = self.rate;
        policy.hedge = self.hedge;
        policy.bulkhead = self.bulkhead;
        policy.breaker = self.breaker;
    }
}

/// One of them or none; boxed, or the whole of a policy's strategy would not fit a stack.
fn of<T: std::fmt::Debug + 'static>(
    strategy: impl Strategy<Value = T> + 'static,
) -> BoxedStrategy<Option<T>> {
    option::of(strategy).boxed()
}

fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![0.0..=1.0_f64, 1.0..20.0_f64, any::<f64>()]
}

fn any_count() -> impl Strategy<Value = u32> {
    prop_oneof![0..100_u32, any::<u32>()]
}

/// Parts of any value, most of them refused.
pub fn wild_parts() -> impl Strategy<Value = Parts> {
    let throttle = (any_number(), any_duration(), any_number());
    let throttle =
        throttle.prop_map(|(k, window, max)| Throttle::accepts(k).within(window).max(max));
    let rate = of(any_duration()).prop_map(|max_wait| {
        let mut rate = AdaptiveRate::cubic();
        rate.max_wait = max_wait;
        rate
    });
    (
        of(throttle),
        of(rate),
        of(wild_hedge()),
        of(wild_bulkhead()),
        of(wild_breaker()),
    )
        .prop_map(|(throttle, rate, hedge, bulkhead, breaker)| Parts {
            throttle,
            rate,
            hedge,
            bulkhead,
            breaker,
        })
}

fn wild_hedge() -> impl Strategy<Value = Hedge> {
    let quantile = (
        any_number(),
        any_duration(),
        of(any_duration()),
        any_count(),
        any_duration(),
    );
    let quantile = quantile.prop_map(|(quantile, min, max, samples, window)| {
        let hedge = Hedge::at_quantile(quantile).min(min);
        let hedge = hedge.min_samples(samples).window(window);
        max.map_or(hedge, |max| hedge.max(max))
    });
    let hedge = prop_oneof![any_duration().prop_map(Hedge::after), quantile];
    (hedge, any_count()).prop_map(|(hedge, copies)| hedge.copies(copies))
}

fn wild_bulkhead() -> impl Strategy<Value = Bulkhead> {
    let bounds = || (any_count(), any_count(), any_count());
    let limit = prop_oneof![
        any_count().prop_map(Limit::Fixed),
        (bounds(), any_number(), of(any_duration()))
            .prop_map(|(bounds, backoff, slow)| { aimd(bounds, backoff, slow) }),
        (bounds(), any_number(), any_duration(), any_duration()).prop_map(
            |(bounds, tolerance, window, probe)| gradient(bounds, tolerance, window, probe)
        ),
    ];
    (limit, any_count(), of(any_duration()), any_order())
        .prop_map(|(limit, waiting, max_wait, order)| bulkhead(limit, waiting, max_wait, order))
}

fn any_order() -> impl Strategy<Value = Order> {
    prop_oneof![Just(Order::Fifo), Just(Order::Lifo)]
}

fn bulkhead(limit: Limit, waiting: u32, max_wait: Option<Duration>, order: Order) -> Bulkhead {
    let mut bulkhead = Bulkhead::limited(limit).waiting(waiting).order(order);
    bulkhead.max_wait = max_wait;
    bulkhead
}

fn aimd((min, initial, max): (u32, u32, u32), backoff: f64, slow: Option<Duration>) -> Limit {
    let mut aimd = Aimd::default();
    (aimd.min, aimd.initial, aimd.max) = (min, initial, max);
    (aimd.backoff, aimd.slow) = (backoff, slow);
    Limit::Aimd(aimd)
}

fn gradient(
    (min, initial, max): (u32, u32, u32),
    tolerance: f64,
    window: Duration,
    probe: Duration,
) -> Limit {
    let mut gradient = Gradient::default();
    (gradient.min, gradient.initial, gradient.max) = (min, initial, max);
    gradient.tolerance = tolerance;
    (gradient.window, gradient.probe) = (window, probe);
    Limit::Gradient(gradient)
}

fn any_refuses() -> impl Strategy<Value = Refuses> {
    prop_oneof![Just(Refuses::All), Just(Refuses::Retries)]
}

fn wild_breaker() -> impl Strategy<Value = Breaker> {
    let window = prop_oneof![
        any_count().prop_map(Span::Calls),
        any_duration().prop_map(Span::Time),
    ];
    let breaker = prop_oneof![
        any_count().prop_map(Breaker::consecutive),
        (any_number(), window).prop_map(|(share, window)| Breaker::share(share, window)),
    ];
    let times = (of(any_duration()), any_duration(), any_duration());
    let counts = (any_count(), any_count(), any_count());
    let parts = (breaker, times, counts, any_number(), any_refuses());
    parts.prop_map(|(mut breaker, times, counts, jitter, refuses)| {
        (breaker.slow, breaker.open, breaker.open_max) = times;
        (breaker.min_calls, breaker.probes, breaker.successes) = counts;
        breaker.jitter(jitter).refuses(refuses)
    })
}

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;
const DAY: u64 = 86_400 * SECOND;

/// A duration between these nanoseconds, both included, their like more often than chance has them.
fn between(least: u64, most: u64) -> impl Strategy<Value = Duration> {
    prop_oneof![
        1 => Just(least),
        1 => Just(most),
        2 => (least..=most).prop_map(move |nanos| (nanos / MS * MS).max(least)),
        4 => least..=most,
    ]
    .prop_map(Duration::from_nanos)
}

/// Parts that validate, over the whole of their ranges.
pub fn valid_parts() -> impl Strategy<Value = Parts> {
    let throttle = (1.0..=1e3, between(SECOND, 3600 * SECOND), 0.01..=1.0);
    let throttle =
        throttle.prop_map(|(k, window, max)| Throttle::accepts(k).within(window).max(max));
    let rate = of(between(0, DAY)).prop_map(|max_wait| {
        let mut rate = AdaptiveRate::cubic();
        rate.max_wait = max_wait;
        rate
    });
    (
        of(throttle),
        of(rate),
        of(valid_hedge()),
        of(valid_bulkhead()),
        of(valid_breaker()),
    )
        .prop_map(|(throttle, rate, hedge, bulkhead, breaker)| Parts {
            throttle,
            rate,
            hedge,
            bulkhead,
            breaker,
        })
}

fn valid_hedge() -> impl Strategy<Value = Hedge> {
    let hour = 3600 * SECOND;
    let delays = (between(0, hour), of(between(0, hour)));
    let quantile = (
        0.5..=0.999,
        delays,
        1..=1_000_000_u32,
        between(SECOND, 600 * SECOND),
    );
    let quantile = quantile.prop_map(|(quantile, (min, max), samples, window)| {
        let hedge = Hedge::at_quantile(quantile).min_samples(samples);
        let hedge = hedge.window(window).min(min);
        max.map_or(hedge, |max| hedge.min(min.min(max)).max(min.max(max)))
    });
    let hedge = prop_oneof![between(0, hour).prop_map(Hedge::after), quantile];
    (hedge, 1..=4_u32).prop_map(|(hedge, copies)| hedge.copies(copies))
}

fn valid_bulkhead() -> impl Strategy<Value = Bulkhead> {
    const MOST: u32 = 1_000_000;
    let bounds = || {
        [1..=MOST, 1..=MOST, 1..=MOST].prop_map(|mut bounds| {
            bounds.sort_unstable();
            (bounds[0], bounds[1], bounds[2])
        })
    };
    let windows = between(MS, 60 * SECOND);
    let limit = prop_oneof![
        (1..=MOST).prop_map(Limit::Fixed),
        (bounds(), 0.1..=0.99, of(between(1, u64::MAX)))
            .prop_map(|(bounds, backoff, slow)| { aimd(bounds, backoff, slow) }),
        (bounds(), 1.0..=10.0, windows, between(MS, DAY)).prop_map(
            |(bounds, tolerance, window, probe)| {
                gradient(bounds, tolerance, window, probe.max(window * 10))
            }
        ),
    ];
    (limit, 0..=MOST, of(between(1, u64::MAX)), any_order()).prop_map(
        |(limit, waiting, max_wait, order)| {
            bulkhead(limit, waiting, max_wait.filter(|_| waiting > 0), order)
        },
    )
}

fn valid_breaker() -> impl Strategy<Value = Breaker> {
    let window = prop_oneof![
        (1..=100_000_000_u32).prop_map(Span::Calls),
        between(10 * MS, DAY).prop_map(Span::Time),
    ];
    let breaker = prop_oneof![
        (1..=1_000_000_u32).prop_map(Breaker::consecutive),
        (1e-6..=1.0, window).prop_map(|(share, window)| Breaker::share(share, window)),
    ];
    let times = (
        of(between(1, u64::MAX)),
        [between(MS, DAY), between(MS, DAY)],
    );
    let counts = (1..=u32::MAX, 1..=10_000_u32, 1..=10_000_u32);
    let parts = (breaker, times, counts, 0.0..=1.0, any_refuses());
    parts.prop_map(|(mut breaker, times, counts, jitter, refuses)| {
        let (slow, mut opens) = times;
        opens.sort_unstable();
        breaker.slow = slow;
        [breaker.open, breaker.open_max] = opens;
        (breaker.min_calls, breaker.probes, breaker.successes) = counts;
        if let Trip::Share {
            window: Span::Calls(calls),
            ..
        } = breaker.trip
        {
            breaker.min_calls = breaker.min_calls.min(calls);
        }
        breaker.jitter(jitter).refuses(refuses)
    })
}
