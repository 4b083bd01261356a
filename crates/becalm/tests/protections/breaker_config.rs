//! Is a breaker's configuration read, written and refused as documented?

use std::time::Duration;

use becalm::breaker::{Breaker, CircuitBreaker, InvalidBreaker, Span, Trip};
use becalm::policy::InvalidPolicy;
use proptest::prelude::*;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_breaker_reads_back_what_it_displays() {
    for text in [
        "consecutive:5,open:5s",
        "consecutive:5,open:30s,open-max:2m,jitter:0.25,probes:3,successes:4,refuses:retries",
        "share:0.5,within:10s,min:20,open:5s",
        "share:0.25,calls:100,min:10,slow:1s,open:5s",
    ] {
        assert_eq!(text.parse::<Breaker>().expect(text).to_string(), text);
    }
    assert_eq!("share:0.5".parse(), Ok(Breaker::default()));
    assert_eq!("consecutive:5".parse(), Ok(Breaker::consecutive(5)));
    let all = "share:0.5, within:10s, min:20, slow:1s, open:5s, open-max:2m, jitter:0.5, probes:1, successes:2";
    let expected = Breaker::default().slow(SECOND).open_max(120 * SECOND);
    assert_eq!(all.parse(), Ok(expected));
}

#[test]
fn a_long_open_time_needs_no_open_max() {
    let breaker: Breaker = "consecutive:5,open:10m".parse().expect("valid");
    assert_eq!(breaker.open_max, 600 * SECOND);
}

#[test]
fn a_window_of_few_calls_is_its_own_minimum() {
    assert_eq!(Breaker::share(0.5, Span::Calls(8)).min_calls, 8);
    assert_eq!(Breaker::share(0.5, Span::Calls(80)).min_calls, 20);
    assert_eq!(
        "share:0.5,calls:8".parse(),
        Ok(Breaker::share(0.5, Span::Calls(8)))
    );
}

#[test]
fn what_is_out_of_range_is_refused_by_name() {
    use InvalidBreaker as Why;
    for (text, why) in [
        ("consecutive:0", Why::Consecutive),
        ("consecutive:1000001", Why::Consecutive),
        ("share:0", Why::Share),
        ("share:1.01", Why::Share),
        ("share:nan", Why::Share),
        ("share:0.5,calls:0", Why::Calls),
        ("share:0.5,calls:100000001", Why::Calls),
        ("share:0.5,within:9ms", Why::Time),
        ("share:0.5,within:25h", Why::Time),
        ("share:0.5,min:0", Why::MinCalls),
        ("share:0.5,calls:10,min:11", Why::MinCallsAboveWindow),
        ("share:0.5,slow:0", Why::Slow),
        ("share:0.5,open:999us", Why::Open),
        ("share:0.5,open:5s,open-max:4s", Why::OpenMax),
        ("share:0.5,open-max:25h", Why::OpenMax),
        ("share:0.5,jitter:1.1", Why::Jitter),
        ("share:0.5,jitter:nan", Why::Jitter),
        ("share:0.5,probes:0", Why::Probes),
        ("share:0.5,probes:10001", Why::Probes),
        ("share:0.5,successes:0", Why::Successes),
        ("share:0.5,successes:10001", Why::Successes),
    ] {
        let why = InvalidPolicy::Breaker(why).into();
        assert_eq!(text.parse::<Breaker>(), Err(why), "{text}");
    }
}

#[test]
fn the_bounds_themselves_are_allowed() {
    for text in [
        "consecutive:1,open:1ms,open-max:1ms,jitter:0,probes:1,successes:1",
        "consecutive:1000000,open:24h,open-max:24h,jitter:1,probes:10000,successes:10000",
        "share:0.000001,calls:1,min:1,slow:1ns",
        "share:1,calls:100000000,min:100000000",
        "share:1,within:10ms",
        "share:1,within:24h",
    ] {
        let breaker: Breaker = text.parse().expect(text);
        CircuitBreaker::new(breaker).expect(text);
    }
}

