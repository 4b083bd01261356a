//! What is each client of the herd about to do?

use becalm::Failure;
use becalm::rng::Random;
use becalm::support::{Lone, Position};
use becalm::time::Instant;
use becalm_admission::Claims;

use super::Handshakes;
use super::arrivals::Arrivals;
use super::event::What;
use super::tickets::Tickets;
pub(super) use crate::engine::nanos;
use crate::engine::{EventQueue, Stream};
use crate::herd::Reconnects;

/// All clients, what is to come, and what has been.
pub(super) struct Fleet<'a> {
    lone: &'a Lone,
    opens: u64,
    pub horizon: u64,
    bucket: u64,
    most_attempts: u64,
    seed: u64,
    spread: u64,
    clients: Vec<Client>,
    /// The last delay that each has drawn, where the next one looks at it.
    drawn: Vec<u64>,
    tickets: Tickets,
    /// How many of the next events have their clients loaded.
    fetched: usize,
    queue: EventQueue,
    pub record: Arrivals,
    /// Buckets with anything in them, or before such.
    used: usize,
}

/// So many clients are loaded at once.
const FETCHED: usize = 96;

/// Aligned so that none lies across two cache lines: a herd is bound by their misses.
#[repr(align(16))]
#[derive(Clone, Copy)]
struct Client {
    /// How often it has drawn from its stream.
    draws: u32,
    /// Where it stands, but for what was drawn.
    attempt: u32,
    step: u32,
    /// Its dials since the server is up.
    dials: u32,
}

const _: () = assert!(size_of::<Client>() == 16);

/// A stream whose draws are counted.
struct Counted {
    stream: Stream,
    draws: u32,
}

impl Random for Counted {
    #[inline]
    fn next_u64(&mut self) -> u64 {
        self.draws += 1;
        self.stream.next_u64()
    }
}

impl<'a> Fleet<'a> {
    /// A herd that has lost its connections and comes to a server that refuses everybody until it is up.
    pub fn of(handshakes: &Handshakes, lone: &'a Lone, seed: u64) -> Self {
        let herd = &handshakes.herd;
        let (bucket, horizon) = (nanos(herd.bucket).max(1), nanos(herd.horizon));
        // At most two million: the herd is valid.
        let buckets = usize::try_from(horizon / bucket).unwrap_or(0) + 1;
        let mut fleet = Self {
            lone,
            opens: nanos(herd.outage),
            horizon,
            bucket,
            most_attempts: herd.most_attempts,
            seed,
            spread: nanos(herd.spread),
            clients: Vec::with_capacity(herd.clients as usize),
            drawn: Vec::new(),
            tickets: Tickets::default(),
            fetched: 0,
            queue: EventQueue::for_pending(herd.clients as usize),
            record: Arrivals {
                reconnects: Reconnects {
                    bucket: herd.bucket,
                    attempts: vec![0; buckets],
                    connected: vec![0; buckets],
                    ..Reconnects::default()
                },
                ..Arrivals::default()
            },
            used: 0,
        };
        if lone.policy().jitter.is_decorrelated() {
            fleet.drawn = vec![0; herd.clients as usize];
        }
        for index in 0..herd.clients {
            let (lost, draws) = fleet.loss(index);
            fleet.clients.push(Client {
                draws,
                attempt: Position::FIRST_TRY.attempt(),
                step: Position::FIRST_TRY.step(),
                dials: 0,
            });
            fleet.endure(index, lost);
        }
        fleet
    }

    /// When a client has lost its connection, and how many draws that took: drawn again where it is needed again, which
    /// takes less time than to load it.
    fn loss(&self, index: u32) -> (u64, u32) {
        (Stream::of(self.seed, index.into()).below(self.spread), 1)
    }

    /// Follows a client from its loss to its first dial that is not refused for want of a server.
    fn endure(&mut self, index: u32, lost: u64) {
        let mut at = lost;
        while let Some(next) = self.decide(index, at, &Failure::transient()) {
            if next >= self.opens.min(self.horizon) {
                return self.push(next, What::Dial(index, Tickets::NONE));
            }
            self.count(next);
            at = next;
        }
    }

    /// What happens next.
    pub fn next(&mut self) -> Option<(u64, What)> {
        let event = self.queue.pop()?;
        if self.fetched == 0 {
            self.fetch();
        } else {
            self.fetched -= 1;
        }
        Some((event.at, What::of_bits(event.what)))
    }

