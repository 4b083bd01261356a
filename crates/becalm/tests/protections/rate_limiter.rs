//! Does the rate limiter do what the AWS SDKs' does, and does each token have one owner?

use std::time::Duration;

use becalm::{
    rate::{AdaptiveRate, RateLimiter},
    time::Instant,
};

fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

fn near(actual: f64, expected: f64) {
    assert!(
        (actual - expected).abs() <= 1e-12 * expected.abs(),
        "{actual} instead of {expected}"
    );
}

/// On since the time 0, at 7 tokens a second (10 were measured), with an empty bucket.
fn throttled() -> RateLimiter {
    let limiter = RateLimiter::new(AdaptiveRate::cubic());
    // Measured: 0.8 x 12.5.
    for millis in [0, 100, 200, 300, 400, 401] {
        limiter.on_success(at(millis));
    }
    limiter.on_throttle(at(500));
    near(limiter.measured(), 11.2);
    near(limiter.rate(), 7.84);
    limiter
}

/// The places that a full bucket gives at once are taken.
fn drain(limiter: &RateLimiter, now: Instant) -> u32 {
    let mut taken = 0;
    while limiter.wait(now).is_zero() {
        assert!(limiter.acquire(now).is_ok());
        taken += 1;
    }
    taken
}

/// *End-to-end test for client sending rates* of the AWS retry specification, as in
/// aws-smithy-runtime 1.16 (`test_client_sending_rates`) and smithy-kotlin 1.5. The limit is not
/// visible before the first throttle: nothing is limited then.
#[test]
fn the_published_sequence_of_rates_is_reproduced() {
    let limiter = RateLimiter::new(AdaptiveRate::cubic());
    for (millis, throttle, measured, rate) in [
        (200, false, 0.0, f64::INFINITY),
        (400, false, 0.0, f64::INFINITY),
        (600, false, 4.8, f64::INFINITY),
        (800, false, 4.8, f64::INFINITY),
        (1000, false, 4.16, f64::INFINITY),
        (1200, false, 4.16, f64::INFINITY),
        (1400, false, 4.16, f64::INFINITY),
        (1600, false, 5.632, f64::INFINITY),
        (1800, false, 5.632, f64::INFINITY),
        (2000, true, 4.3264, 3.028_48),
        (2200, false, 4.3264, 3.486_639_173_470_26),
        (2400, false, 4.3264, 3.821_874_416_040_255),
        (2600, false, 5.665_28, 4.053_385_727_709_987),
        (2800, false, 5.665_28, 4.200_373_108_479_454),
        (3000, false, 4.333_056, 4.282_036_558_348_658),
        (3200, true, 4.333_056, 2.997_425_590_844_06),
        (3400, false, 4.333_056, 3.452_226_394_386_346_3),
    ] {
        if throttle {
            limiter.on_throttle(at(millis));
        } else {
            limiter.on_success(at(millis));
        }
        near(limiter.measured(), measured);
        if rate.is_finite() {
            near(limiter.rate(), rate);
        } else {
            assert!(limiter.rate().is_infinite() && !limiter.is_enabled());
        }
    }
}

#[test]
fn nothing_is_limited_before_the_first_throttle() {
    let limiter = RateLimiter::new(AdaptiveRate::cubic().max_wait(Duration::ZERO));
    for _ in 0..10_000 {
        let place = limiter.acquire(at(7)).expect("nothing is limited");
        assert_eq!(place.at(), at(7));
        assert_eq!(limiter.ready(&place, at(0)), Ok(()));
        limiter.on_success(at(7));
        limiter.cancel(place);
    }
    assert_eq!(limiter.wait(at(7)), Duration::ZERO);
}

