//! Does any value that stands in a scenario make the service or its load look better than they are?

use std::time::Duration;

use becalm::rng::{Random, SplitMix64};
use becalm_fit::{By, Ended, Fitted, How, Knee, Options, Request};
use becalm_sim::scenario::{Arrivals, Distribution, Scenario, file};
use becalm_sim::verdict;

use crate::log::{Retries, Truth, fit};

fn exponential(workers: u32, load: f64) -> Truth {
    let time = Distribution::Exponential(Duration::from_millis(20));
    Truth::new("", workers, time, load)
}

/// What a storm reads of it.
fn scenario(fitted: &Fitted) -> Scenario {
    let text = fitted.scenario("fitted");
    let scenario = file::read(&text, &|_| unreachable!());
    let scenario = scenario.unwrap_or_else(|it| panic!("{it}\n{text}"));
    verdict::judgeable(&scenario).unwrap_or_else(|it| panic!("{it}\n{text}"));
    scenario
}

/// First tries per second in a scenario, on average, which must be the most that the fit says.
fn rate(fitted: &Fitted) -> f64 {
    let rate = match scenario(fitted).populations[0].arrivals {
        Arrivals::Poisson(rate) => rate,
        Arrivals::Bursty {
            rate,
            burst_rate,
            burst,
            pause,
        } => {
            let (burst, pause) = (burst.as_secs_f64(), pause.as_secs_f64());
            (burst_rate * burst + rate * pause) / (burst + pause)
        }
        ref other => panic!("{other:?}"),
    };
    let arrivals = &fitted.arrivals;
    let told = arrivals.interval().map_or(&arrivals.value, |it| it.1).rate;
    assert!((rate / told - 1.0).abs() < 1e-3, "{rate} for {told}");
    rate
}

/// Each request becomes a page of eight within 300 ms.
fn in_pages(log: &[Request]) -> Vec<Request> {
    let mut random = SplitMix64::new(7);
    let pages = log.iter().flat_map(|it| [*it; 8]);
    let mut all: Vec<_> = pages
        .map(|it| Request {
            start: it.start + (random.next_u64() % 300_000) as i64,
            ..it
        })
        .collect();
    all.sort_by_key(Request::end);
    all
}

/// In a quarter of an hour at 115 % more than six thousand wait, the last of them for more than two minutes.
#[test]
fn a_backlog_of_thousands_tells_the_capacity() {
    let time = Distribution::Exponential(Duration::from_millis(80));
    let mut truth = Truth::new("backlog", 4, time, 0.3);
    truth.loads = vec![0.6, 1.15, 0.3];
    truth.seconds = 2700.0;
    let fitted = truth.fit();
    let capacity = fitted.capacity.value;
    assert_eq!(fitted.knee, Knee::Seen, "{:?}", fitted.warnings);
    assert!((46.0..=51.0).contains(&capacity), "{capacity}/s of 50");
}

#[test]
fn bursts_are_those_of_the_busiest_window() {
    // Half an hour, of which three minutes are busy.
    let mut truth = exponential(8, 0.01);
    truth.seconds = 1800.0;
    truth.loads = vec![0.01; 10];
    truth.loads[5] = 0.05;
    let fitted = fit(&in_pages(&truth.log()), Options::default());
    let arrivals = &fitted.arrivals.value;
    assert!(arrivals.dispersion.1 > 2.0, "{arrivals:?}");
    let rate = rate(&fitted);
    assert!(
        (150.0..200.0).contains(&rate),
        "160 at the peak, not {rate}"
    );
}

#[test]
fn a_load_that_rises_is_no_burst() {
    let mut truth = exponential(8, 0.15);
    truth.seconds = 119.0;
    truth.loads = (0..60)
        .map(|it| 0.15 + 0.75 * f64::from(it) / 60.0)
        .collect();
    let fitted = truth.fit();
    assert!(
        fitted.arrivals.value.bursts.is_none(),
        "{:?}",
        fitted.arrivals
    );
    let rate = rate(&fitted);
    assert!(rate > 330.0, "355 in its last 5 s, not {rate}");
}

