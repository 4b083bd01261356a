//! In which order do the attempts of a fleet meet the server?

use std::time::Duration;

use super::client::Client;
use super::{Decides, Herd, InvalidHerd, Reconnects};
use crate::engine::{EventQueue, Stream};

/// Runs a herd once. Equal seeds leave equal records, and a client that is added shifts nobody
/// else while the server accepts all or none.
///
/// # Errors
///
/// A herd that cannot be simulated is refused.
pub fn run<D: Decides>(herd: &Herd, decides: &D, seed: u64) -> Result<Reconnects, InvalidHerd> {
    herd.validate()?;
    let mut fleet = Fleet::lost(herd, decides, seed);
    fleet.run_to(nanos(herd.horizon), herd.most_attempts);
    Ok(fleet.record)
}

struct Fleet<'a, D: Decides> {
    decides: &'a D,
    clients: Vec<Client<D::Position>>,
    queue: EventQueue,
    door: Door,
    counts: Counts,
    record: Reconnects,
}

impl<'a, D: Decides> Fleet<'a, D> {
    /// Every client has lost its connection and waits.
    fn lost(herd: &Herd, decides: &'a D, seed: u64) -> Self {
        let spread = nanos(herd.spread);
        let mut fleet = Self {
            decides,
            clients: Vec::with_capacity(herd.clients as usize),
            queue: EventQueue::for_pending(herd.clients as usize),
            door: Door::of(herd),
            counts: Counts::of(herd),
            record: Reconnects {
                bucket: herd.bucket,
                ..Reconnects::default()
            },
        };
        for index in 0..u64::from(herd.clients) {
            let mut random = Stream::of(seed, index);
            let lost = match spread {
                0 => 0,
                spread => random.below(spread),
            };
            let mut client = Client {
                random,
                position: D::Position::default(),
                lost,
            };
            match decides.wait(&mut client.position, lost, lost, &mut client.random) {
                Some(wait) => fleet.queue.push(lost.saturating_add(wait), index),
                None => fleet.record.gave_up += 1,
            }
            fleet.clients.push(client);
        }
        fleet
    }

    fn run_to(&mut self, horizon: u64, most_attempts: u64) {
        while let Some(event) = self.queue.pop() {
            if event.at >= horizon || self.record.events >= most_attempts {
                self.record.waiting = self.queue.len() as u64 + 1;
                break;
            }
            self.record.events += 1;
            self.counts.advance(event.at, &mut self.record);
            self.counts.attempts += 1;
            let index = usize::try_from(event.what).unwrap_or(usize::MAX);
            let Some(client) = self.clients.get_mut(index) else {
                continue;
            };
            if self.door.accepts(event.at) {
                self.counts.connected += 1;
                self.record.after_outage.add(event.at - self.door.opens);
                self.record
                    .downtime
                    .add(event.at.saturating_sub(client.lost));
                self.record.last = event.at;
                continue;
            }
            let Client {
                random,
                position,
                lost,
            } = client;
            match self.decides.wait(position, event.at, *lost, random) {
                Some(wait) => self.queue.push(event.at.saturating_add(wait), event.what),
                None => self.record.gave_up += 1,
            }
        }
        self.counts.close(&mut self.record);
    }
}

/// The server: closed, then open, at most to so many in a second.
struct Door {
    opens: u64,
    /// Nanoseconds of one connection at the limit; 0 without one.
    each: u64,
    /// How far ahead of the limit the connections may run: a tenth of a second.
    ahead: u64,
    /// When the connections that were accepted would be done at the limit.
    done: u64,
}

impl Door {
    fn of(herd: &Herd) -> Self {
        let each = herd
            .accepts_per_second
            .map_or(0, |rate| SECOND / rate.max(1));
        Self {
            opens: nanos(herd.outage),
            each,
            // At least the one that is accepted.
            ahead: (SECOND / 10).max(each) - each,
            done: 0,
        }
    }

    #[inline]
    fn accepts(&mut self, now: u64) -> bool {
        if now < self.opens {
            return false;
        }
        let done = self.done.max(now);
        if done - now > self.ahead && self.each > 0 {
            return false;
        }
        self.done = done.saturating_add(self.each);
        true
    }
}

const SECOND: u64 = 1_000_000_000;

/// The counts of the bucket under way. Time only goes on, so that no event costs a division.
struct Counts {
    length: u64,
    ends: u64,
    attempts: u32,
    connected: u32,
}

impl Counts {
    fn of(herd: &Herd) -> Self {
        let length = nanos(herd.bucket);
        Self {
            length,
            ends: length,
            attempts: 0,
            connected: 0,
        }
    }

    #[inline]
    fn advance(&mut self, now: u64, record: &mut Reconnects) {
        while now >= self.ends && self.ends < u64::MAX {
            self.close(record);
            self.ends = self.ends.saturating_add(self.length);
        }
    }

    fn close(&mut self, record: &mut Reconnects) {
        record.attempts.push(std::mem::take(&mut self.attempts));
        record.connected.push(std::mem::take(&mut self.connected));
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
