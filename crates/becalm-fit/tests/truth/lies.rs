//! Logs that mislead: are they refused, or flagged?

use std::time::Duration;

use becalm_fit::{By, Ended, Fitted, Knee, Options, Request, Warning};
use becalm_sim::scenario::Distribution;

use crate::log::{Retries, Truth, fit};

fn exponential(workers: u32, load: f64) -> Truth {
    let time = Distribution::Exponential(Duration::from_millis(20));
    let mut truth = Truth::new("", workers, time, load);
    truth.seconds = 20.0;
    truth
}

fn codes(fitted: &Fitted) -> Vec<&'static str> {
    fitted.warnings.iter().map(Warning::code).collect()
}

/// Every second line.
fn sampled(truth: &Truth) -> Vec<Request> {
    truth.log().into_iter().step_by(2).collect()
}

/// As nginx writes it with `$time_local`: the end in whole seconds, and the time exactly.
fn in_whole_seconds(truth: &Truth) -> Vec<Request> {
    let mut log = truth.log();
    for request in &mut log {
        let end = request.end() / 1_000_000 * 1_000_000;
        request.start = end - i64::try_from(request.duration).unwrap();
    }
    log
}

fn rounded(truth: &Truth, to: i64) -> Vec<Request> {
    let mut log = truth.log();
    for request in &mut log {
        let end = request.end() / to * to;
        request.duration = request.duration / to.unsigned_abs() * to.unsigned_abs();
        request.start = end - i64::try_from(request.duration).unwrap();
    }
    log
}

#[test]
fn of_sampled_lines_nobody_learns_the_workers() {
    let mut told = Options::default();
    told.sampled = 0.5;
    let truth = exponential(12, 0.8);
    let fitted = fit(&sampled(&truth), told);
    assert_eq!((fitted.knee, codes(&fitted)[0]), (Knee::Refused, "sampled"));
    // What is missing is missing from the load alone.
    let rate = fitted.arrivals.value.rate;
    assert!((rate / 480.0 - 1.0).abs() < 0.05, "{rate}");
    assert!(!fitted.workers.is_measured() && !fitted.capacity.is_measured());
}

#[test]
fn of_whole_seconds_nobody_learns_the_workers() {
    let truth = exponential(12, 0.8);
    let fitted = fit(&in_whole_seconds(&truth), Options::default());
    assert_eq!(
        (fitted.knee, codes(&fitted)[0]),
        (Knee::Refused, "coarse-stamps")
    );
    let rate = fitted.arrivals.value.rate;
    assert!((rate / 480.0 - 1.0).abs() < 0.1, "{rate}");
}

#[test]
fn milliseconds_are_fine_enough() {
    let truth = exponential(12, 0.8);
    let fitted = fit(&rounded(&truth, 1000), Options::default());
    let (low, high) = fitted.workers.interval().unwrap();
    assert!((*low..=*high).contains(&12), "{:?}", fitted.workers);
}

/// As nginx writes it: moments and times are those of a clock that stands still for a millisecond.
fn by_a_clock_of_milliseconds(truth: &Truth) -> Vec<Request> {
    let mut log = truth.log();
    for request in &mut log {
        let [start, end] = [request.start, request.end()].map(|it| it / 1000 * 1000);
        request.start = start;
        request.duration = (end - start).unsigned_abs();
    }
    log.sort_by_key(Request::end);
    log
}

#[test]
fn steps_of_the_clock_tear_no_constant_times_apart() {
    for micros in (8_000..16_000).step_by(310) {
        let time = Distribution::Constant(Duration::from_micros(micros));
        let mut truth = Truth::new("", 4, time, 0.7);
        truth.seconds = 20.0;
        for log in [rounded(&truth, 1000), by_a_clock_of_milliseconds(&truth)] {
            let fitted = fit(&log, Options::default());
            assert_eq!(fitted.knee, Knee::Seen, "{micros}: {:?}", codes(&fitted));
            let (low, high) = fitted.workers.interval().unwrap();
            assert!((*low..=*high).contains(&4), "{:?}", fitted.workers);
            let capacity = fitted.capacity.value / truth.capacity();
            assert!((capacity - 1.0).abs() < 0.08, "{micros}: {capacity}");
        }
    }
}

#[test]
fn three_pools_are_no_pool_of_three_times_the_workers() {
    for load in [0.6, 0.7, 0.85] {
        let mut truth = exponential(4, load);
        truth.pools = 3;
        let fitted = truth.fit();
        assert_eq!(
            (fitted.knee, codes(&fitted)[0]),
            (Knee::Refused, "not-in-order"),
            "{load}"
        );
    }
}

