//! In which order do the clients reach the row?
//!
//! Only what happens at the row is ordered: a read, a write. What lies between, an answer on its way
//! and the next request, concerns one client alone and is added up.

use becalm::support::{Lone, Position};
use becalm::{Failure, call::Decision, time::Instant};

use super::Contest;
use super::hop::Hop;
use crate::engine::{EventQueue, Stream};
use crate::invalid::InvalidParameter;

/// What one contest took. Equal seeds leave equal trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Trial {
    /// Writes that were sent: one for each client is the least.
    pub calls: u64,
    /// When the last client heard that it had succeeded, in nanoseconds.
    pub time: u64,
    /// Clients that gave up.
    pub gave_up: u64,
    /// Messages: four for each write and its read.
    pub events: u64,
}

/// Runs one contest to its end.
///
/// # Errors
///
/// A contest that cannot be simulated is refused.
pub fn run(contest: &Contest, lone: &Lone, seed: u64) -> Result<Trial, InvalidParameter> {
    contest.validate()?;
    let hop = Hop::new(contest.hop, contest.deviation);
    let deadline = lone.deadline(Instant::ZERO);
    let mut queue = EventQueue::for_pending(contest.clients as usize);
    let mut clients = Vec::with_capacity(contest.clients as usize);
    for index in 0..u64::from(contest.clients) {
        let mut client = Client {
            random: Stream::of(seed, index),
            position: Position::FIRST_TRY,
            seen: READING,
        };
        queue.push(hop.pair(&mut client.random).0, index);
        clients.push(client);
    }

    let mut trial = Trial::default();
    let mut version = 0;
    while let Some(event) = queue.pop() {
        let index = usize::try_from(event.what).unwrap_or(usize::MAX);
        let Some(client) = clients.get_mut(index) else {
            continue;
        };
        let (answer, next) = hop.pair(&mut client.random);
        let heard = event.at + answer;
        if client.seen == READING {
            client.seen = version;
            queue.push(heard + next, event.what);
            continue;
        }
        trial.calls += 1;
        trial.events += 4;
        if client.seen == version {
            version += 1;
            trial.time = trial.time.max(heard);
            continue;
        }
        client.seen = READING;
        let now = Instant::from_nanos(heard);
        let Client {
            position, random, ..
        } = client;
        match lone.on_failure(position, now, deadline, &Failure::transient(), random) {
            Decision::RetryIn(delay) => {
                let sent = now.after(delay).as_nanos();
                queue.push(sent.saturating_add(next), event.what);
            }
            _ => trial.gave_up += 1,
        }
    }
    Ok(trial)
}

struct Client {
    random: Stream,
    position: Position,
    /// The version that it has read, or [`READING`].
    seen: u32,
}

/// There are fewer versions than clients.
const READING: u32 = u32::MAX;
