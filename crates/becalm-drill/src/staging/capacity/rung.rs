//! What do so many clients get who ask again as soon as they are answered?

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use crate::client::Connections;
use crate::latencies::{Latencies, Sorted};
use crate::origin::milliseconds;
use crate::statistics::{count, per_second};

/// Before anything is counted: connections are made, and the first answers are out of step.
const WARM_UP: Duration = Duration::from_millis(500);

/// How long is counted at least.
const COUNTED: Duration = Duration::from_secs(2);

/// And so many answers of a client who asks alone: those of many may come together, and one more or less is to be little.
const ANSWERS: u32 = 8;

/// How long is counted of a target that `takes` so long for an answer without load.
pub fn counted(takes: Duration) -> Duration {
    COUNTED.max(takes.saturating_mul(ANSWERS))
}

/// How long a rung takes of which so much is counted.
pub fn length(counted: Duration) -> Duration {
    WARM_UP.saturating_add(counted)
}

/// What so many clients got.
#[derive(Debug, Clone, PartialEq)]
pub struct Rung {
    pub clients: u32,
    /// Good answers.
    pub good: u64,
    /// Other answers, and none in time.
    pub bad: u64,
    /// How long was counted.
    pub length: Duration,
    /// How long the good answers took.
    pub latencies: Sorted,
}

impl Serialize for Rung {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let quantile = |share| self.latencies.quantile(share).map(milliseconds);
        let mut figures = serializer.serialize_struct("Rung", 5)?;
        figures.serialize_field("clients", &self.clients)?;
        figures.serialize_field("answers_per_s", &self.rate())?;
        figures.serialize_field("good_share", &self.good_share())?;
        figures.serialize_field("p50_ms", &quantile(0.5))?;
        figures.serialize_field("p99_ms", &quantile(0.99))?;
        figures.end()
    }
}

impl Rung {
    /// Good answers per second.
    pub fn rate(&self) -> f64 {
        per_second(self.good, self.length)
    }

    /// Of all answers; 1 without one.
    pub fn good_share(&self) -> f64 {
        match self.good + self.bad {
            0 => 1.0,
            all => count(self.good) / count(all),
        }
    }

    #[cfg(test)]
    pub fn counted(clients: u32, good: u64, bad: u64, length: Duration) -> Self {
        Self {
            clients,
            good,
            bad,
            length,
            latencies: Sorted::default(),
        }
    }
}

/// Keeps all clients together to a rate.
#[derive(Debug, Clone)]
pub struct Pace {
    next: Arc<Mutex<Option<Instant>>>,
    gap: Duration,
}

impl Pace {
    /// Of at most so many a second.
    pub fn of(rate: f64) -> Self {
        Self {
            next: Arc::default(),
            gap: Duration::from_secs_f64(1.0 / rate),
        }
    }

    async fn turn(&self) {
        let now = Instant::now();
        let at = {
            let mut next = self.next.lock().await;
            let at = next.map_or(now, |next| next.max(now));
            *next = Some(at + self.gap);
            at
        };
        sleep_until(at).await;
    }
}

/// What one client got.
#[derive(Debug, Default)]
struct Got {
    good: u64,
    bad: u64,
    latencies: Latencies,
}

/// Lets so many clients ask, each over connections of its own.
pub async fn climb(
    clients: u32,
    connections: impl Fn() -> Connections,
    patience: Duration,
    pace: &Pace,
    counted: Duration,
) -> Rung {
    let from = Instant::now() + WARM_UP;
    let during = from..from + counted;
    let mut asking = JoinSet::new();
    for _ in 0..clients {
        asking.spawn(ask(connections(), patience, pace.clone(), during.clone()));
    }
    let mut all = Got::default();
    while let Some(got) = asking.join_next().await {
        let got = got.unwrap_or_default();
        all.good += got.good;
        all.bad += got.bad;
        all.latencies.append(got.latencies);
    }
    Rung {
        clients,
        good: all.good,
        bad: all.bad,
        length: counted,
        latencies: all.latencies.of(Duration::ZERO..Duration::MAX),
    }
}

async fn ask(
    connections: Connections,
    patience: Duration,
    pace: Pace,
    during: Range<Instant>,
) -> Got {
    let mut got = Got::default();
    let mut call = 0;
    loop {
        pace.turn().await;
        let began = Instant::now();
        if began >= during.end {
            return got;
        }
        let answer = timeout(patience, connections.send(call)).await;
        call += 1;
        let ended = Instant::now();
        if !during.contains(&ended) {
            continue;
        }
        if matches!(answer, Ok(Ok(status)) if status.is_success()) {
            got.good += 1;
            got.latencies.add(ended - during.start, ended - began);
        } else {
            got.bad += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_answer_more_or_less_is_little_however_long_it_takes() {
        let [quick, slow] = [10, 1_500].map(|it| counted(Duration::from_millis(it)));
        assert_eq!(quick, Duration::from_secs(2));
        assert_eq!(slow, Duration::from_secs(12));
        assert!(length(slow) > slow, "the first answers are not counted");
    }
}