#[test]
fn the_constructor_and_a_reload_refuse_what_validate_refuses() {
    let invalid = Breaker::consecutive(0);
    assert_eq!(
        CircuitBreaker::new(invalid).err(),
        Some(InvalidBreaker::Consecutive)
    );
    let breaker = CircuitBreaker::new(Breaker::default()).expect("valid");
    let reload = breaker.reconfigure(invalid, becalm::time::Instant::ZERO);
    assert_eq!(reload, Err(InvalidBreaker::Consecutive));
}

#[test]
fn a_refusal_names_the_field_and_the_remedy() {
    let why = Breaker::default().open_max(SECOND).validate().unwrap_err();
    assert_eq!(
        why.to_string(),
        "the breaker's open-max must be from open to 24h"
    );
}

fn any_breaker() -> impl Strategy<Value = Breaker> {
    let span = prop_oneof![
        any::<u32>().prop_map(Span::Calls),
        any::<Duration>().prop_map(Span::Time),
    ];
    let trip = prop_oneof![
        any::<u32>().prop_map(Trip::Consecutive),
        (any::<f64>(), span).prop_map(|(share, window)| Trip::Share { share, window }),
    ];
    let times = any::<(Option<Duration>, Duration, Duration)>();
    (trip, times, any::<(u32, f64, u32, u32)>()).prop_map(
        |(trip, (slow, open, open_max), (min_calls, jitter, probes, successes))| {
            let mut breaker = Breaker::default()
                .min_calls(min_calls)
                .open(open)
                .open_max(open_max)
                .jitter(jitter)
                .probes(probes)
                .successes(successes);
            breaker.trip = trip;
            breaker.slow = slow;
            breaker
        },
    )
}

fn valid_breaker() -> impl Strategy<Value = Breaker> {
    let nanos = |range| proptest::strategy::Strategy::prop_map(range, Duration::from_nanos);
    let span = prop_oneof![
        (20..=100_000_000_u32).prop_map(Span::Calls),
        nanos(10_000_000..=86_400_000_000_000_u64).prop_map(Span::Time),
    ];
    let trip = prop_oneof![
        (1..=1_000_000_u32).prop_map(Trip::Consecutive),
        (1e-6..=1.0_f64, span).prop_map(|(share, window)| Trip::Share { share, window }),
    ];
    let slow = proptest::option::of(nanos(1..=u64::MAX));
    let open = nanos(1_000_000..=86_400_000_000_000_u64);
    (
        trip,
        slow,
        (open, 0..1_000_000_u64),
        1..=20_u32,
        0.0..=1.0_f64,
        1..=10_000_u32,
        1..=10_000_u32,
    )
        .prop_map(
            |(trip, slow, (open, more), min, jitter, probes, successes)| {
                let longest = (open + Duration::from_nanos(more)).min(86_400 * SECOND);
                let mut breaker = Breaker::default()
                    .min_calls(min)
                    .open(open)
                    .open_max(longest)
                    .jitter(jitter)
                    .probes(probes)
                    .successes(successes);
                breaker.trip = trip;
                breaker.slow = slow;
                breaker
            },
        )
}

proptest! {
    #[test]
    fn every_valid_breaker_reads_back_what_it_displays(breaker in valid_breaker()) {
        prop_assert_eq!(breaker.validate(), Ok(()));
        prop_assert_eq!(breaker.to_string().parse(), Ok(breaker));
    }

    #[test]
    fn no_figures_panic(breaker in any_breaker()) {
        let valid = breaker.validate();
        prop_assert_eq!(CircuitBreaker::new(breaker).map(|_| ()), valid);
        let _ = breaker.to_string();
    }

    #[test]
    fn no_text_panics(text in "(consecutive|share)?:?[-0-9.a-z:,]{0,40}") {
        let _ = text.parse::<Breaker>();
    }
}