#[test]
fn several_upstreams_are_not_fitted_as_one() {
    let mut log = exponential(12, 0.8).log();
    for (at, request) in log.iter_mut().enumerate() {
        request.upstream = 1 + u32::from(at % 2 == 0);
    }
    let fitted = fit(&log, Options::default());
    assert_eq!(fitted.knee, Knee::Refused);
    assert_eq!(fitted.warnings[0], Warning::SeveralPools { upstreams: 2 });
    log.retain(|it| it.upstream == 1);
    let fitted = fit(&log, Options::default());
    assert!(!codes(&fitted).contains(&"several-pools"));
    assert!(
        !codes(&fitted).contains(&"one-pool-assumed"),
        "the log names its one pool"
    );
}

#[test]
fn a_service_that_slows_down_is_flagged_and_fitted_at_its_slowest() {
    let mut truth = exponential(12, 0.6);
    assert!(!codes(&truth.fit()).contains(&"drift"));
    truth.slower = 1.5;
    let fitted = truth.fit();
    assert!(codes(&fitted).contains(&"drift"));
    let capacity = fitted.capacity.value;
    assert!(
        (340.0..=410.0).contains(&capacity),
        "400 in its second half, not {capacity}"
    );
    let times: Vec<f64> = fitted
        .windows
        .iter()
        .map(|it| it.time.value * 1e3)
        .collect();
    assert!(times[0] < 22.0 && times[3] > 28.0, "{times:?}");
}

#[test]
fn the_course_of_a_day_is_no_drift_and_its_busiest_window_is_the_load() {
    let mut truth = exponential(12, 0.6);
    truth.loads = vec![0.2, 0.4, 0.6];
    truth.seconds = 60.0;
    let fitted = truth.fit();
    assert_eq!(codes(&fitted), ["one-pool-assumed"]);
    assert_eq!(fitted.knee, Knee::Seen);
    let rate = fitted.arrivals.value.rate;
    assert!((340.0..400.0).contains(&rate), "{rate}");
}

#[test]
fn a_service_without_a_limit_has_no_upper_end() {
    let mut truth = exponential(10_000, 0.0005);
    truth.seconds = 60.0;
    let fitted = truth.fit();
    assert_eq!(fitted.knee, Knee::Open);
    assert!(fitted.workers.is_open() && fitted.capacity.is_open());
    assert!(
        fitted
            .workers
            .because
            .contains("the log never filled the service")
    );
}

#[test]
fn nothing_is_said_of_a_handful_of_requests() {
    for requests in [0, 1, 20] {
        let log = exponential(12, 0.8).log();
        let fitted = fit(&log[..requests], Options::default());
        assert_eq!((fitted.knee, codes(&fitted)[0]), (Knee::Refused, "too-few"));
        let text = fitted.scenario("few");
        becalm_sim::scenario::file::read(&text, &|_| unreachable!()).unwrap();
    }
}

/// Three in four requests of a storm repeat others.
fn storm(has_ids: bool, clients: u64) -> Truth {
    let mut truth = exponential(4, 0.95);
    truth.timeout = Some(Duration::from_millis(200));
    truth.retries = Some(Retries {
        attempts: 4,
        base: Duration::from_millis(100),
        multiplier: 2.0,
        least: 0.0,
        has_ids,
        clients,
        targets: 5000,
    });
    truth
}

#[test]
fn retries_are_read_off_by_id_and_by_client_and_target() {
    for (has_ids, by) in [(true, By::Id), (false, By::ClientAndTarget)] {
        let fitted = storm(has_ids, 1000).fit();
        assert!(fitted.retries.is_measured());
        let retries = &fitted.retries.value;
        assert_eq!((retries.by, retries.attempts), (Some(by), 4));
        assert_eq!(
            (retries.base, retries.jitter.as_str()),
            (Duration::from_millis(100), "full")
        );
        assert!(
            (retries.multiplier - 2.0).abs() < 0.11,
            "{}",
            retries.multiplier
        );
        // First tries alone are the load: 95 % of 200 a second.
        let rate = fitted.arrivals.value.rate;
        assert!((rate / 190.0 - 1.0).abs() < 0.08, "{rate}");
        let timeout = fitted.timeout.value.as_millis();
        assert!(fitted.timeout.is_measured() && (200..=201).contains(&timeout));
    }
}

#[test]
fn delays_of_other_kinds_are_read_off() {
    for (least, jitter) in [(1.0, "none"), (0.5, "equal"), (0.0, "full")] {
        let mut truth = storm(true, 1000);
        let retries = truth.retries.as_mut().unwrap();
        (retries.least, retries.multiplier) = (least, 3.0);
        let retries = truth.fit().retries.value;
        assert_eq!(
            (retries.base, retries.jitter.as_str()),
            (Duration::from_millis(100), jitter)
        );
        assert!(
            (retries.multiplier - 3.0).abs() < 0.11,
            "{}",
            retries.multiplier
        );
    }
}