/// The clock's zero may be days before the first answer: nothing is measured from there.
#[test]
fn what_is_measured_begins_with_the_first_answer() {
    let limiter = RateLimiter::new(AdaptiveRate::cubic());
    let day = 86_400_000;
    for millis in [0, 100, 200, 300, 400] {
        limiter.on_success(at(day + millis));
    }
    limiter.on_throttle(at(day + 500));
    near(limiter.measured(), 0.8 * 6.0 / 0.5);
    near(limiter.rate(), 0.7 * limiter.measured());
}

/// After seconds of traffic the first throttle finds a full bucket: what was measured, times 0.7.
#[test]
fn the_first_throttle_leaves_the_tokens_of_one_second() {
    let limiter = RateLimiter::new(AdaptiveRate::cubic());
    for step in 0..1000 {
        limiter.on_success(at(step * 10));
    }
    limiter.on_throttle(at(10_000));
    near(limiter.rate(), limiter.measured() * 0.7);
    assert!((limiter.measured() / 100.0 - 1.0).abs() < 0.05);
    let taken = drain(&limiter, at(10_000));
    assert!((68..=74).contains(&taken), "{taken}");
}

#[test]
fn those_who_wait_own_consecutive_tokens() {
    let limiter = throttled();
    let now = at(1500);
    drain(&limiter, now);
    let places: Vec<_> = (0..5).map(|_| limiter.acquire(now).unwrap()).collect();
    for pair in places.windows(2) {
        let gap = pair[1].at().since(pair[0].at()).as_secs_f64();
        assert!((gap * limiter.rate() - 1.0).abs() < 1e-6, "{gap}");
    }
    // Each is ready at its own time and not a microsecond before; asking takes nothing.
    for place in &places {
        let early = Instant::from_nanos(place.at().as_nanos() - 1000);
        assert!(limiter.ready(place, early).is_err());
        assert_eq!(limiter.ready(place, place.at()), Ok(()));
        assert_eq!(limiter.ready(place, place.at()), Ok(()));
    }
}

#[test]
fn who_waits_longest_is_moved_by_a_throttle_in_the_meantime_and_stays_first() {
    let limiter = throttled();
    let now = at(1500);
    drain(&limiter, now);
    let first = limiter.acquire(now).unwrap();
    let second = limiter.acquire(now).unwrap();
    let (rate, millis) = (limiter.rate(), 1501);
    limiter.on_throttle(at(millis));
    assert!(limiter.rate() < rate * 0.71);
    let moved = limiter.ready(&first, first.at()).unwrap_err();
    let behind = limiter.ready(&second, first.at()).unwrap_err();
    assert!(moved > first.at() && behind > moved && behind > second.at());
    let gap = behind.since(moved).as_secs_f64();
    assert!((gap * limiter.rate() - 1.0).abs() < 1e-6, "{gap}");
    assert_eq!(limiter.ready(&first, moved), Ok(()));
}

#[test]
fn a_cancelled_place_goes_to_the_next_that_asks() {
    let limiter = throttled();
    let now = at(1500);
    drain(&limiter, now);
    let mut places: Vec<_> = (0..5).map(|_| limiter.acquire(now).unwrap()).collect();
    let mut until = Vec::new();
    for place in &places {
        until.push(place.at());
    }
    // From the end, from the middle, from the front: nobody else's place moves.
    for give_up in [4, 2, 0] {
        limiter.cancel(places.remove(give_up));
        let next = limiter.acquire(now).unwrap();
        assert_eq!(next.at(), until[give_up]);
        places.insert(give_up, next);
    }
    for (place, until) in places.iter().zip(&until) {
        assert_eq!(limiter.ready(place, *until), Ok(()));
    }
}

/// Those ahead give up, time passes: the last one's token comes when it was promised.
#[test]
fn who_waits_behind_those_who_gave_up_is_not_forgotten() {
    let limiter = throttled();
    let now = at(1500);
    drain(&limiter, now);
    let mut places: Vec<_> = (0..80).map(|_| limiter.acquire(now).unwrap()).collect();
    let last = places.pop().unwrap();
    for place in places {
        limiter.cancel(place);
    }
    let early = Instant::from_nanos(last.at().as_nanos() - 1000);
    assert!(limiter.ready(&last, early).is_err());
    assert_eq!(limiter.ready(&last, last.at()), Ok(()));
}

