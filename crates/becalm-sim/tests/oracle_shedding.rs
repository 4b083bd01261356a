//! Do the closed forms of clients, throttles and caches agree with following them step by step?

use std::time::Duration;

use becalm::rng::{Random, SplitMix64};
use becalm::{
    Throttle,
    throttle::{AdaptiveThrottle, Priority},
    time::Instant,
};
use becalm_sim::oracle::deadline::Hangs;
use becalm_sim::oracle::loops::{self, ClosedLoop};
use becalm_sim::oracle::{cache, priority, throttle};

fn close(got: f64, expected: f64) -> bool {
    (got - expected).abs() <= 1e-12 * expected.abs().max(1.0)
}

#[test]
fn a_round_of_a_closed_loop_is_the_mean_over_all_ways_that_it_can_go() {
    let delays = [0.1, 0.2, 0.4];
    for failures in [0.0, 0.3, 0.9, 1.0] {
        let closed = ClosedLoop {
            clients: 50.0,
            think: 1.0,
            attempt: 0.25,
            failures,
            delays: &delays,
        };
        let mut mean = 0.0;
        for used in 1..=4_u8 {
            // Ends after so many attempts: by a success, or as it may not make another.
            let reached = failures.powi(i32::from(used) - 1);
            let ends = if used == 4 { 1.0 } else { 1.0 - failures };
            let waits: f64 = delays[..usize::from(used) - 1].iter().sum();
            mean += reached * ends * (1.0 + 0.25 * f64::from(used) + waits);
        }
        assert!(close(closed.round(), mean), "{failures}");
        assert!(close(closed.first_tries_per_second(), 50.0 / mean));
        let attempts = closed.first_tries_per_second() * closed.attempts_per_call();
        assert!(close(closed.attempts_per_second(), attempts));
    }
}

#[test]
fn backoff_lowers_the_first_tries_of_a_closed_loop_and_no_amplification() {
    let of = |delays| ClosedLoop {
        clients: 50.0,
        think: 1.0,
        attempt: 0.25,
        failures: 0.5,
        delays,
    };
    let (hasty, patient) = (of(&[0.0; 3]), of(&[1.0, 2.0, 4.0]));
    assert!(close(
        hasty.attempts_per_call(),
        patient.attempts_per_call()
    ));
    assert!(close(
        hasty.attempts_per_call(),
        loops::open_attempts_per_second(1.0, 0.5, 4)
    ));
    assert!(patient.first_tries_per_second() < 0.6 * hasty.first_tries_per_second());
}

/// Requests per second that the shipping throttle sends to a backend that accepts the first so many
/// of each tenth of a second, over the last of several windows.
fn sent_by_the_throttle(calls: u32, accepted: u32, config: Throttle) -> f64 {
    let shipping = AdaptiveThrottle::new(config);
    let mut random = SplitMix64::new(7);
    let (mut sent, mut taken) = (0_u32, 0);
    let (calls, accepted) = (u64::from(calls), u64::from(accepted));
    let seconds = 4 * config.window.as_secs();
    for call in 0..calls * seconds {
        if call % (calls / 10) == 0 {
            taken = 0;
        }
        let now = Instant::from_nanos(call * 1_000_000_000 / calls);
        if shipping
            .admit(now, Priority::Critical, || random.next_u64())
            .is_err()
        {
            continue;
        }
        if call >= calls * (seconds - config.window.as_secs()) {
            sent += 1;
        }
        if taken < accepted / 10 {
            taken += 1;
            shipping.on_accepted(now, Priority::Critical);
        } else {
            shipping.on_rejected(now, Priority::Critical);
        }
    }
    f64::from(sent) / config.window.as_secs_f64()
}

