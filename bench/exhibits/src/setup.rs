//! What is the drill of Redis made of? Processes, a server and what befalls it: plain data.

use std::fmt;
use std::time::Duration;

use becalm::duration::parse as duration;
use serde::Serialize;

use crate::units::milliseconds;

/// Between two things that befall the server, and before the first.
pub const CALM: Duration = Duration::from_secs(1);

/// Between two cuts.
pub const BETWEEN_CUTS: Duration = Duration::from_millis(100);

/// The clients, the server and what befalls it.
#[derive(Debug, Clone, PartialEq, clap::Args)]
pub struct Setup {
    /// Processes, each with one connection
    #[arg(long, value_name = "COUNT", default_value_t = 4, help_heading = CLIENTS)]
    pub processes: u32,

    /// Tasks of each process, which share its connection
    #[arg(long, value_name = "COUNT", default_value_t = 500, help_heading = CLIENTS)]
    pub tasks: u32,

    /// Increments per second, of all together
    #[arg(long, value_name = "PER SECOND", default_value_t = 10_000, help_heading = CLIENTS)]
    pub rate: u32,

    /// How often all connections are cut by a proxy, and as often again by CLIENT KILL
    #[arg(long, value_name = "COUNT", default_value_t = 20, help_heading = COURSE)]
    pub cuts: u32,

    /// For how long the proxy swallows answers before it cuts
    #[arg(long, value_name = "DURATION", default_value = "5ms", value_parser = duration, help_heading = COURSE)]
    pub swallow: Duration,

    /// How long the server is down after it was killed
    #[arg(long, value_name = "DURATION", default_value = "4s", value_parser = duration, help_heading = COURSE)]
    pub outage: Duration,

    /// How often it is killed after that
    #[arg(long, value_name = "COUNT", default_value_t = 5, help_heading = COURSE)]
    pub restarts: u32,

    /// How long it is down each of these times
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = duration, help_heading = COURSE)]
    pub down: Duration,
}

const CLIENTS: &str = "The clients";
/// The heading of its flags.
pub const COURSE: &str = "The server and what befalls it";

impl Setup {
    /// Between two increments of one task.
    pub fn every(&self) -> Duration {
        let tasks = f64::from(self.tasks) * f64::from(self.processes);
        Duration::from_secs_f64(tasks / f64::from(self.rate.max(1)))
    }

    /// Refuses what could not be measured or would not end.
    pub fn validate(&self) -> Result<(), InvalidSetup> {
        let times = [
            (self.swallow, "--swallow"),
            (self.outage, "--outage"),
            (self.down, "--down"),
        ];
        let in_range = Duration::from_millis(1)..=Duration::from_secs(10);
        let wrong = times.into_iter().find(|(time, _)| !in_range.contains(time));
        let counts = [
            (self.processes, 1..=16, "--processes", "from 1 to 16"),
            (self.tasks, 1..=10_000, "--tasks", "from 1 to 10000"),
            (
                self.rate,
                1..=100_000,
                "--rate",
                "from 1 to 100000 per second",
            ),
            (self.cuts, 0..=200, "--cuts", "at most 200"),
            (self.restarts, 0..=100, "--restarts", "at most 100"),
        ];
        let wrong_count = counts
            .into_iter()
            .find(|(count, range, ..)| !range.contains(count));
        match (wrong, wrong_count) {
            (Some((_, flag)), _) => Err(InvalidSetup(flag, "from 1ms to 10s")),
            (_, Some((_, _, flag, range))) => Err(InvalidSetup(flag, range)),
            _ => Ok(()),
        }
    }
}

/// The setup as it stands in the JSON document.
#[derive(Debug, Serialize)]
pub struct SetupRecord {
    processes: u32,
    tasks: u32,
    rate_per_s: u32,
    cuts: u32,
    swallow_ms: f64,
    outage_ms: f64,
    restarts: u32,
    down_ms: f64,
    bucket_ms: f64,
}

impl From<&Setup> for SetupRecord {
    fn from(setup: &Setup) -> Self {
        Self {
            processes: setup.processes,
            tasks: setup.tasks,
            rate_per_s: setup.rate,
            cuts: setup.cuts,
            swallow_ms: milliseconds(setup.swallow),
            outage_ms: milliseconds(setup.outage),
            restarts: setup.restarts,
            down_ms: milliseconds(setup.down),
            bucket_ms: milliseconds(becalm_drill::ws::clock::BUCKET),
        }
    }
}

/// Why a drill of Redis is refused: a flag, and its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidSetup(&'static str, &'static str);

impl fmt::Display for InvalidSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} must be {}", self.0, self.1)
    }
}

impl std::error::Error for InvalidSetup {}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// The documented defaults.
    pub fn usual() -> Setup {
        Setup {
            processes: 4,
            tasks: 500,
            rate: 10_000,
            cuts: 20,
            swallow: Duration::from_millis(5),
            outage: Duration::from_secs(4),
            restarts: 5,
            down: Duration::from_secs(1),
        }
    }

    type Change = fn(&mut Setup);

    #[test]
    fn the_defaults_are_valid_and_what_cannot_be_held_is_refused_by_flag() {
        assert_eq!(usual().validate(), Ok(()));
        assert_eq!(usual().every(), Duration::from_millis(200));
        let wrong: [(Change, &str); 5] = [
            (|it| it.processes = 0, "--processes must be from 1 to 16"),
            (|it| it.tasks = 0, "--tasks"),
            (|it| it.rate = 0, "--rate"),
            (|it| it.restarts = 101, "--restarts must be at most 100"),
            (|it| it.outage = Duration::MAX, "--outage must be from 1ms"),
        ];
        for (change, words) in wrong {
            let mut setup = usual();
            change(&mut setup);
            let refusal = setup.validate().unwrap_err().to_string();
            assert!(refusal.starts_with(words), "{refusal}");
        }
    }
}
