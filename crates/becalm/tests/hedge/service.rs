//! What does hedging do to the tail of a service, through the engine? In virtual time.
//!
//! An open loop of calls, a thousand a second, to a service of which some answers take long. The
//! first copy's latency is drawn whether or not it is awaited, so what is true is known.

#![cfg(feature = "std")]

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use becalm::rng::{Random, SplitMix64};
use becalm::time::FakeSleeper;
use becalm::{Budget, Failure, Hedge, Policy, Retrier, Sleeper, time::Instant};
use futures_util::stream::{FuturesUnordered, StreamExt};

const EVERY: Duration = Duration::from_millis(1);

fn ms(millis: f64) -> Duration {
    Duration::from_secs_f64(millis / 1e3)
}

/// From 0 to 1.
#[expect(clippy::cast_precision_loss, reason = "53 bits")]
fn unit(random: &mut SplitMix64) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Log-normal, near enough, with a median of about 10 ms; and 3 in 100 take a second or more.
fn stragglers(random: &mut SplitMix64) -> f64 {
    if unit(random) < 0.03 {
        1000.0 + 1000.0 * unit(random)
    } else {
        (0..4).fold(10.0, |took, _| took * (0.6 + unit(random)))
    }
}

/// How long an attempt takes, in milliseconds: of a first copy, and of a hedge.
type Service = fn(&mut SplitMix64, is_hedge: bool) -> f64;

struct Run {
    /// In the order of their ends.
    latencies: Vec<Duration>,
    /// At which call each hedge started.
    hedged: Vec<usize>,
    calls: usize,
}

impl Run {
    fn quantile(&self, quantile: f64) -> Duration {
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        #[expect(
            clippy::cast_sign_loss,
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss
        )]
        let at = (quantile * sorted.len() as f64) as usize;
        sorted[at]
    }

    /// The share of the calls from this one on that were hedged.
    #[expect(clippy::cast_precision_loss, reason = "at most 100 000")]
    fn share_from(&self, call: usize) -> f64 {
        let hedged = self.hedged.iter().filter(|at| **at >= call).count();
        hedged as f64 / (self.calls - call) as f64
    }
}

/// Whether the calls ask for another poll.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn run(policy: Policy, calls: usize, service: Service) -> Run {
    let clock = FakeSleeper::new();
    clock.advance(Duration::from_secs(1000));
    let retrier = policy.builder().sleeper(clock.clone()).build().unwrap();
    let random = RefCell::new(SplitMix64::new(5));
    let (hedged, latencies) = (RefCell::default(), RefCell::new(Vec::new()));
    let one = |call: usize| {
        one_call(
            &retrier,
            &clock,
            &random,
            service,
            (call, &hedged),
            &latencies,
        )
    };
    let mut under_way = FuturesUnordered::new();
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut context = Context::from_waker(&waker);
    for call in 0..calls {
        under_way.push(one(call));
    }
    loop {
        woken.0.store(false, Ordering::Relaxed);
        let ended = under_way.poll_next_unpin(&mut context);
        let is_ready = matches!(ended, Poll::Ready(Some(()))) || woken.0.load(Ordering::Relaxed);
        if !is_ready && clock.advance_to_next().is_none() {
            break;
        }
    }
    assert!(under_way.is_empty(), "no call hangs");
    drop(under_way);
    Run {
        latencies: latencies.into_inner(),
        hedged: hedged.into_inner(),
        calls,
    }
}