#[test]
fn the_shipping_throttle_sends_what_the_closed_form_says() {
    let config = Throttle::accepts(2.0)
        .within(Duration::from_secs(20))
        .max(1.0);
    for (calls, accepted) in [(1000, 100), (1000, 300), (1000, 600)] {
        let right = throttle::sent(f64::from(calls), f64::from(accepted), 2.0, 1.0);
        let got = sent_by_the_throttle(calls, accepted, config);
        // 4000 sent in the window of 20 s have a standard deviation below 1.6 %: three of them.
        assert!(
            (got / right - 1.0).abs() < 0.05,
            "{accepted}: {got} {right}"
        );
    }
    // The bound on p leaves more than K C.
    let bounded = config.max(0.5);
    let right = throttle::sent(1000.0, 100.0, 2.0, 0.5);
    assert!(close(right, 500.0));
    let got = sent_by_the_throttle(1000, 100, bounded);
    assert!((got / right - 1.0).abs() < 0.05, "{got}");
}

#[test]
fn in_an_outage_the_shipping_throttle_probes_about_once_per_window() {
    let config = Throttle::accepts(2.0)
        .within(Duration::from_secs(20))
        .max(1.0);
    let got: f64 = sent_by_the_throttle(1000, 0, config) * 20.0;
    let right = throttle::sent_in_outage(1000.0, 20.0, 1.0) * 20.0;
    assert!((right - 1.0).abs() < 1e-4);
    // A Poisson number of mean 1: six or more have probability 6e-4.
    assert!(got <= 5.0, "{got}");
    assert!(close(throttle::sent_in_outage(1000.0, 20.0, 0.9), 100.0));
    // One that calls once in a window sends every other call, not every.
    assert!(close(throttle::sent_in_outage(1.0, 1.0, 1.0), 0.5));
}

#[test]
fn the_first_probes_are_a_harmonic_sum() {
    assert!(close(
        throttle::sent_of_first(4),
        1.0 + 0.5 + 1.0 / 3.0 + 0.25
    ));
    let euler = 0.577_215_664_901_532_9;
    let many = f64::from(1_000_000_u32);
    let right = many.ln() + euler + 0.5 / many;
    assert!((throttle::sent_of_first(1_000_000) - right).abs() < 1e-10);
}

#[test]
fn the_book_s_hanging_requests_take_what_it_says() {
    let book = |deadline| Hangs {
        arrivals: 1000.0,
        work: 0.1,
        hanging: 0.05,
        deadline,
    };
    assert!(close(book(100.0).threads(), 5095.0));
    assert!((book(100.0).served_roughly(1000) - 0.196).abs() < 5e-4);
    // In a deep overload the exact share is the ratio, to a part in a thousand.
    assert!((book(100.0).served(1000) / book(100.0).served_roughly(1000) - 1.0).abs() < 1e-3);
    assert!(close(book(1.0).threads(), 145.0));
    assert!(close(book(1.0).served(1000), 1.0));
    assert!(close(book(1.0).served_roughly(1000), 1.0));
}

#[test]
fn priorities_add_up_to_the_capacity() {
    for (capacity, critical, others) in [
        (100.0, 50.0, 600.0),
        (100.0, 150.0, 10.0),
        (100.0, 30.0, 40.0),
    ] {
        let served = critical * priority::critical(capacity, critical)
            + others * priority::others(capacity, critical, others);
        let all = critical + others;
        assert!(close(served, capacity.min(all)));
        assert!(close(served, all * priority::without(capacity, all)));
        assert!(priority::critical(capacity, critical) >= priority::without(capacity, all));
    }
}

#[test]
fn a_cache_hides_what_its_database_carries() {
    assert!(close(cache::advertised_capacity(300.0, 0.9), 3000.0));
    assert!(close(cache::hidden_capacity(300.0, 1), 300.0));
    assert!(close(cache::hidden_capacity(300.0, 4), 75.0));
    let warmth = cache::warmth_needed(2000.0, 300.0, 0.9);
    // With that share of keys, what misses is what the database serves.
    assert!(close(2000.0 * (1.0 - 0.9 * warmth), 300.0));
    assert!(close(cache::warmth_needed(200.0, 300.0, 0.9), 0.0));
    assert!(cache::warmth_needed(4000.0, 300.0, 0.9) > 1.0);
}

