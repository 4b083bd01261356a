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
    fn a_seed_is_a_recording() {
        let length = Duration::from_secs(10);
        assert_eq!(poisson(260.0, length, 1), poisson(260.0, length, 1));
        assert_ne!(poisson(260.0, length, 1), poisson(260.0, length, 2));
    }
}