fn one_call<'a>(
    retrier: &'a Retrier,
    clock: &'a FakeSleeper,
    random: &'a RefCell<SplitMix64>,
    service: Service,
    (call, hedged): (usize, &'a RefCell<Vec<usize>>),
    latencies: &'a RefCell<Vec<Duration>>,
) -> impl Future<Output = ()> + 'a {
    let start = clock.now();
    async move {
        let began: Instant = start.after(EVERY * u32::try_from(call).unwrap());
        clock.sleep_until(began).await;
        let done = retrier.retry(|attempt| {
            if attempt.is_hedge() {
                hedged.borrow_mut().push(call);
            }
            let takes = service(&mut random.borrow_mut(), attempt.is_hedge());
            let ends = clock.now().after(ms(takes));
            async move {
                clock.sleep_until(ends).await;
                Ok::<_, (Failure, &str)>(())
            }
        });
        assert!(done.await.is_ok());
        latencies.borrow_mut().push(clock.now().since(began));
    }
}

fn with(hedge: Hedge) -> Policy {
    Policy::default().hedge(hedge)
}

#[test]
fn the_tail_falls_by_far_and_a_twentieth_is_hedged() {
    let service: Service = |random, _| stragglers(random);
    let bare = run(Policy::default(), 40_000, service);
    assert!(bare.hedged.is_empty());
    assert!(
        bare.quantile(0.99) > ms(1000.0),
        "{:?}",
        bare.quantile(0.99)
    );

    let hedged = run(with(Hedge::at_quantile(0.95)), 40_000, service);
    assert!(
        hedged.quantile(0.99) < ms(60.0),
        "{:?}",
        hedged.quantile(0.99)
    );
    assert!(
        hedged.quantile(0.5) < ms(16.0),
        "{:?}",
        hedged.quantile(0.5)
    );
    let share = hedged.share_from(2000);
    assert!((0.045..0.055).contains(&share), "{share} are hedged");
    // Nothing is known of the service at first.
    assert!(
        hedged.hedged[0] >= 100,
        "the call {} is hedged",
        hedged.hedged[0]
    );
}

/// The latencies of hedges are not those of first copies: were they recorded, hedges to a replica
/// that is fast would shorten the delay, the more of them the more.
#[test]
fn the_delay_follows_first_copies_alone() {
    let slow_replica: Service = |random, is_hedge| {
        if is_hedge {
            400.0
        } else {
            5.0 + 10.0 * unit(random)
        }
    };
    let fast_replica: Service = |random, is_hedge| {
        if is_hedge {
            0.25
        } else {
            5.0 + 10.0 * unit(random)
        }
    };
    for service in [slow_replica, fast_replica] {
        let policy = with(Hedge::at_quantile(0.5))
            .attempts(2)
            .budget(Budget::None);
        let share = run(policy, 20_000, service).share_from(2000);
        assert!((0.47..0.53).contains(&share), "{share} are hedged");
    }
}

/// Law 4: whatever the quantile would like.
#[test]
fn the_budget_bounds_the_share() {
    let policy = with(Hedge::at_quantile(0.8)).budget(Budget::ratio(0.02).burst(10.0));
    let run = run(policy, 20_000, |random, _| stragglers(random));
    let hedges = run.hedged.len();
    assert!(hedges <= 400 + 10, "{hedges}");
    assert!(hedges >= 380, "{hedges}");
}

/// A service that grows slow as a whole is not hedged for long: the delay follows.
#[test]
fn a_service_that_slows_down_is_hedged_by_the_budget_and_then_by_the_quantile() {
    thread_local!(static CALLS: Cell<u32> = const { Cell::new(0) });
    CALLS.set(0);
    let service: Service = |random, is_hedge| {
        CALLS.set(CALLS.get() + u32::from(!is_hedge));
        let slower = if CALLS.get() > 10_000 { 8.0 } else { 1.0 };
        slower * (5.0 + 10.0 * unit(random))
    };
    let run = run(with(Hedge::at_quantile(0.95)), 60_000, service);
    // In the worst second, all that the budget of 10 % lets through.
    let hedges = run.hedged.len();
    assert!(hedges <= 6000 + 10, "{hedges}");
    let share = run.share_from(45_000);
    assert!(
        (0.04..0.06).contains(&share),
        "{share} are hedged in the end"
    );
}
