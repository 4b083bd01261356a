//! Does the breaker do what its page says at the very edges: of shares, windows, times and clocks?

use std::time::Duration;

use becalm::breaker::{Breaker, CircuitBreaker, Outcome, Span, State, Transition};
use becalm::rng::{Random, SplitMix64};
use becalm::time::Instant;
use proptest::prelude::*;

const SECOND: Duration = Duration::from_secs(1);
const WITHIN: Span = Span::Time(Duration::from_secs(10));

fn breaker(config: Breaker) -> CircuitBreaker {
    CircuitBreaker::new(config.jitter(0.0)).expect("valid")
}

fn at(seconds: u64) -> Instant {
    Instant::ZERO.after(Duration::from_secs(seconds))
}

fn call(breaker: &CircuitBreaker, outcome: Outcome, now: Instant) -> Option<Transition> {
    let permit = breaker.admit(|| now).expect("it lets the call pass");
    breaker.record(permit, outcome, || now, Duration::ZERO, || 0)
}

fn calls(breaker: &CircuitBreaker, number: usize, outcome: Outcome, now: Instant) {
    for call_number in 0..number {
        let told = call(breaker, outcome, now);
        assert_eq!(told, None, "at call {call_number} of {number}");
    }
}

fn opens(told: Option<Transition>) -> bool {
    told.is_some_and(|told| told.to == State::Open)
}

#[test]
fn exactly_the_share_opens_and_one_call_less_does_not() {
    for window in [Span::Calls(100), WITHIN] {
        for (percent, share) in [(7, 0.07), (29, 0.29), (50, 0.5), (58, 0.58), (100, 1.0)] {
            let config = Breaker::share(share, window).min_calls(100);
            let it = breaker(config);
            calls(&it, 100 - percent, Outcome::Success, at(0));
            calls(&it, percent - 1, Outcome::Failure, at(0));
            assert!(opens(call(&it, Outcome::Failure, at(0))), "{config}");

            let it = breaker(config);
            calls(&it, 100 - percent, Outcome::Success, at(0));
            calls(&it, percent - 1, Outcome::Failure, at(0));
            calls(&it, 1, Outcome::Success, at(0));
        }
    }
}

#[test]
fn the_call_that_makes_up_the_minimum_opens_it_a_success_too() {
    for window in [Span::Calls(100), WITHIN] {
        for last in [Outcome::Success, Outcome::Failure] {
            let it = breaker(Breaker::share(0.5, window).min_calls(20));
            calls(&it, 19, Outcome::Failure, at(0));
            let told = call(&it, last, at(0)).expect("20 calls");
            assert_eq!((told.from, told.to), (State::Closed, State::Open));
            assert_eq!(told.open_for, Some(5 * SECOND));
        }
    }
}

#[test]
fn a_time_window_forgets_one_slice_after_the_other() {
    // One failure in each of ten seconds; at 10 s the first is forgotten.
    let ten_failures = |last: u64| {
        let it = breaker(Breaker::share(1.0, WITHIN).min_calls(10));
        for second in 0..9 {
            calls(&it, 1, Outcome::Failure, at(second));
        }
        opens(call(&it, Outcome::Failure, at(last)))
    };
    assert!(ten_failures(9));
    assert!(!ten_failures(10));
    // A slice is a whole second: what came at its end goes with it.
    let it = breaker(Breaker::share(1.0, WITHIN).min_calls(2));
    let end_of_slice = Instant::from_nanos(1_999_999_999);
    calls(&it, 1, Outcome::Failure, end_of_slice);
    calls(&it, 1, Outcome::Failure, at(11));
    let it = breaker(Breaker::share(1.0, WITHIN).min_calls(2));
    calls(&it, 1, Outcome::Failure, end_of_slice);
    let in_time = Instant::from_nanos(10_999_999_999);
    assert!(opens(call(&it, Outcome::Failure, in_time)));
}

#[test]
fn after_a_long_idle_time_nothing_is_remembered() {
    for seconds in [20, 1_000, 1 << 36, (1 << 34) + 5] {
        let it = breaker(Breaker::share(0.5, WITHIN).min_calls(2));
        calls(&it, 1, Outcome::Failure, at(0));
        calls(&it, 1, Outcome::Failure, at(seconds));
    }
}

