//! When do the calls to the target begin? The same moments for every policy.

use std::path::Path;
use std::time::Duration;

use becalm_sim::scenario::{Arrivals, Scenario, file};

use crate::arrivals::{bursty, poisson};

/// The arrivals of one round.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// When each call begins, from the start, as far as a round may go on.
    pub arrivals: Vec<Duration>,
    /// First tries per second on average, without what a fault adds.
    pub rate: f64,
}

impl Load {
    /// A Poisson process.
    pub fn poisson(rate: f64, most: Duration, seed: u64) -> Self {
        Self {
            arrivals: poisson(rate, most, seed),
            rate,
        }
    }

    /// What a file has: a CSV as `becalm drill --arrivals` writes it, or the first clients of a
    /// scenario, such as one of `becalm fit`.
    ///
    /// # Errors
    ///
    /// A sentence that names the file and the remedy: nothing is drawn that is more than `max_rate` a second.
    pub fn read(path: &Path, most: Duration, max_rate: f64, seed: u64) -> Result<Self, String> {
        let refused = |sentence: String| format!("--arrivals {}: {sentence}", path.display());
        let is_scenario = path.extension().is_some_and(|it| it == "toml");
        let scenario = if is_scenario {
            file::load(path).map_err(|invalid| refused(invalid.to_string()))?
        } else {
            let text = std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
            recorded(&text).map_err(refused)?
        };
        of(&scenario, most, max_rate, seed).map_err(refused)
    }

    /// Whether it goes on for so long: ten calls less may be chance.
    pub fn reaches(&self, length: Duration) -> bool {
        let slack = Duration::from_secs_f64(10.0 / self.rate.max(0.001));
        !self.arrivals.is_empty() && self.ends() + slack >= length
    }

    /// When its last call begins.
    pub fn ends(&self) -> Duration {
        self.arrivals.last().copied().unwrap_or_default()
    }

    /// With a Poisson process added while the fault is on, so that the load is `factor` times as much.
    pub fn louder(mut self, factor: f64, from: Duration, length: Duration, seed: u64) -> Self {
        let more = poisson(self.rate * (factor - 1.0), length, seed.wrapping_add(1));
        self.arrivals.extend(more.into_iter().map(|at| from + at));
        self.arrivals.sort_unstable();
        self
    }

    /// Calls in the second that has most.
    #[expect(clippy::cast_precision_loss)] // far below 2^52
    pub fn most_per_second(&self) -> f64 {
        const SECOND: Duration = Duration::from_secs(1);
        let ends = self.arrivals.iter().enumerate().map(|(first, from)| {
            let before = |at: &Duration| *at < *from + SECOND;
            self.arrivals[first..].partition_point(before)
        });
        ends.max().unwrap_or(0) as f64
    }
}

/// The recording as the only clients of a scenario: there is one reader of such files.
fn recorded(text: &str) -> Result<Scenario, String> {
    const READS: &str = "name = \"a\"\nhorizon = \"1s\"\n[[service]]\nname = \"a\"\n[[population]]\n\
                         name = \"b\"\ntarget = \"a\"\narrivals = { trace = \"c\" }\n";
    file::read(READS, &|_| Ok(text.into())).map_err(|invalid| invalid.to_string())
}

/// Whether a second with so many calls may be.
///
/// # Errors
///
/// A sentence that names the remedy.
pub fn allowed(busiest: f64, max_rate: f64) -> Result<(), String> {
    if busiest <= max_rate {
        return Ok(());
    }
    Err(format!(
        "{busiest:.0} first tries in a second are more than --max-rate {max_rate} allows; if the target is to get them, say so \
         with a higher one"
    ))
}