#[test]
fn clients_behind_one_address_are_flagged() {
    let mut truth = storm(false, 20);
    truth.retries.as_mut().unwrap().targets = 5;
    assert!(codes(&truth.fit()).contains(&"collisions"));
    assert!(!codes(&storm(false, 1000).fit()).contains(&"collisions"));
}

#[test]
fn what_stands_in_for_a_time_out_is_no_longer_than_it() {
    let mut truth = exponential(12, 0.7);
    truth.timeout = Some(Duration::from_millis(500));
    let fitted = truth.fit();
    assert!(!fitted.timeout.is_measured() && fitted.timeout.value <= Duration::from_millis(500));
}

#[test]
fn bursts_are_told_from_chance() {
    let mut truth = exponential(12, 0.2);
    truth.seconds = 120.0;
    let plain = truth.fit().arrivals.value;
    assert!(
        plain.bursts.is_none() && (0.8..1.3).contains(&plain.dispersion.0),
        "{plain:?}"
    );
    // 5 s in 15 are three times as busy.
    truth.loads = (0..24)
        .map(|at| if at % 3 == 0 { 0.6 } else { 0.2 })
        .collect();
    let bursts = truth.fit().arrivals.value.bursts.unwrap();
    assert!((bursts.rate / 120.0 - 1.0).abs() < 0.1, "{bursts:?}");
    assert!((bursts.burst_rate / 360.0 - 1.0).abs() < 0.1, "{bursts:?}");
    assert!(
        (4.0..6.0).contains(&bursts.burst.as_secs_f64()),
        "{bursts:?}"
    );
    assert!(
        (8.0..12.0).contains(&bursts.pause.as_secs_f64()),
        "{bursts:?}"
    );
}

#[test]
fn a_queue_is_what_those_found_who_were_refused_less_the_workers() {
    let mut truth = exponential(4, 0.95);
    truth.queue = Some(20);
    let fitted = truth.fit();
    assert_eq!((fitted.knee, fitted.workers.value), (Knee::Seen, 4));
    assert_eq!(fitted.queue.value, Some(20));
    assert!(fitted.queue.is_measured() && !fitted.queue.is_open());
    // Where clients left, the service may have more than the log shows: less than it has never stands in.
    truth.timeout = Some(Duration::from_millis(60));
    let queue = truth.fit().queue;
    assert!(queue.value.is_none_or(|it| it >= 20), "{queue:?}");
    assert!(!queue.is_measured() || queue.is_open(), "{queue:?}");
}

/// The rate of a fit, which must be within a twentieth of this.
fn has_the_rate(fitted: &Fitted, expected: f64) {
    let rate = fitted.arrivals.value.rate;
    assert!(
        (rate / expected - 1.0).abs() < 0.05,
        "{rate} for {expected}"
    );
}

#[test]
fn a_week_without_a_log_is_no_part_of_the_load() {
    const WEEK: i64 = 7 * 86_400 * 1_000_000;
    let truth = exponential(12, 0.8);
    let mut log = truth.log();
    let later = log.iter().map(|it| Request {
        start: it.start + WEEK,
        ..*it
    });
    let later: Vec<_> = later.collect();
    log.extend(later);
    let fitted = fit(&log, Options::default());
    has_the_rate(&fitted, 480.0);
    assert!(codes(&fitted).contains(&"silence"), "{:?}", codes(&fitted));
    assert!(fitted.length.as_secs() < 60, "{:?}", fitted.length);
    assert_eq!(fitted.knee, Knee::Seen);
}

#[test]
fn a_line_of_a_wrong_clock_changes_nothing() {
    const YEARS: i64 = 50 * 365 * 86_400 * 1_000_000;
    let log = exponential(12, 0.8).log();
    for (at, by) in [
        (0, -YEARS),
        (3_000, YEARS),
        (3_000, -YEARS),
        (log.len() - 1, YEARS),
    ] {
        let mut log = log.clone();
        log[at].start += by;
        let fitted = fit(&log, Options::default());
        has_the_rate(&fitted, 480.0);
        assert_eq!(fitted.knee, Knee::Seen, "{at} {by}");
    }
}

#[test]
fn a_clock_that_was_set_back_makes_no_service_faster() {
    let truth = exponential(8, 0.75);
    let mut log = truth.log();
    let half = log[log.len() / 2].end();
    for request in log.iter_mut().filter(|it| it.end() > half) {
        request.start -= 8_000_000;
    }
    let fitted = fit(&log, Options::default());
    assert_eq!(codes(&fitted)[0], "out-of-order");
    assert!(
        fitted.capacity.value <= truth.capacity(),
        "{:?} of {}",
        fitted.capacity,
        truth.capacity()
    );
}

