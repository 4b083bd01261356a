//! When does each call begin? Once for all policies.

use std::fmt::Write as _;
use std::time::Duration;

use becalm::rng::{Random, SplitMix64};

/// The times of a Poisson process with `rate` events per second, from 0 up to `length`, in order:
/// independent exponential gaps by inversion (Devroye: *Non-Uniform Random Variate Generation*,
/// 1986, VI.1).
pub fn poisson(rate: f64, length: Duration, seed: u64) -> Vec<Duration> {
    let mut random = SplitMix64::new(seed);
    let mut at = 0.0;
    let mut arrivals = Vec::new();
    loop {
        at -= unit(&mut random).ln() / rate;
        if at.is_nan() || at >= length.as_secs_f64() {
            return arrivals;
        }
        arrivals.push(Duration::from_secs_f64(at));
    }
}

/// As [`poisson`], at two rates in turn: for exponentially distributed times it is `burst_rate`, and `rate` between them, which comes
/// first. As [`Arrivals::Bursty`](becalm_sim::scenario::Arrivals::Bursty) of a scenario.
pub fn bursty(
    [rate, burst_rate]: [f64; 2],
    [pause, burst]: [Duration; 2],
    length: Duration,
    seed: u64,
) -> Vec<Duration> {
    let mut random = SplitMix64::new(seed);
    let (mut from, mut is_burst) = (0.0, false);
    let mut arrivals = Vec::new();
    while from < length.as_secs_f64() {
        let (rate, mean) = if is_burst {
            (burst_rate, burst)
        } else {
            (rate, pause)
        };
        // A phase of no length at all would never end.
        let lasts = (-unit(&mut random).ln() * mean.as_secs_f64()).max(1e-3);
        let phase = Duration::from_secs_f64((from + lasts).min(length.as_secs_f64()) - from);
        let begins = Duration::from_secs_f64(from);
        let within = poisson(rate, phase, random.next_u64());
        arrivals.extend(within.into_iter().map(|at| begins + at));
        (from, is_burst) = (from + lasts, !is_burst);
    }
    arrivals
}

/// The times as a CSV file: one a line, in seconds, to the nanosecond. A scenario's `trace` reads it.
pub fn csv(times: &[Duration]) -> String {
    let mut text = String::from("call_begins_s\n");
    for time in times {
        // A String takes whatever is written.
        let _ = writeln!(text, "{}.{:09}", time.as_secs(), time.subsec_nanos());
    }
    text
}

/// A number in (0, 1], in steps of 2^-53.
#[expect(clippy::cast_precision_loss)] // 53 bits are exact
fn unit(random: &mut SplitMix64) -> f64 {
    ((random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::cast_precision_loss)]
    fn gaps_have_the_mean_and_the_spread_of_a_poisson_process() {
        let length = Duration::from_secs(400);
        let arrivals = poisson(250.0, length, 7);
        let count = arrivals.len() as f64;
        // Four standard deviations of a count of 100 000.
        assert!(
            (count - 100_000.0).abs() < 4.0 * 100_000_f64.sqrt(),
            "{count}"
        );
        let gaps: Vec<_> = arrivals
            .windows(2)
            .map(|pair| pair[1].as_secs_f64() - pair[0].as_secs_f64())
            .collect();
        let mean = gaps.iter().sum::<f64>() / count;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / count;
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02);
        assert!(arrivals.is_sorted() && arrivals.iter().all(|at| *at < length));
    }

    #[test]
    fn what_is_written_is_what_a_scenario_reads() {
        use becalm_sim::scenario::{Arrivals, file};
        let times = poisson(260.0, Duration::from_secs(2), 7);
        let text = "name = \"drill\"\nhorizon = \"2s\"\n[[service]]\nname = \"it\"\n\
                    [[population]]\nname = \"all\"\ntarget = \"it\"\n\
                    arrivals = { trace = \"arrivals.csv\" }\n";
        let read = file::read(text, &|_| Ok(csv(&times))).unwrap();
        assert_eq!(read.populations[0].arrivals, Arrivals::Trace(times.into()));
    }

    #[test]
    #[expect(clippy::cast_precision_loss)]
    fn bursts_come_at_their_rate_and_for_their_share_of_the_time() {
        let second = Duration::from_secs(1);
        let length = Duration::from_secs(4_000);
        let arrivals = bursty([20.0, 200.0], [3 * second, second], length, 7);
        assert!(arrivals.is_sorted() && arrivals.iter().all(|at| *at < length));
        // Three quarters of the time at 20, one at 200.
        let rate = arrivals.len() as f64 / length.as_secs_f64();
        assert!((60.0..70.0).contains(&rate), "{rate}");
        let mut seconds = vec![0; 4_000];
        for at in &arrivals {
            seconds[usize::try_from(at.as_secs()).unwrap()] += 1;
        }
        let within = |from, to| seconds.iter().filter(|it| (from..to).contains(*it)).count();
        assert!(
            within(0, 40) > 1_000 && within(150, 400) > 250,
            "{}",
            within(150, 400)
        );
        let silent = bursty([0.0, 9.0], [second, second], length, 7);
        assert!(
            silent.len() > 15_000 && silent.len() < 21_000,
            "{}",
            silent.len()
        );
    }

    #[test]
    fn a_seed_is_a_recording() {
        let length = Duration::from_secs(10);
        assert_eq!(poisson(260.0, length, 1), poisson(260.0, length, 1));
        assert_ne!(poisson(260.0, length, 1), poisson(260.0, length, 2));
    }
}