#[test]
fn several_bursts_are_told_with_their_own_mean() {
    let mut truth = exponential(12, 0.2);
    truth.seconds = 120.0;
    truth.loads = (0..24)
        .map(|at| if at % 3 == 0 { 0.6 } else { 0.2 })
        .collect();
    let mut half = Options::default();
    half.sampled = 0.5;
    let sampled: Vec<_> = truth.log().into_iter().step_by(2).collect();
    for fitted in [truth.fit(), fit(&sampled, half)] {
        let bursts = fitted.arrivals.value.bursts.unwrap();
        assert!((bursts.burst_rate / 360.0 - 1.0).abs() < 0.15, "{bursts:?}");
        let rate = rate(&fitted);
        assert!((190.0..250.0).contains(&rate), "200, not {rate}");
    }
}

#[test]
fn a_peak_at_the_end_is_the_load() {
    let mut truth = exponential(8, 0.225);
    truth.seconds = 59.9;
    truth.loads = vec![0.225; 12];
    truth.loads[11] = 0.95;
    let fitted = truth.fit();
    let rate = rate(&fitted);
    assert!(rate > 350.0, "380 in its last 5 s, not {rate}");
    let How::Measured { low, .. } = &fitted.arrivals.how else {
        panic!("{:?}", fitted.arrivals)
    };
    assert!((low.rate / 114.0 - 1.0).abs() < 0.1, "{low:?}");
}

#[test]
fn refusals_that_met_no_full_queue_tell_no_queue() {
    let log = exponential(8, 0.7).log();
    let refused = |is_refused: &dyn Fn(usize, f64) -> bool, status| {
        let begin = log[0].start;
        let mut log = log.clone();
        for (at, request) in log.iter_mut().enumerate() {
            if is_refused(at, (request.start - begin) as f64 / 1e6) {
                (request.duration, request.ended) = (300, Ended::Answered(status));
            }
        }
        log.sort_by_key(Request::end);
        fit(&log, Options::default())
    };
    let limited = refused(&|at, _| at % 33 == 0, 503);
    let deployed = refused(&|_, at| (30.0..40.0).contains(&at), 502);
    for (fitted, share) in [(limited, 0.03), (deployed, 0.16)] {
        assert_eq!(
            (fitted.queue.value, fitted.queue.is_measured()),
            (None, false)
        );
        assert!(
            fitted.queue.because.contains("no full queue"),
            "{:?}",
            fitted.queue
        );
        let failures = fitted.failures.value;
        assert!((failures / share - 1.0).abs() < 0.2, "{failures}");
    }
}

/// As a proxy with this time-out writes it.
fn behind_a_proxy(mut truth: Truth, timeout: Duration) -> Vec<Request> {
    truth.timeout = Some(timeout);
    let mut log = truth.log();
    for request in &mut log {
        if request.ended == Ended::Abandoned {
            request.ended = Ended::Answered(504);
        }
    }
    log
}

#[test]
fn a_proxy_that_gives_up_is_like_a_client_that_leaves() {
    let timeout = Duration::from_millis(150);
    let truth = exponential(8, 0.97);
    let fitted = fit(&behind_a_proxy(truth, timeout), Options::default());
    assert!(fitted.ends.abandoned > 100, "{:?}", fitted.ends);
    assert!(fitted.timeout.is_measured());
    assert!(fitted.timeout.value.abs_diff(timeout) < Duration::from_millis(2));
    assert!(fitted.failures.value < 0.001, "{:?}", fitted.failures);
    assert!(
        fitted.capacity.value < 400.0 * 1.03,
        "{:?}",
        fitted.capacity
    );
}

#[test]
fn a_quick_504_is_a_failure_of_the_service() {
    let mut log = exponential(8, 0.7).log();
    let quick = log.iter_mut().filter(|it| it.duration < 5_000).step_by(4);
    for request in quick {
        request.ended = Ended::Answered(504);
    }
    let fitted = fit(&log, Options::default());
    assert_eq!((fitted.knee, fitted.ends.abandoned), (Knee::Seen, 0));
    assert!(fitted.failures.value > 0.01 && !fitted.timeout.is_measured());
}

fn retrying(attempts: u32, has_ids: bool) -> Truth {
    let mut truth = exponential(4, 0.95);
    truth.timeout = Some(Duration::from_millis(200));
    truth.retries = Some(Retries {
        attempts,
        base: Duration::from_millis(100),
        multiplier: 2.0,
        least: 0.0,
        has_ids,
        clients: 1000,
        targets: 5000,
    });
    truth
}

