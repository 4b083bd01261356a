//! Services whose requests share the processors: none waits, each slows the others down.

use std::time::Duration;

use becalm::rng::{Random, SplitMix64};
use becalm_fit::{Ended, Fitted, How, Knee, Options, Request};
use becalm_sim::scenario::Distribution;

use crate::log::{BEGIN, Truth, draw, fit};

/// The log of a service that has so many processors as the truth has workers.
fn log(truth: &Truth) -> Vec<Request> {
    let processors = f64::from(truth.workers);
    let mut random = SplitMix64::new(truth.seed);
    let mut log = Vec::new();
    // When each began, and how much work it has left.
    let mut working: Vec<(f64, f64)> = Vec::new();
    let (mut now, mut next) = (0.0, 0.0);
    while now < truth.seconds {
        let pace = (processors / working.len().max(1) as f64).min(1.0);
        let least = working.iter().map(|it| it.1).fold(f64::MAX, f64::min);
        let at = (now + least / pace).min(next);
        for it in &mut working {
            it.1 -= (at - now) * pace;
        }
        now = at;
        if at < next {
            working.retain(|(start, left)| {
                let is_over = *left <= 1e-9;
                if is_over {
                    log.push(Request {
                        start: BEGIN + (start * 1e6) as i64,
                        duration: ((now - start) * 1e6).max(1.0) as u64,
                        ended: Ended::Answered(200),
                        client: 0,
                        target: 0,
                        id: 0,
                        upstream: 0,
                        at_upstream: None,
                    });
                }
                !is_over
            });
        } else {
            working.push((now, draw(&truth.time, &mut random)));
            let unit = ((random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
            next += -unit.ln() / (truth.loads[0] * truth.capacity());
        }
    }
    log
}

/// Of 20 ms on average.
fn lognormal() -> Distribution {
    Distribution::Lognormal {
        median: Duration::from_micros(12_130),
        sigma: 1.0,
    }
}

/// What a fit says that the service can do at least, as a share of the truth.
fn at_least(fitted: &Fitted, capacity: f64) -> f64 {
    let low = fitted.capacity.interval().map(|it| *it.0);
    low.unwrap_or(fitted.capacity.value) / capacity
}

#[test]
fn processors_that_are_shared_are_not_taken_for_more_of_them() {
    let ms = Duration::from_millis;
    let times = [
        Distribution::Exponential(ms(20)),
        Distribution::Constant(ms(20)),
        lognormal(),
    ];
    let (mut fits, mut above) = (0, 0);
    for (workers, time) in [4, 8, 16]
        .iter()
        .flat_map(|it| times.iter().map(move |time| (*it, time)))
    {
        for (load, seed) in [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8].into_iter().zip(0..) {
            let mut truth = Truth::new("", workers, time.clone(), load);
            truth.seed = seed;
            let fitted = fit(&log(&truth), Options::default());
            let least = at_least(&fitted, truth.capacity());
            let what = format!("{workers} at {load}, {time:?}: {:?} {least}", fitted.knee);
            assert!(least < 1.25, "{what}");
            assert!(fitted.knee != Knee::Seen || least < 1.02, "{what}");
            fits += 1;
            above += u32::from(least > 1.1);
        }
    }
    // Their mean time is known to a few percent; chance lets one of many see a processor more.
    assert!(above * 20 <= fits, "{above} of {fits}");
}

/// Where times are even and the log is short, requests that share look like those that wait.
#[test]
#[ignore = "nine hundred logs: scripts/prove fit"]
fn half_a_minute_in_full() {
    let ms = Duration::from_millis;
    let times = [
        Distribution::Constant(ms(20)),
        Distribution::Uniform(ms(10), ms(30)),
        lognormal(),
        Distribution::Exponential(ms(20)),
    ];
    let (mut fits, mut closed) = (0, Vec::new());
    for (workers, time) in [2, 3, 4, 6, 8, 12, 16]
        .iter()
        .flat_map(|it| times.iter().map(move |time| (*it, time)))
    {
        for (load, seed) in (2..=9).flat_map(|it| (0..4).map(move |seed| (it, seed))) {
            let mut truth = Truth::new("", workers, time.clone(), f64::from(load) / 10.0);
            truth.seed = seed;
            truth.seconds = 30.0;
            let fitted = fit(&log(&truth), Options::default());
            fits += 1;
            if fitted.knee == Knee::Seen {
                let share = fitted.capacity.value / truth.capacity();
                println!("{workers} at 0.{load}, {time:?}: closed, {share:.2} of the truth");
                closed.push(share);
            }
        }
    }
    println!("{} of {fits} closed", closed.len());
    assert!(closed.len() * 40 <= fits, "{} of {fits}", closed.len());
    assert!(closed.iter().all(|it| *it < 1.4), "{closed:?}");
}

#[test]
fn a_crowd_of_quick_requests_hides_no_few_that_do_the_work() {
    let ms = Duration::from_millis;
    let (mut fits, mut above) = (0, 0);
    for load in [0.4, 0.6, 0.8, 0.9] {
        for (rate, time, seed) in [(200.0, 2, 1), (100.0, 1, 2), (50.0, 2, 3), (400.0, 1, 4)] {
            let mut truth = Truth::new("", 4, Distribution::Exponential(ms(50)), load);
            truth.seed = seed;
            let mut files = Truth::new("", 1000, Distribution::Exponential(ms(time)), 1.0);
            files.loads = vec![rate / files.capacity()];
            files.seed = seed + 100;
            let mut log = [truth.log(), files.log()].concat();
            log.sort_by_key(Request::end);
            let fitted = fit(&log, Options::default());
            let least = at_least(&fitted, truth.capacity() + rate / load);
            let what = format!("{load}, files {rate}/s: {:?} {least}", fitted.knee);
            assert!(fitted.knee != Knee::Seen && least < 1.25, "{what}");
            fits += 1;
            above += u32::from(least > 1.1);
        }
    }
    assert!(above * 8 <= fits, "{above} of {fits}");
}

#[test]
fn of_a_few_that_take_a_hundred_times_as_long_a_service_time_stays_one() {
    for (workers, load) in [(16, 0.5), (16, 0.7), (64, 0.5), (64, 0.8)] {
        let time = Distribution::Bimodal {
            fast: Duration::from_millis(20),
            slow: Duration::from_secs(3),
            slow_share: 0.03,
        };
        let truth = Truth::new("", workers, time, load);
        let fitted = truth.fit();
        let how = format!("{workers} at {load}: {:?}, {:?}", fitted.knee, fitted.time);
        let capacity = fitted.capacity.value / truth.capacity();
        assert!((0.3..1.1).contains(&capacity), "{how}: {capacity}");
        if let How::Measured { low, .. } = fitted.capacity.how {
            assert!(low > 0.0 && low <= fitted.capacity.value, "{how}: {low}");
        }
    }
}
