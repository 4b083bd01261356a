//! What do so many clients get who ask again as soon as they are answered?

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use crate::drill::client::Connections;
use crate::drill::latencies::{Latencies, Sorted};
use crate::drill::statistics::{count, per_second};

/// Before anything is counted: connections are made, and the first answers are out of step.
const WARM_UP: Duration = Duration::from_millis(500);

/// How long is counted.
const COUNTED: Duration = Duration::from_secs(2);

/// How long a rung takes.
pub const LENGTH: Duration = WARM_UP.saturating_add(COUNTED);

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
) -> Rung {
    let from = Instant::now() + WARM_UP;
    let mut asking = JoinSet::new();
    for _ in 0..clients {
        asking.spawn(ask(connections(), patience, pace.clone(), from));
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
        length: COUNTED,
        latencies: all.latencies.of(Duration::ZERO..Duration::MAX),
    }
}

async fn ask(connections: Connections, patience: Duration, pace: Pace, from: Instant) -> Got {
    let to = from + COUNTED;
    let mut got = Got::default();
    let mut call = 0;
    loop {
        pace.turn().await;
        let began = Instant::now();
        if began >= to {
            return got;
        }
        let answer = timeout(patience, connections.send(call)).await;
        call += 1;
        let ended = Instant::now();
        if !(from..to).contains(&ended) {
            continue;
        }
        if matches!(answer, Ok(Ok(status)) if status.is_success()) {
            got.good += 1;
            got.latencies.add(ended - from, ended - began);
        } else {
            got.bad += 1;
        }
    }
}
