//! When does each client of a fleet meet the server, and is it let in?
//!
//! While the server refuses everybody, no client is of any consequence to another: each is followed
//! alone through the whole outage, in a few nanoseconds an attempt, since all it needs is in
//! registers. Only behind a door that lets in so many in a second do clients stand in each other's
//! way; from there on their attempts are events in order.

use super::client::Client;
use super::{Decides, Herd, Reconnects};
use crate::engine::{EventQueue, Stream, nanos};
use crate::invalid::InvalidParameter;

/// Runs a herd once. Equal seeds leave equal records, and a client that is added shifts nobody
/// else but at the door.
///
/// # Errors
///
/// A herd that cannot be simulated is refused.
pub fn run<D: Decides>(
    herd: &Herd,
    decides: &D,
    seed: u64,
) -> Result<Reconnects, InvalidParameter> {
    herd.validate()?;
    let mut fleet = Fleet::of(herd, decides);
    for index in 0..u64::from(herd.clients) {
        fleet.endure(Stream::of(seed, index));
    }
    fleet.meet();
    fleet.record.attempts.truncate(fleet.used);
    fleet.record.connected.truncate(fleet.used);
    Ok(fleet.record)
}

struct Fleet<'a, D: Decides> {
    decides: &'a D,
    spread: u64,
    horizon: u64,
    bucket: u64,
    most_attempts: u64,
    /// How many attempts a client may make before the door opens.
    most_each: u64,
    door: Door,
    /// Those that will meet at the door.
    clients: Vec<Client<D::Position>>,
    queue: EventQueue,
    record: Reconnects,
    /// Buckets with anything in them, or before such.
    used: usize,
}

impl<'a, D: Decides> Fleet<'a, D> {
    fn of(herd: &Herd, decides: &'a D) -> Self {
        let door = Door::of(herd);
        let meeting = if door.is_wide() {
            0
        } else {
            herd.clients as usize
        };
        let (bucket, horizon) = (nanos(herd.bucket), nanos(herd.horizon));
        // At most two million: the herd is valid.
        let buckets = usize::try_from(horizon / bucket.max(1)).unwrap_or(0) + 1;
        Self {
            decides,
            spread: nanos(herd.spread),
            horizon,
            bucket,
            most_attempts: herd.most_attempts,
            most_each: herd.most_attempts / u64::from(herd.clients.max(1)) + 1,
            door,
            clients: Vec::with_capacity(meeting),
            queue: EventQueue::for_pending(meeting),
            record: Reconnects {
                bucket: herd.bucket,
                attempts: vec![0; buckets],
                connected: vec![0; buckets],
                ..Reconnects::default()
            },
            used: 0,
        }
    }

    /// Follows a client from its loss to the attempt that may succeed.
    fn endure(&mut self, mut random: Stream) {
        let lost = match self.spread {
            0 => 0,
            spread => random.below(spread),
        };
        if lost >= self.horizon {
            self.record.waiting += 1;
            return;
        }
        let mut position = D::Position::default();
        let closed_until = self.door.opens.min(self.horizon);
        let (mut at, mut left) = (lost, self.most_each);
        loop {
            let Some(wait) = self.decides.wait(&mut position, at, lost, &mut random) else {
                self.record.gave_up += 1;
                return;
            };
            at = at.saturating_add(wait);
            if at >= closed_until {
                break;
            }
            if left == 0 {
                self.record.is_cut_short = true;
                self.record.waiting += 1;
                return;
            }
            left -= 1;
            self.count(at);
        }
        if at >= self.horizon {
            self.record.waiting += 1;
        } else if self.door.is_wide() {
            self.count(at);
            self.connect(at, lost);
        } else {
            self.queue.push(at, self.clients.len() as u64);
            self.clients.push(Client {
                random,
                position,
                lost,
            });
        }
    }

    /// Lets the clients meet at the door, in the order of their attempts.
    fn meet(&mut self) {
        let mut fetched = 0;
        while let Some(event) = self.queue.pop() {
            fetched = match fetched {
                0 => self.fetch(event.what),
                fetched => fetched - 1,
            };
            if self.record.events >= self.most_attempts {
                self.record.is_cut_short = true;
                self.record.waiting += self.queue.len() as u64 + 1;
                break;
            }
            self.count(event.at);
            let index = usize::try_from(event.what).unwrap_or(usize::MAX);
            let Some(client) = self.clients.get_mut(index) else {
                continue;
            };
            if self.door.accepts(event.at) {
                let lost = client.lost;
                self.connect(event.at, lost);
                continue;
            }
            let Client {
                random,
                position,
                lost,
            } = client;
            match self.decides.wait(position, event.at, *lost, random) {
                Some(wait) => match event.at.saturating_add(wait) {
                    at if at < self.horizon => self.queue.push(at, event.what),
                    _ => self.record.waiting += 1,
                },
                None => self.record.gave_up += 1,
            }
        }
    }

    /// Loads this client and those whose turns come next, and says how many the latter are.
    ///
    /// In a large herd each of them lies in memory that no cache holds. Loaded one after the other
    /// they cost most of the time of a run; loaded in a row, with nothing between that depends on
    /// them, they are waited for all at once.
    fn fetch(&self, first: u64) -> usize {
        let load = |index: u64| {
            let client = self
                .clients
                .get(usize::try_from(index).unwrap_or(usize::MAX));
            client.map_or(0, |client| client.lost)
        };
        let mut seen = load(first);
        let mut fetched = 0;
        while let Some(index) = self.queue.upcoming(fetched).filter(|_| fetched < FETCHED) {
            seen |= load(index);
            fetched += 1;
        }
        // Nobody needs the value; without somebody who seems to, nothing would be loaded.
        std::hint::black_box(seen);
        fetched
    }

    #[inline]
    fn count(&mut self, at: u64) {
        self.record.events += 1;
        let index = usize::try_from(at / self.bucket).unwrap_or(usize::MAX);
        if let Some(count) = self.record.attempts.get_mut(index) {
            *count = count.saturating_add(1);
            self.used = self.used.max(index + 1);
        }
    }

    fn connect(&mut self, at: u64, lost: u64) {
        let index = usize::try_from(at / self.bucket).unwrap_or(usize::MAX);
        if let Some(count) = self.record.connected.get_mut(index) {
            *count += 1;
        }
        self.record
            .after_outage
            .add(at.saturating_sub(self.door.opens));
        self.record.downtime.add(at.saturating_sub(lost));
        self.record.last = self.record.last.max(at);
    }
}

/// The server: closed, then open, at most to so many in a second (a leaky bucket).
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

    fn is_wide(&self) -> bool {
        self.each == 0
    }

    fn accepts(&mut self, now: u64) -> bool {
        let done = self.done.max(now);
        if now < self.opens || done - now > self.ahead {
            return false;
        }
        self.done = done.saturating_add(self.each);
        true
    }
}

/// How many clients are loaded in a row: twice what a core can wait for at once.
const FETCHED: usize = 32;

const SECOND: u64 = 1_000_000_000;