/// The healthy slices go first: without a further failure the share grows.
#[test]
fn a_success_opens_it_when_old_successes_are_forgotten() {
    let it = breaker(Breaker::share(0.5, WITHIN).min_calls(10));
    calls(&it, 30, Outcome::Success, at(0));
    calls(&it, 20, Outcome::Failure, at(5));
    assert!(opens(call(&it, Outcome::Success, at(10))));

    let it = breaker(Breaker::share(0.5, Span::Calls(100)).min_calls(10));
    calls(&it, 55, Outcome::Success, at(0));
    calls(&it, 45, Outcome::Failure, at(0));
    // Ten calls are forgotten with the next one, all of them good: 45 of 91, of 92.
    calls(&it, 10, Outcome::Success, at(0));
    calls(&it, 10, Outcome::Success, at(0));
    let it = breaker(Breaker::share(0.5, Span::Calls(100)).min_calls(10));
    calls(&it, 51, Outcome::Success, at(0));
    calls(&it, 49, Outcome::Failure, at(0));
    assert!(opens(call(&it, Outcome::Success, at(0))), "49 of 91");
}

#[test]
fn short_windows_of_calls_are_exact() {
    for length in 1..=10_u32 {
        let config = Breaker::share(1.0, Span::Calls(length)).min_calls(length);
        let it = breaker(config);
        calls(&it, 1, Outcome::Success, at(0));
        calls(&it, length as usize - 1, Outcome::Failure, at(0));
        assert!(opens(call(&it, Outcome::Failure, at(0))), "{config}");
    }
}

#[test]
fn a_clock_that_goes_back_is_survived() {
    for config in [
        Breaker::consecutive(3),
        Breaker::share(0.5, Span::Calls(10)).min_calls(2),
        Breaker::share(0.5, WITHIN).min_calls(2),
    ] {
        let it = breaker(config);
        calls(&it, 5, Outcome::Success, Instant::NEVER);
        calls(&it, 5, Outcome::Success, at(1_000));
        let opened = (0..100).any(|_| opens(call(&it, Outcome::Failure, at(5))));
        assert!(opened, "{config}");
        assert_eq!(it.state(at(0)), State::Open);
        assert!(it.admit(|| at(0)).is_err());
        assert!(it.admit(|| at(10)).is_ok());
    }
}

#[test]
fn at_the_end_of_time_nothing_panics() {
    for config in [
        Breaker::consecutive(1),
        Breaker::share(0.5, Span::Calls(1)),
        Breaker::share(0.5, WITHIN).min_calls(1),
    ] {
        let it = breaker(config);
        let told = call(&it, Outcome::Failure, Instant::NEVER).expect("it opens");
        assert!(told.open_for < Some(SECOND), "there is no time left");
        assert_eq!(it.state(Instant::NEVER), State::HalfOpen);
        assert!(it.admit(|| Instant::NEVER).is_ok());
        assert!(it.force_open(Instant::NEVER, || u64::MAX).is_some());
        assert!(it.would_admit(at(0)).is_err());
    }
}

#[test]
fn the_open_time_doubles_up_to_its_maximum() {
    let it = breaker(Breaker::consecutive(1).open_max(30 * SECOND));
    let mut told = call(&it, Outcome::Failure, at(0));
    let mut now = 0;
    let mut times = Vec::new();
    for _ in 0..70 {
        let open_for = told.and_then(|told| told.open_for).expect("it opens");
        times.push(open_for.as_secs());
        now += open_for.as_secs();
        told = call(&it, Outcome::Failure, at(now));
    }
    assert_eq!(times[..5], [5, 10, 20, 30, 30]);
    assert!(times[5..].iter().all(|time| *time == 30));
}

/// It is remembered for `open_max` after the last probe began, and forgotten then.
#[test]
fn an_opening_soon_after_closing_goes_on_where_the_last_one_was() {
    for (again, open_for) in [(64, 10), (65, 5), (1_000, 5)] {
        let it = breaker(Breaker::consecutive(1).successes(1));
        assert!(opens(call(&it, Outcome::Failure, at(0))));
        let told = call(&it, Outcome::Success, at(5)).expect("it closes");
        assert_eq!((told.from, told.to), (State::HalfOpen, State::Closed));
        let told = call(&it, Outcome::Failure, at(again)).expect("it opens");
        assert_eq!(told.open_for, Some(open_for * SECOND), "at {again} s");
    }
}