fn of(scenario: &Scenario, most: Duration, max_rate: f64, seed: u64) -> Result<Load, String> {
    let clients = scenario.populations.first();
    match clients.map(|it| &it.arrivals) {
        Some(Arrivals::Poisson(rate)) => {
            allowed(*rate, max_rate)?;
            Ok(Load::poisson(*rate, most, seed))
        }
        Some(Arrivals::Trace(times)) => {
            let arrivals: Vec<_> = times.iter().take_while(|at| *at < most).collect();
            let lasts = arrivals.last().copied().unwrap_or_default().as_secs_f64();
            #[expect(clippy::cast_precision_loss)] // far below 2^52
            let calls = arrivals.len() as f64;
            if lasts > 0.0 {
                let rate = calls / lasts;
                Ok(Load { arrivals, rate })
            } else {
                Err("there are no calls in it; give it one moment a line, in seconds".into())
            }
        }
        Some(Arrivals::Bursty {
            rate,
            burst_rate,
            burst,
            pause,
        }) => {
            let [pauses, bursts] = [pause, burst].map(Duration::as_secs_f64);
            let mean = (rate * pauses + burst_rate * bursts) / (pauses + bursts).max(1e-9);
            let calls = [rate * pauses.min(1.0), burst_rate * bursts.min(1.0)];
            allowed(calls.into_iter().fold(mean, f64::max), max_rate)?;
            Ok(Load {
                arrivals: bursty([*rate, *burst_rate], [*pause, *burst], most, seed),
                rate: mean,
            })
        }
        Some(_) => Err(
            "its first clients neither are recorded nor come at random; give their rate with --load".into(),
        ),
        None => Err("nobody calls; add a [[population]] with its arrivals".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::csv;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn what_a_drill_writes_is_played_again() {
        let folder = tempfile::tempdir().unwrap();
        let drawn = Load::poisson(50.0, MINUTE, 7);
        let path = folder.path().join("arrivals.csv");
        std::fs::write(&path, csv(&drawn.arrivals)).unwrap();
        let read = Load::read(&path, MINUTE, 500.0, 8).unwrap();
        assert_eq!(read.arrivals, drawn.arrivals);
        assert!((read.rate - 50.0).abs() < 5.0, "{}", read.rate);
        assert!(read.reaches(MINUTE) && !read.reaches(2 * MINUTE));
        let short = Load::read(&path, MINUTE / 2, 500.0, 8).unwrap();
        assert!(short.arrivals.iter().all(|at| *at < MINUTE / 2));
    }

    #[test]
    fn the_clients_of_a_scenario_are_played() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("orders.toml");
        let text = |arrivals: &str| {
            format!(
                "name = \"a\"\nhorizon = \"1s\"\n[[service]]\nname = \"a\"\n[[population]]\nname = \
                 \"b\"\ntarget = \"a\"\narrivals = {arrivals}\n"
            )
        };
        std::fs::write(&path, text("\"poisson:40\"")).unwrap();
        let read = Load::read(&path, MINUTE, 500.0, 7).unwrap();
        assert_eq!(read, Load::poisson(40.0, MINUTE, 7));
        let bursts = "\"bursty:20,burst-rate:200,burst:1s,pause:3s\"";
        std::fs::write(&path, text(bursts)).unwrap();
        let read = Load::read(&path, MINUTE, 500.0, 7).unwrap();
        assert!((read.rate - 65.0).abs() < 1e-9 && read.reaches(MINUTE));
        assert!(read.most_per_second() > 150.0);
        // Drawn first, they would fill the memory.
        for crowd in [
            "\"poisson:1000000000\"",
            "\"bursty:1,burst-rate:1000000000,burst:1s,pause:100s\"",
        ] {
            std::fs::write(&path, text(crowd)).unwrap();
            let refused = Load::read(&path, MINUTE, 500.0, 7).unwrap_err();
            assert!(refused.contains("--max-rate 500"), "{crowd}: {refused}");
        }
        std::fs::write(&path, text("{ closed = \"1s\" }")).unwrap();
        let refused = Load::read(&path, MINUTE, 500.0, 7).unwrap_err();
        assert!(
            refused.contains("--load") && refused.contains("orders.toml"),
            "{refused}"
        );
        let refused = Load::read(&folder.path().join("none.csv"), MINUTE, 500.0, 7).unwrap_err();
        assert!(refused.contains("none.csv"), "{refused}");
    }

    #[test]
    #[expect(clippy::cast_precision_loss)] // a few thousand
    fn a_louder_load_is_louder_while_the_fault_is_on() {
        let (from, length) = (MINUTE / 2, MINUTE / 6);
        let load = Load::poisson(100.0, MINUTE, 7);
        let louder = load.clone().louder(3.0, from, length, 7);
        let within = |load: &Load, from, to| {
            let within = load.arrivals.iter().filter(|at| (from..to).contains(*at));
            within.count()
        };
        assert!(louder.arrivals.is_sorted());
        assert_eq!(
            within(&load, Duration::ZERO, from),
            within(&louder, Duration::ZERO, from)
        );
        let end = from + length;
        assert_eq!(within(&load, end, MINUTE), within(&louder, end, MINUTE));
        let factor = within(&louder, from, end) as f64 / within(&load, from, end) as f64;
        assert!((2.5..3.5).contains(&factor), "{factor}");
        assert!(louder.most_per_second() > 250.0 && load.most_per_second() < 160.0);
    }
}
