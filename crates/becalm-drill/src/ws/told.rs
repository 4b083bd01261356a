//! What do the processes of the drill tell the one that started them? A line of JSON at a time, on their standard output.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::clock::BUCKET;
use super::tally::{Line, Tally};
use crate::messages::say;

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Told {
    /// A server listens, from this moment on.
    Listens(Duration),
    /// A bucket is over.
    Line(Line),
    /// The clients of a process have come to their end.
    Report(Report),
}

/// What the clients of one process have come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Report {
    /// How many have a connection.
    pub open: u32,
    /// Since when all have had one.
    pub full_since: Option<Duration>,
    /// The dials since the moment that was asked about, of all.
    pub dials: u64,
    /// And of the one that made most.
    pub most_dials: u32,
    /// Numbers that those with a connection have sent and that were not answered, and numbers that came out of turn.
    pub lost: u64,
    /// Numbers that were applied twice, or answered twice.
    pub doubled: u64,
    /// How often a client dialled or was connected while it had a connection or a dial.
    pub two_live: u32,
    /// All numbers that were sent and answered.
    pub messages: u64,
}

impl Report {
    /// This one and another.
    pub fn and(self, other: Self) -> Self {
        Self {
            open: self.open + other.open,
            full_since: self.full_since.zip(other.full_since).map(|(a, b)| a.max(b)),
            dials: self.dials + other.dials,
            most_dials: self.most_dials.max(other.most_dials),
            lost: self.lost + other.lost,
            doubled: self.doubled + other.doubled,
            two_live: self.two_live + other.two_live,
            messages: self.messages + other.messages,
        }
    }
}

/// Tells it.
///
/// # Errors
///
/// Nobody reads any more.
pub fn tell(told: &Told) -> io::Result<()> {
    say(io::stdout().lock(), told)
}

/// Tells every bucket when it is over, until nobody reads any more: then the process is to end.
pub async fn tell_all(tally: Arc<Tally>) -> io::Result<()> {
    let mut ticks = tokio::time::interval(BUCKET);
    loop {
        ticks.tick().await;
        for line in tally.take() {
            tell(&Told::Line(line))?;
        }
    }
}
