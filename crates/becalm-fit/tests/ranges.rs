//! Does a range of Prometheus say of a service what is true of it, or that it does not know?
//!
//! Services of known capacity, first come, first served; the answers of Prometheus are made of their histograms as `rate` does.

use std::collections::{BinaryHeap, VecDeque};
use std::fmt::Write as _;

use becalm::rng::{Random, SplitMix64};
use becalm_fit::prometheus::Range;
use becalm_fit::{Fitted, Knee};

/// Bounds of the client libraries' default histogram, in seconds.
const BOUNDS: [f64; 11] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];
/// Between two scrapes.
const STEP: f64 = 15.0;
/// Scrapes in the window of a rate.
const WINDOW: usize = 4;

struct Service {
    workers: usize,
    /// The mean of a request, in seconds.
    time: f64,
    shape: Shape,
    /// Shares of the capacity, and for how many seconds each.
    loads: Vec<(f64, f64)>,
    /// Requests that may wait; others are refused at once.
    queue: usize,
    /// From when to when a dependency makes each request take this many times as long.
    slow: Option<(f64, f64, f64)>,
    /// Whether refusals have a status of their own in the series.
    tells: bool,
    seed: u64,
}

#[derive(Debug, Clone, Copy)]
enum Shape {
    Constant,
    Exponential,
    TwoKinds,
}

impl Service {
    fn new(workers: usize, time: f64, shape: Shape, loads: &[(f64, f64)]) -> Self {
        Self {
            workers,
            time,
            shape,
            loads: loads.to_vec(),
            queue: usize::MAX,
            slow: None,
            tells: true,
            seed: 1,
        }
    }

    fn capacity(&self) -> f64 {
        #[expect(clippy::cast_precision_loss)] // a handful
        let workers = self.workers as f64;
        workers / self.time
    }

    /// When each request ended, how long it took, and whether it was served.
    fn run(&self) -> Vec<(f64, f64, bool)> {
        let mut random = SplitMix64::new(self.seed);
        let mut uniform = move || {
            #[expect(clippy::cast_precision_loss)] // 53 bits
            let share = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
            1.0 - share
        };
        // In whole nanoseconds, as a heap needs an order; the earliest first.
        let mut free: BinaryHeap<std::cmp::Reverse<u64>> =
            (0..self.workers).map(|_| std::cmp::Reverse(0)).collect();
        let mut begins: VecDeque<f64> = VecDeque::new();
        let mut ended = Vec::new();
        let (mut now, mut until) = (0.0, 0.0);
        for (load, length) in &self.loads {
            until += length;
            loop {
                now += -uniform().ln() / (load * self.capacity());
                if now > until {
                    now = until;
                    break;
                }
                while begins.front().is_some_and(|it| *it <= now) {
                    begins.pop_front();
                }
                if begins.len() > self.queue {
                    ended.push((now + 0.0005, 0.0005, false));
                    continue;
                }
                let slower = match self.slow {
                    Some((from, to, by)) if (from..to).contains(&now) => by,
                    _ => 1.0,
                };
                let time = slower
                    * self.time
                    * match self.shape {
                        Shape::Constant => 1.0,
                        Shape::Exponential => -uniform().ln(),
                        Shape::TwoKinds if uniform() < 0.1 => 5.5,
                        Shape::TwoKinds => 0.5,
                    };
                let std::cmp::Reverse(nanos) = free.pop().expect("a worker");
                #[expect(clippy::cast_precision_loss)] // hours
                let begin = (nanos as f64 / 1e9).max(now);
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                free.push(std::cmp::Reverse(((begin + time) * 1e9) as u64));
                if self.queue < usize::MAX {
                    begins.push_back(begin);
                }
                ended.push((begin + time, begin + time - now, true));
            }
        }
        ended.retain(|it| it.0 < until);
        ended.sort_by(|one, other| one.0.total_cmp(&other.0));
        ended
    }