    /// Loads those whose turns come next. One after the other they would be waited for in turn, and most of a run
    /// would be that; in a row, with nothing between that depends on them, they are waited for all at once.
    fn fetch(&mut self) {
        let mut seen = 0;
        let coming = self.queue.coming();
        let coming = coming.get(..FETCHED).unwrap_or(coming);
        for event in coming {
            let client = self.clients.get(What::client_of_bits(event.what) as usize);
            seen |= client.map_or(0, |client| client.dials);
        }
        self.fetched = coming.len();
        // Nobody needs the value; without somebody who seems to, nothing would be loaded.
        std::hint::black_box(seen);
    }

    /// Something is to happen, unless the run is over by then.
    pub fn push(&mut self, at: u64, what: What) {
        let is_over = self.record.reconnects.events >= self.most_attempts;
        if at < self.horizon && !is_over {
            what.push(&mut self.queue, at);
        } else if !matches!(what, What::Look) {
            self.record.reconnects.waiting += 1;
            self.record.reconnects.is_cut_short |= is_over;
        }
    }

    /// Whether the run cannot be ended by its most attempts where a client dials at most once in this time.
    pub fn is_never_cut(&self, between_dials: u64) -> bool {
        let each = self.horizon.saturating_sub(self.opens) / between_dials.max(1) + 1;
        let to_come = each.saturating_mul(self.clients.len() as u64);
        self.record.reconnects.events.saturating_add(to_come) < self.most_attempts
    }

    /// It dials a server that is up, with the ticket that it has.
    pub fn dialled(&mut self, index: u32, ticket: u32, now: u64) -> Option<Claims> {
        self.count(now);
        let client = &mut self.clients[index as usize];
        client.dials += 1;
        self.record.most_dials = self.record.most_dials.max(client.dials);
        self.tickets.take(ticket)
    }

    /// Its dial has failed: it dials again when it has decided to, with this ticket.
    pub fn failed(&mut self, index: u32, now: u64, failure: &Failure, ticket: Option<Claims>) {
        if let Some(next) = self.decide(index, now, failure) {
            let ticket = ticket.map_or(Tickets::NONE, |claims| self.tickets.keep(claims));
            self.push(next, What::Dial(index, ticket));
        }
    }

    fn decide(&mut self, index: u32, now: u64, failure: &Failure) -> Option<u64> {
        let deadline = match self.lone.policy().deadline {
            Some(_) => (self.lone).deadline(Instant::from_nanos(self.loss(index).0)),
            None => Instant::NEVER,
        };
        let client = &mut self.clients[index as usize];
        let drawn = self.drawn.get_mut(index as usize);
        let mut position = Position::new(client.attempt, client.step)
            .after_drawn(drawn.as_deref().copied().unwrap_or(0));
        let mut random = Counted {
            stream: Stream::after(self.seed, index.into(), client.draws),
            draws: client.draws,
        };
        let at = Instant::from_nanos(now);
        let delay = (self.lone).delay_nanos(&mut position, at, deadline, failure, &mut random);
        (client.attempt, client.step) = (position.attempt(), position.step());
        client.draws = random.draws;
        if let Some(drawn) = drawn {
            *drawn = position.drawn_nanos();
        }
        let Ok(delay) = delay else {
            self.record.reconnects.gave_up += 1;
            return None;
        };
        Some(now.saturating_add(delay))
    }

    /// It has its connection.
    pub fn connect(&mut self, client: u32, at: u64) {
        let (lost, _) = self.loss(client);
        let record = &mut self.record.reconnects;
        if at >= self.horizon {
            record.waiting += 1;
            return;
        }
        let bucket = usize::try_from(at / self.bucket).unwrap_or(usize::MAX);
        if let Some(count) = record.connected.get_mut(bucket) {
            *count += 1;
            self.used = self.used.max(bucket + 1);
        }
        record.after_outage.add(at.saturating_sub(self.opens));
        record.downtime.add(at.saturating_sub(lost));
        record.last = record.last.max(at);
    }

    /// What has happened, without the time in which nothing did.
    pub fn into_record(mut self) -> Arrivals {
        self.record.reconnects.attempts.truncate(self.used);
        self.record.reconnects.connected.truncate(self.used);
        self.record
    }

    fn count(&mut self, at: u64) {
        let record = &mut self.record.reconnects;
        record.events += 1;
        let bucket = usize::try_from(at / self.bucket).unwrap_or(usize::MAX);
        if let Some(count) = record.attempts.get_mut(bucket) {
            *count = count.saturating_add(1);
            self.used = self.used.max(bucket + 1);
        }
    }
}