#[test]
fn what_a_proxy_answers_itself_is_not_what_the_pool_can_do() {
    let mut log = exponential(4, 0.7).log();
    for request in &mut log {
        request.upstream = 1;
    }
    // Ten files for each request of the pool, in a millisecond each.
    let files = log.iter().flat_map(|it| {
        (0..10).map(|file| Request {
            start: it.start + file * 500,
            duration: 1_000,
            upstream: 0,
            ..*it
        })
    });
    let files: Vec<_> = files.collect();
    let mut both = [log.clone(), files].concat();
    both.sort_by_key(Request::end);
    let (alone, both) = (
        fit(&log, Options::default()),
        fit(&both, Options::default()),
    );
    assert_eq!(both.workers.value, 4, "{:?}", both.workers);
    assert!((both.capacity.value / alone.capacity.value - 1.0).abs() < 0.02);
    has_the_rate(&both, alone.arrivals.value.rate);
    assert!(codes(&both).contains(&"without-upstream"));
    assert!(!codes(&alone).contains(&"without-upstream"));
}

#[test]
fn a_log_that_is_in_no_order_gives_its_rate_alone() {
    let log = exponential(4, 0.7).log();
    let of = |rest| log.iter().skip(rest).step_by(2);
    let two_servers = of(0).chain(of(1)).copied().collect::<Vec<_>>();
    // By client, of which there are 97.
    let mut by_client: Vec<_> = log.iter().copied().enumerate().collect();
    by_client.sort_by_key(|(at, _)| at % 97);
    let by_client: Vec<_> = by_client.into_iter().map(|it| it.1).collect();
    for (log, name) in [
        (two_servers, "one after the other"),
        (by_client, "by client"),
    ] {
        let fitted = fit(&log, Options::default());
        assert_eq!(fitted.knee, Knee::Refused, "{name}");
        assert_eq!(codes(&fitted)[0], "out-of-order", "{name}");
        has_the_rate(&fitted, 140.0);
    }
    // A server that writes its lines in blocks is waited for.
    let mut blocks = vec![Vec::new(); 4];
    let mut written = Vec::new();
    for (at, request) in log.iter().enumerate() {
        let block = &mut blocks[at * 7 % 11 % 4];
        block.push(*request);
        if block.len() == 100 {
            written.append(block);
        }
    }
    written.extend(blocks.concat());
    let fitted = fit(&written, Options::default());
    let told: u64 = fitted
        .warnings
        .iter()
        .map(|it| match it {
            Warning::OutOfOrder { requests } => *requests,
            _ => 0,
        })
        .sum();
    assert!(told < 300, "those of the first block of each, not {told}");
    has_the_rate(&fitted, 140.0);
}

#[test]
fn of_seconds_nobody_learns_the_workers_of_a_service_that_takes_two() {
    for time in [
        Distribution::Constant(Duration::from_millis(1_050)),
        Distribution::Exponential(Duration::from_millis(2_500)),
    ] {
        let mut truth = Truth::new("", 16, time, 0.8);
        truth.seconds = 600.0;
        let fitted = fit(&in_whole_seconds(&truth), Options::default());
        assert_eq!(
            (fitted.knee, codes(&fitted)[0]),
            (Knee::Refused, "coarse-stamps")
        );
    }
}

#[test]
fn a_delay_above_the_usual_cap_is_a_scenario_all_the_same() {
    let mut truth = storm(true, 1000);
    truth.seconds = 60.0;
    if let Some(retries) = &mut truth.retries {
        (retries.base, retries.multiplier, retries.attempts) = (Duration::from_secs(40), 1.0, 2);
    }
    let fitted = truth.fit();
    assert!(
        fitted.retries.value.base > Duration::from_secs(30),
        "{:?}",
        fitted.retries
    );
    let text = fitted.scenario("late");
    becalm_sim::scenario::file::read(&text, &|_| unreachable!()).unwrap();
}

#[test]
fn a_service_that_answers_nobody_is_not_taken_for_a_quick_one() {
    let mut log = exponential(4, 0.7).log();
    for request in &mut log {
        (request.duration, request.ended) = (1_000_000, Ended::Abandoned);
    }
    let fitted = fit(&log, Options::default());
    assert_eq!(
        (fitted.knee, codes(&fitted)[0]),
        (Knee::Refused, "abandoned")
    );
    assert!(fitted.capacity.value < 2.0, "{:?}", fitted.capacity);
    assert!(fitted.time.value >= 1.0, "{:?}", fitted.time);
}