#[test]
fn closing_by_hand_forgets_the_openings() {
    let it = breaker(Breaker::consecutive(1));
    assert!(opens(call(&it, Outcome::Failure, at(0))));
    assert!(opens(call(&it, Outcome::Failure, at(5))));
    let told = it.force_close().expect("it was open");
    assert_eq!((told.from, told.to), (State::Open, State::Closed));
    let told = call(&it, Outcome::Failure, at(6)).expect("it opens");
    assert_eq!(told.open_for, Some(5 * SECOND));
    assert_eq!(it.force_open(at(6), || 0), None, "it is open already");
}

#[test]
fn isolated_it_passes_nothing_until_that_is_ended() {
    let it = breaker(Breaker::consecutive(1));
    assert!(it.isolate().is_some());
    assert_eq!(it.isolate(), None);
    for now in [at(0), at(1_000_000), Instant::NEVER] {
        let refused = it.admit(|| now).unwrap_err();
        assert_eq!(refused.until, None);
        assert_eq!(it.would_admit(now), Err(refused));
        assert_eq!(it.state(now), State::Isolated);
    }
    assert_eq!(it.force_open(at(0), || 0), None);
    let told = it.end_isolation().expect("it was isolated");
    assert_eq!((told.from, told.to), (State::Isolated, State::HalfOpen));
    assert_eq!(it.end_isolation(), None);
    assert!(it.admit(|| at(0)).expect("a probe").is_probe());
    it.isolate();
    let told = it.force_close().expect("it was isolated");
    assert_eq!((told.from, told.to), (State::Isolated, State::Closed));
    assert_eq!(it.force_close(), None);
}

#[test]
fn while_all_probes_are_under_way_the_next_instant_is_one_open_time_off_or_when_one_is_given_up() {
    let it = breaker(Breaker::consecutive(1).open_max(8 * SECOND));
    assert!(opens(call(&it, Outcome::Failure, at(0))));
    let _probe = it.admit(|| at(5)).expect("due");
    for (now, until) in [(5, 10), (7, 12), (10, 13), (12, 13)] {
        assert_eq!(it.admit(|| at(now)).unwrap_err().until, Some(at(until)));
        assert_eq!(it.would_admit(at(now)).unwrap_err().until, Some(at(until)));
    }
    assert!(it.would_admit(at(13)).is_ok());
}

#[test]
fn asking_ahead_changes_nothing() {
    let it = breaker(Breaker::consecutive(1));
    assert!(it.would_admit(at(0)).is_ok());
    assert!(opens(call(&it, Outcome::Failure, at(0))));
    for _ in 0..10 {
        assert!(it.would_admit(at(5)).is_ok());
        assert_eq!(it.would_admit(at(4)).unwrap_err().until, Some(at(5)));
    }
    assert_eq!(it.state(at(4)), State::Open);
    let permit = it.admit(|| at(5)).expect("due");
    assert_eq!(
        permit.transition().map(|told| told.to),
        Some(State::HalfOpen)
    );
}

#[test]
fn while_closed_no_clock_is_read_to_admit_and_none_to_record_but_for_time() {
    for (config, reads) in [
        (Breaker::consecutive(2), false),
        (Breaker::consecutive(2).slow(SECOND), true),
        (Breaker::share(0.5, Span::Calls(10)), false),
        (Breaker::share(0.5, Span::Calls(10)).slow(SECOND), true),
        (Breaker::share(0.5, WITHIN), true),
    ] {
        let it = breaker(config);
        assert_eq!(it.reads_clock(), reads, "{config}");
        let permit = it.admit(|| unreachable!("closed")).expect("closed");
        let mut read = false;
        let now = || {
            read = true;
            at(0)
        };
        let random = || unreachable!("it does not open");
        it.record(permit, Outcome::Success, now, Duration::ZERO, random);
        let is_time =
            matches!(config.trip, becalm::breaker::Trip::Share { window, .. } if window == WITHIN);
        assert_eq!(read, is_time, "{config}");
    }
}