#[test]
fn a_few_ids_that_are_told_twice_hide_no_retries() {
    let truth = retrying(4, true);
    let with_ids = truth.fit().arrivals.value.rate;
    let mut log = truth.log();
    // A proxy draws an id for each, unless its caller has one.
    for (request, own) in log.iter_mut().zip(1_u64..) {
        if request.id % 50 != 0 {
            request.id = u64::MAX - own;
        }
    }
    let fitted = fit(&log, Options::default());
    assert_eq!(fitted.retries.value.by, Some(By::ClientAndTarget));
    let rate = fitted.arrivals.value.rate;
    assert!(
        (rate / with_ids - 1.0).abs() < 0.02,
        "{rate} for {with_ids}"
    );
}

#[test]
fn ids_tell_retries_of_clients_that_share_an_address() {
    let mut truth = retrying(4, true);
    let retries = truth.retries.as_mut().unwrap();
    (retries.clients, retries.targets) = (3, 5);
    let fitted = truth.fit();
    assert_eq!(fitted.retries.value.by, Some(By::Id));
    assert_eq!(fitted.retries.value.attempts, 4);
}

#[test]
fn where_hardly_a_call_is_given_up_attempts_are_open() {
    let mut random = SplitMix64::new(3);
    let mut log = Vec::new();
    for call in 1..=10_000_u64 {
        let (mut start, mut is_over) = (1_790_000_000_000_000 + call as i64 * 5_003, false);
        while !is_over {
            is_over = random.next_u64() % 20 != 0;
            let ended = Ended::Answered(if is_over { 200 } else { 500 });
            let (duration, id) = (4_000, call);
            log.push(Request {
                start,
                duration,
                ended,
                client: 0,
                target: 0,
                id,
                upstream: 0,
                at_upstream: None,
            });
            start += 4_000 + 200_000;
        }
    }
    log.sort_by_key(Request::end);
    let fitted = fit(&log, Options::default());
    assert!(fitted.retries.is_open(), "{:?}", fitted.retries);
    let How::Measured { low, .. } = &fitted.retries.how else {
        unreachable!()
    };
    let value = &fitted.retries.value;
    assert_eq!((low.attempts, value.attempts), (3, 4));
    assert_eq!(
        (value.base, &*value.jitter),
        (Duration::from_millis(200), "none")
    );
    let text = fitted.scenario("open");
    assert!(
        text.contains("base = \"200ms\"") && text.contains("attempts = 4"),
        "{text}"
    );
}

#[test]
fn who_leaves_at_once_tells_no_time_out_and_a_moment_no_rate() {
    let mut log = exponential(8, 0.7).log();
    for request in log.iter_mut().step_by(20) {
        (request.duration, request.ended) = (0, Ended::Abandoned);
    }
    log.sort_by_key(Request::end);
    let fitted = fit(&log, Options::default());
    assert!(!fitted.timeout.is_measured() && !fitted.timeout.value.is_zero());
    scenario(&fitted);
    for requests in [1, 2, 9, 200] {
        let fitted = fit(&exponential(8, 0.7).log()[..requests], Options::default());
        assert!(!fitted.arrivals.is_measured(), "{requests}");
        assert!(fitted.arrivals.because.contains("tell no rate"));
        assert!(rate(&fitted) < 400.0);
    }
}

#[test]
fn whatever_is_in_a_log_a_storm_reads_its_scenario() {
    let mut random = SplitMix64::new(11);
    for round in 0..400 {
        let mut draw = |most: u64| random.next_u64() % most;
        let [gap, longest] = [8, 11].map(|most| 10_u64.pow(draw(most) as u32));
        let [requests, gap, longest, names] = [400, gap, longest, 5].map(|it| 1 + draw(it));
        let (mut log, mut start) = (Vec::new(), 1_790_000_000_000_000);
        for _ in 0..requests {
            start += draw(gap) as i64;
            let status = [200, 404, 429, 500, 502, 503, 504, 0][draw(8) as usize];
            log.push(Request {
                start,
                duration: draw(longest) * draw(2),
                ended: if status == 0 {
                    Ended::Abandoned
                } else {
                    Ended::Answered(status)
                },
                client: draw(names),
                target: draw(names),
                id: draw(names),
                upstream: 0,
                at_upstream: None,
            });
        }
        log.sort_by_key(Request::end);
        let fitted = fit(&log, Options::default());
        let scenario = scenario(&fitted);
        let capacity = fitted.capacity.value;
        let load = rate(&fitted);
        assert!(
            load < 1e5 && capacity < 1e7,
            "{round}: {load} of {capacity}"
        );
        assert!(scenario.services[0].workers > 0);
    }
}