    fn fit(&self) -> Fitted {
        let ended = self.run();
        let last = ended.last().expect("requests").0;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let scrapes = (last / STEP) as usize;
        // count, sum, refused, buckets: at each scrape.
        let mut counters = vec![vec![0.0; 3 + BOUNDS.len() + 1]; scrapes + 1];
        for (end, took, is_served) in &ended {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let at = (end / STEP).ceil() as usize;
            if let Some(scrape) = counters.get_mut(at) {
                scrape[0] += 1.0;
                scrape[1] += took;
                scrape[2] += f64::from(u8::from(!is_served));
                for (bucket, bound) in BOUNDS.iter().enumerate() {
                    scrape[3 + bucket] += f64::from(u8::from(took <= bound));
                }
                scrape[3 + BOUNDS.len()] += 1.0;
            }
        }
        let mut so_far = vec![0.0; 3 + BOUNDS.len() + 1];
        for scrape in &mut counters {
            for (counter, sum) in scrape.iter_mut().zip(&mut so_far) {
                *sum += *counter;
                *counter = *sum;
            }
        }
        let mut result = Vec::new();
        let mut series = |labels: &str, column: usize| {
            let mut values = Vec::new();
            for at in WINDOW..counters.len() {
                #[expect(clippy::cast_precision_loss)] // a handful
                let (window, moment) = (STEP * WINDOW as f64, STEP * at as f64);
                let rate = (counters[at][column] - counters[at - WINDOW][column]) / window;
                values.push(format!("[{moment},\"{rate}\"]"));
            }
            let values = values.join(",");
            result.push(format!(r#"{{"metric":{{{labels}}},"values":[{values}]}}"#));
        };
        series(r#""becalm":"rate""#, 0);
        series(r#""becalm":"time_s""#, 1);
        if self.tells {
            series(r#""becalm":"failed""#, 2);
        }
        for (bucket, bound) in BOUNDS.iter().enumerate() {
            series(
                &format!(r#""becalm":"bucket_s","le":"{bound}""#),
                3 + bucket,
            );
        }
        series(r#""becalm":"bucket_s","le":"+Inf""#, 3 + BOUNDS.len());
        let text = format!(
            r#"{{"status":"success","data":{{"resultType":"matrix","result":[{}]}}}}"#,
            result.join(",")
        );
        Range::read(text.as_bytes()).expect("a range").fit()
    }

    /// Whether the fit says nothing that the truth does not hold.
    fn is_honest(&self, fitted: &Fitted) -> Result<(), String> {
        let (truth, said) = (self.capacity(), fitted.capacity.value);
        let mut wrong = String::new();
        match fitted.knee {
            Knee::Seen if (said / truth - 1.0).abs() > 0.15 => {
                let _ = write!(wrong, "closed at {said:.1} of {truth:.1}");
            }
            Knee::Seen if said > 1.05 * truth => {
                let _ = write!(wrong, "optimistic: {said:.1} of {truth:.1}");
            }
            Knee::Open | Knee::Refused if said > 1.03 * truth => {
                let _ = write!(wrong, "open at {said:.1} of {truth:.1}");
            }
            _ => {}
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong) }
    }
}

const DAY: [(f64, f64); 5] = [
    (0.2, 900.0),
    (0.5, 900.0),
    (0.8, 600.0),
    (1.15, 900.0),
    (0.3, 1200.0),
];
const QUIET: [(f64, f64); 3] = [(0.2, 900.0), (0.6, 900.0), (0.4, 900.0)];

#[test]
fn a_stretch_without_room_tells_the_capacity_and_a_quiet_day_a_lower_bound() {
    let mut closed = 0;
    for (workers, time) in [
        (1, 0.04),
        (1, 0.2),
        (4, 0.04),
        (4, 0.2),
        (16, 0.2),
        (64, 0.4),
    ] {
        for shape in [Shape::Constant, Shape::Exponential, Shape::TwoKinds] {
            let service = Service::new(workers, time, shape, &DAY);
            let fitted = service.fit();
            let told = service.is_honest(&fitted);
            assert_eq!(told, Ok(()), "{workers} {shape:?} {time}");
            closed += u32::from(fitted.knee == Knee::Seen);
            if fitted.knee == Knee::Seen {
                let number = f64::from(fitted.workers.value)
                    / f64::from(u32::try_from(workers).expect("few"));
                assert!(
                    (0.75..1.5).contains(&number),
                    "{workers} {shape:?}: {number}"
                );
            }
            let quiet = Service::new(workers, time, shape, &QUIET);
            let fitted = quiet.fit();
            assert_eq!(
                quiet.is_honest(&fitted),
                Ok(()),
                "{workers} {shape:?} {time}"
            );
            assert_eq!(fitted.knee, Knee::Open, "{workers} {shape:?} {time}");
        }
    }
    assert!(closed >= 12, "{closed} of 18 are closed");
}

#[test]
fn refusals_are_no_work_and_a_slow_dependency_is_no_capacity() {
    for seed in 0..4 {
        for (queue, tells) in [(5, true), (5, false), (100, true), (100, false)] {
            let mut refusing = Service::new(4, 0.08, Shape::Exponential, &DAY);
            (refusing.queue, refusing.tells, refusing.seed) = (queue, tells, seed);
            refusing.loads[3].0 = 3.0;
            let fitted = refusing.fit();
            assert_eq!(
                refusing.is_honest(&fitted),
                Ok(()),
                "{queue} {tells} {seed}"
            );
        }
        let mut slow = Service::new(100, 0.05, Shape::Exponential, &[(0.3, 3600.0)]);
        slow.slow = Some((1500.0, 2100.0, 3.0));
        slow.seed = seed;
        let fitted = slow.fit();
        assert_eq!(fitted.knee, Knee::Open, "{seed}: {:?}", fitted.capacity);
        assert_eq!(slow.is_honest(&fitted), Ok(()), "{seed}");
    }
}

#[test]
fn quick_refusals_at_any_load_make_no_service_quick() {
    // One worker, 2.5 a second; ten times as many requests come, and nearly all are refused within a millisecond.
    let mut refusing = Service::new(1, 0.4, Shape::Exponential, &[(10.0, 3600.0)]);
    refusing.queue = 0;
    let fitted = refusing.fit();
    assert_eq!(refusing.is_honest(&fitted), Ok(()), "{:?}", fitted.capacity);
    // None is served: nothing is known.
    let text = |kind: &str, value: &str| {
        let values = (0..100).map(|at| format!("[{},\"{value}\"]", at * 15));
        let values = values.collect::<Vec<_>>().join(",");
        format!(r#"{{"metric":{{"becalm":"{kind}"}},"values":[{values}]}}"#)
    };
    let result = [
        text("rate", "90"),
        text("time_s", "0.09"),
        text("failed", "90"),
    ]
    .join(",");
    let text =
        format!(r#"{{"status":"success","data":{{"resultType":"matrix","result":[{result}]}}}}"#);
    let fitted = Range::read(text.as_bytes()).expect("a range").fit();
    assert_eq!(fitted.knee, Knee::Refused);
    assert!(fitted.capacity.value < 1.0, "{:?}", fitted.capacity);
}

#[test]
fn a_range_becomes_a_scenario() {
    let service = Service::new(4, 0.08, Shape::Exponential, &DAY);
    let fitted = service.fit();
    assert_eq!(fitted.knee, Knee::Seen);
    let scenario = fitted.scenario("orders");
    assert!(
        scenario.contains("workers = 4") && scenario.contains("[[population]]"),
        "{scenario}"
    );
    becalm_sim::scenario::file::read(&scenario, &|_| unreachable!())
        .expect("a scenario that a storm reads");
}