#[test]
fn a_slow_success_is_a_failure() {
    let it = breaker(Breaker::consecutive(1).slow(SECOND));
    for (took, opens) in [(Duration::from_nanos(999_999_999), false), (SECOND, true)] {
        let permit = it.admit(|| at(0)).expect("closed");
        let told = it.record(permit, Outcome::Success, || at(0), took, || 0);
        assert_eq!(told.is_some(), opens);
    }
}

#[test]
fn a_reload_keeps_the_state_and_begins_its_counts_anew() {
    let it = breaker(Breaker::consecutive(3));
    calls(&it, 2, Outcome::Failure, at(0));
    let under_way = it.admit(|| at(0)).expect("closed");
    it.reconfigure(Breaker::consecutive(2).jitter(0.0), at(0))
        .expect("valid");
    let told = it.record(under_way, Outcome::Failure, || at(0), Duration::ZERO, || 0);
    assert_eq!(told, None);
    calls(&it, 1, Outcome::Failure, at(0));
    assert!(opens(call(&it, Outcome::Failure, at(0))));

    it.reconfigure(Breaker::share(0.5, WITHIN).min_calls(2), at(1))
        .expect("valid");
    assert_eq!(it.would_admit(at(1)).unwrap_err().until, Some(at(5)));
    // Now with a short open time: the one that runs is cut to the new maximum.
    let short = Breaker::share(0.5, Span::Time(SECOND))
        .min_calls(2)
        .successes(1);
    it.reconfigure(short.open(SECOND).open_max(2 * SECOND), at(1))
        .expect("valid");
    assert_eq!(it.would_admit(at(1)).unwrap_err().until, Some(at(3)));
    assert!(call(&it, Outcome::Success, at(3)).is_some_and(|told| told.to == State::Closed));
    calls(&it, 1, Outcome::Failure, at(4));
    calls(&it, 1, Outcome::Failure, at(5)); // the first is a second old, and forgotten
    assert!(opens(call(&it, Outcome::Failure, at(5))));
}

proptest! {
    #[test]
    fn every_open_time_is_drawn_between_its_share_and_its_ceiling(
        open in 1..100_000_u64, growth in 1..50_u64, jitter in 0.0..=1.0_f64, bits: u64,
    ) {
        let open = Duration::from_millis(open);
        let longest = open * u32::try_from(growth).expect("below 50");
        let config = Breaker::consecutive(1).open(open).open_max(longest).jitter(jitter);
        let it = CircuitBreaker::new(config).expect("valid");
        let (mut now, mut ceiling) = (Instant::ZERO, open);
        for _ in 0..8 {
            let permit = it.admit(|| now).expect("due");
            let told = it.record(permit, Outcome::Failure, || now, Duration::ZERO, || bits);
            let open_for = told.and_then(|told| told.open_for).expect("it opens");
            // Times are told in units of 512 ns; shares are kept in millionths.
            let least = ceiling.mul_f64(1.0 - jitter).saturating_sub(ceiling / 1_000_000);
            prop_assert!(open_for >= least, "{open_for:?} < {least:?}");
            prop_assert!(open_for < ceiling + Duration::from_nanos(512), "{open_for:?} > {ceiling:?}");
            now = now.after(open_for);
            ceiling = (ceiling * 2).min(longest);
        }
    }
}

/// At the maximum too: no wave of probes of a fleet that opened together.
#[test]
fn a_fleet_that_opened_together_probes_apart() {
    let mut random = SplitMix64::new(3);
    let config = Breaker::consecutive(1)
        .open(20 * SECOND)
        .open_max(20 * SECOND);
    let mut waves = [0; 20];
    for _ in 0..10_000 {
        let it = CircuitBreaker::new(config).expect("valid");
        let told = it
            .force_open(at(0), || random.next_u64())
            .expect("it was closed");
        let open_for = told.open_for.expect("a time").as_secs();
        waves[usize::try_from(open_for).expect("20 s").min(19)] += 1;
    }
    assert_eq!(waves[..10], [0; 10]);
    // U(10 s, 20 s): a tenth in each second, three standard deviations of sqrt(900) wide.
    assert!(
        waves[10..]
            .iter()
            .all(|probes| (910..=1090).contains(probes)),
        "{waves:?}"
    );
}