#[test]
fn a_full_bucket_is_not_overfilled_by_what_is_cancelled() {
    let limiter = throttled();
    let now = at(60_000);
    let places: Vec<_> = (0..7).map(|_| limiter.acquire(now).unwrap()).collect();
    let later = at(61_000);
    assert!(limiter.wait(later).is_zero());
    for place in places {
        limiter.cancel(place);
    }
    assert_eq!(drain(&limiter, later), 7);
}

#[test]
fn a_longer_wait_than_the_longest_is_refused_and_takes_nothing() {
    let limiter = throttled();
    let now = at(1500);
    drain(&limiter, now);
    limiter.reconfigure(AdaptiveRate::cubic().max_wait(Duration::from_millis(300)));
    let mut waiting = 0;
    let until = loop {
        match limiter.acquire(now) {
            Ok(place) => {
                assert!(place.at().since(now) <= Duration::from_millis(300));
                waiting += 1;
            }
            Err(until) => break until,
        }
    };
    assert!((2..=3).contains(&waiting), "{waiting}");
    assert!(until.since(now) > Duration::from_millis(300));
    for _ in 0..100 {
        assert_eq!(limiter.acquire(now), Err(until));
    }
    assert!(limiter.acquire(until).is_ok());
}

/// A server that is down for throttling leaves one request in two seconds, and no fewer.
#[test]
fn the_rate_never_falls_below_one_in_two_seconds() {
    let limiter = throttled();
    for step in 1..200 {
        limiter.on_throttle(at(500 + step * 50));
    }
    near(limiter.rate(), 0.5);
    let now = at(20_000);
    drain(&limiter, now);
    let first = limiter.acquire(now).unwrap();
    let second = limiter.acquire(now).unwrap();
    let gap = second.at().since(first.at()).as_secs_f64();
    assert!((gap - 2.0).abs() < 1e-6, "{gap}");
}

#[test]
fn no_time_and_no_count_panics() {
    let times = [
        0,
        1,
        499_999_999,
        500_000_000,
        u64::MAX / 2,
        u64::MAX - 1,
        u64::MAX,
    ];
    for first in times {
        let limiter = RateLimiter::new(AdaptiveRate::cubic().max_wait(Duration::MAX));
        for now in times {
            let now = Instant::from_nanos(now);
            limiter.on_success(Instant::from_nanos(first));
            limiter.on_throttle(now);
            let place = limiter.acquire(Instant::from_nanos(first)).unwrap();
            let _ = limiter.ready(&place, now);
            limiter.cancel(place);
            assert!(limiter.rate() >= 0.5 && limiter.rate().is_finite());
            assert!(limiter.measured() >= 0.0 && limiter.measured().is_finite());
        }
    }
}

/// A client that wants 100 requests a second at a server that takes 20 and throttles the rest:
/// over ten minutes it gets 95 % of the 20 and more, and one request in twenty at most is
/// throttled, not four in five.
#[test]
fn a_client_finds_the_rate_that_the_server_takes() {
    let limiter = RateLimiter::new(AdaptiveRate::cubic().max_wait(Duration::ZERO));
    let (mut sent, mut taken, mut room, mut now) = (0_u32, 0_u32, 20.0_f64, at(0));
    for _ in 0..60_000 {
        now = now.after(Duration::from_millis(10));
        room = (room + 0.2).min(20.0);
        if limiter.acquire(now).is_err() {
            continue;
        }
        sent += 1;
        if room >= 1.0 {
            room -= 1.0;
            taken += 1;
            limiter.on_success(now);
        } else {
            limiter.on_throttle(now);
        }
    }
    assert!((11_400..=12_020).contains(&taken), "{taken} taken");
    assert!(sent - taken <= sent / 20, "{taken} of {sent} taken");
}
