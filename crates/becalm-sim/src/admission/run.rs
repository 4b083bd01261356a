//! When does each client dial, who gets a handshake, and is anybody there when it is done?

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use becalm::Failure;
use becalm::classify::websocket::classify_handshake;
use becalm::rng::{Random, SplitMix64};
use becalm::support::Lone;
use becalm::time::Instant;
use becalm_admission::{AddressGroup, AdmissionController, Answer, Arrival, Turn, Waiting};

use super::arrivals::Arrivals;
use super::config::refused;
use super::event::What;
use super::fleet::{Fleet, nanos};
use super::{Door, Handshakes};
use crate::invalid::InvalidParameter;

/// Runs a herd before a door once. Equal seeds leave equal records.
///
/// # Errors
///
/// What cannot be simulated is refused.
pub fn run(
    handshakes: &Handshakes,
    door: Door,
    lone: &Lone,
    seed: u64,
) -> Result<Arrivals, InvalidParameter> {
    handshakes.validate()?;
    let controller =
        AdmissionController::new(handshakes.admission(), SplitMix64::new(seed)).map_err(refused)?;
    let mut fleet = Fleet::of(handshakes, lone, seed);
    let mut server = Server {
        door,
        controller,
        waiting: HashMap::default(),
        looks: 0,
        patience: nanos(handshakes.patience),
        cost: 1_000_000_000 / u64::from(handshakes.capacity).max(1),
        backlog: u64::from(handshakes.backlog),
        busy_until: 0,
    };
    while let Some((now, what)) = fleet.next() {
        match what {
            What::Dial(client) => server.dial(&mut fleet, client, now),
            What::HangUp(client) => fleet.failed(client, now, &Failure::transient(), None),
            What::Look => {}
        }
        server.look(&mut fleet, now);
    }
    fleet.record.reconnects.waiting += server.waiting.len() as u64;
    Ok(fleet.into_record())
}

/// The server: one handshake after the other, behind its door.
struct Server {
    door: Door,
    controller: AdmissionController,
    /// Who waits, and since when.
    waiting: HashMap<Waiting, (u32, u64), BuildHasherDefault<Mixed>>,
    /// When it looks next whose turn it is.
    looks: u64,
    patience: u64,
    /// Nanoseconds of a handshake.
    cost: u64,
    backlog: u64,
    busy_until: u64,
}

impl Server {
    fn dial(&mut self, fleet: &mut Fleet<'_>, client: u32, now: u64) {
        let ticket = fleet.dialled(client, now);
        if self.door == Door::Open {
            let ahead = self.busy_until.saturating_sub(now) / self.cost.max(1);
            if ahead >= self.backlog {
                fleet.push(now + self.patience, What::HangUp(client));
            } else {
                self.shake_hands(fleet, client, now, now);
            }
            return;
        }
        let mut arrival = Arrival::of(AddressGroup::new(client.into()));
        arrival.ticket = ticket;
        let at = Instant::from_nanos(now);
        match self.controller.arrive(at, &arrival) {
            Answer::Admit(permit) => {
                // Nothing bounds how many are held.
                self.controller.release(permit, at);
                self.shake_hands(fleet, client, now, now);
            }
            Answer::Wait(waiting) => {
                self.waiting.insert(waiting, (client, now));
            }
            Answer::Later(refusal) => {
                fleet.record.refusals += 1;
                let mut failure = classify_handshake(503);
                let mut ticket = None;
                if self.door == Door::Appointments {
                    failure.hint = Some(refusal.hint());
                    ticket = refusal.ticket;
                }
                fleet.failed(client, now, &failure, ticket);
            }
            _ => {}
        }
    }

    /// Works off whose turn it is, and says when to look again.
    fn look(&mut self, fleet: &mut Fleet<'_>, now: u64) {
        if self.waiting.is_empty() {
            return;
        }
        let at = Instant::from_nanos(now);
        let (waiting, patience) = (&self.waiting, self.patience);
        let mut gone = Vec::new();
        let mut admitted = Vec::new();
        loop {
            let is_gone = |one: Waiting| {
                let is_gone = waiting
                    .get(&one)
                    .is_none_or(|(_, came)| came + patience <= now);
                if is_gone {
                    gone.push(one);
                }
                is_gone
            };
            match self.controller.turn(at, is_gone) {
                Some(Turn::Admit(one, permit)) => {
                    self.controller.release(permit, at);
                    admitted.push(one);
                }
                Some(_) => {}
                None => break,
            }
        }
        for one in gone {
            if let Some((client, _)) = self.waiting.remove(&one) {
                fleet.failed(client, now, &Failure::transient(), None);
            }
        }
        for one in admitted {
            if let Some((client, came)) = self.waiting.remove(&one) {
                self.shake_hands(fleet, client, came, now);
            }
        }
        let wake = self.controller.wake_at(at).map(Instant::as_nanos);
        if let Some(wake) = wake.filter(|wake| self.looks <= now || *wake < self.looks) {
            self.looks = wake.max(now + 1);
            fleet.push(self.looks, What::Look);
        }
    }

    /// Does its handshake behind those that are to be done, whether it is there at the end or not.
    fn shake_hands(&mut self, fleet: &mut Fleet<'_>, client: u32, came: u64, now: u64) {
        self.busy_until = self.busy_until.max(now) + self.cost;
        fleet.record.handshakes += 1;
        if self.busy_until <= came + self.patience {
            fleet.connect(client, self.busy_until);
        } else {
            fleet.record.wasted += 1;
            fleet.push(came + self.patience, What::HangUp(client));
        }
    }
}

/// Mixes the numbers of this run. No attacker chooses them, and a hash that guards against one would be most of a look-up.
#[derive(Default)]
struct Mixed(u64);

impl Hasher for Mixed {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.0 = SplitMix64::new(self.0 ^ number).next_u64();
    }

    #[inline]
    fn write_isize(&mut self, number: isize) {
        self.write_u64(number.unsigned_abs() as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}