#[test]
fn a_cache_refills_as_following_its_fills_does() {
    let (keys, database) = (10_000.0, 300.0);
    for hits in [0.5, 0.9, 1.0] {
        for warmth in [0.1, 0.5, 0.94] {
            let steps = 200_000;
            let mut filled = 0.0;
            let mut time = 0.0;
            for _ in 0..steps {
                // The slope at the middle of each step of warmth.
                let middle = filled + warmth / f64::from(steps) / 2.0;
                let rate = database * hits * (1.0 - middle) / (1.0 - hits * middle) / keys;
                time += warmth / f64::from(steps) / rate;
                filled += warmth / f64::from(steps);
            }
            let got = cache::refill_time(keys, database, hits, warmth);
            assert!(
                (got / time - 1.0).abs() < 1e-8,
                "{hits} {warmth}: {got} {time}"
            );
        }
    }
    assert!(cache::refill_time(keys, database, 0.9, 1.0).is_infinite());
}

#[test]
fn what_is_out_of_range_has_no_answer() {
    let hangs = Hangs {
        arrivals: 1.0,
        work: 1.0,
        hanging: 1.5,
        deadline: 1.0,
    };
    let closed = ClosedLoop {
        clients: 1.0,
        think: 1.0,
        attempt: 1.0,
        failures: 0.5,
        delays: &[f64::NAN],
    };
    for wrong in [
        hangs.threads(),
        hangs.served(1),
        hangs.served_roughly(1),
        closed.round(),
        closed.first_tries_per_second(),
        loops::open_attempts_per_second(-1.0, 0.5, 4),
        throttle::sent(f64::NAN, 1.0, 2.0, 1.0),
        throttle::sent(10.0, 1.0, 0.0, 1.0),
        throttle::sent(10.0, 1.0, 2.0, 1.5),
        throttle::sent_in_outage(10.0, 0.0, 1.0),
        throttle::sent_of_first(u32::MAX),
        priority::critical(1.0, 0.0),
        priority::others(f64::NAN, 1.0, 1.0),
        priority::without(-1.0, 1.0),
        cache::advertised_capacity(0.0, 0.5),
        cache::hidden_capacity(300.0, 0),
        cache::warmth_needed(100.0, 300.0, 0.0),
        cache::warmth_needed(100.0, 300.0, f64::NAN),
        cache::refill_time(1.0, 1.0, 0.9, 1.1),
    ] {
        assert!(wrong.is_nan(), "{wrong}");
    }
}

/// The least critical calls alone, and beside critical ones of which just so many are rejected.
#[test]
fn one_throttle_leaves_a_share_of_rejections_at_which_no_critical_call_is_shed() {
    for (level, of) in [
        (0, Priority::Critical),
        (1, Priority::SheddablePlus),
        (2, Priority::Sheddable),
    ] {
        for k in [1.1, 1.5, 2.0] {
            let throttle = AdaptiveThrottle::new(Throttle::accepts(k));
            let accepted = 1000_u32;
            let sent = f64::from(accepted) / priority::accepted_behind_throttle(k, level);
            let now = Instant::ZERO;
            for _ in 0..accepted {
                throttle.on_accepted(now, of);
            }
            let mut refused = 0_u32;
            while throttle.probability(now, of) <= 0.0 && refused < 10_000 {
                throttle.on_rejected(now, of);
                refused += 1;
            }
            assert!(
                (f64::from(accepted + refused) - sent).abs() <= 1.5,
                "{k} {of} {refused}"
            );
            let critical = AdaptiveThrottle::new(Throttle::accepts(k));
            for _ in 0..accepted {
                critical.on_accepted(now, Priority::Critical);
            }
            for _ in 1..refused {
                critical.on_rejected(now, Priority::Critical);
            }
            assert!(
                critical.probability(now, Priority::Critical) <= 0.0,
                "{k} {of}"
            );
        }
    }
}
