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
    let patience = nanos(handshakes.patience);
    let mut server = Server {
        door,
        foresees: door == Door::Open && fleet.is_never_cut(patience),
        controller,
        waiting: HashMap::default(),
        gone: Vec::new(),
        admitted: Vec::new(),
        refused: classify_handshake(503),
        looks: 0,
        patience,
        cost: 1_000_000_000 / u64::from(handshakes.capacity).max(1),
        backlog: u64::from(handshakes.backlog),
        busy_until: 0,
    };
    while let Some((now, what)) = fleet.next() {
        match what {
            What::Dial(client, ticket) => server.dial(&mut fleet, client, ticket, now),
            What::HangUp(client) => {
                fleet.failed(client, now, &Failure::transient(), None);
                server.look(&mut fleet, now);
            }
            What::Look => server.look(&mut fleet, now),
        }
    }
    fleet.record.reconnects.waiting += server.waiting.len() as u64;
    Ok(fleet.into_record())
}

/// The server: one handshake after the other, behind its door.
struct Server {
    door: Door,
    /// Clients decide at their dial what they do after they hang up: all of them are as patient, so what they decide is pushed in
    /// the same order, and nothing that comes between changes it.
    foresees: bool,
    controller: AdmissionController,
    /// Who waits, and since when.
    waiting: HashMap<Waiting, (u32, u64), BuildHasherDefault<Mixed>>,
    /// Who has hung up and who is admitted at one look, empty between two.
    gone: Vec<Waiting>,
    admitted: Vec<Waiting>,
    /// What a refusal is to a client, before its hint.
    refused: Failure,
    /// When it looks next whose turn it is.
    looks: u64,
    patience: u64,
    /// Nanoseconds of a handshake.
    cost: u64,
    backlog: u64,
    busy_until: u64,
}

impl Server {
    fn dial(&mut self, fleet: &mut Fleet<'_>, client: u32, ticket: u32, now: u64) {
        let ticket = fleet.dialled(client, ticket, now);
        if self.door == Door::Open {
            let ahead = self.busy_until.saturating_sub(now) / self.cost.max(1);
            if ahead >= self.backlog {
                self.hangs_up(fleet, client, now);
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
                return self.look(fleet, now);
            }
            Answer::Later(refusal) => {
                fleet.record.refusals += 1;
                let mut failure = self.refused;
                let mut ticket = None;
                if self.door == Door::Appointments {
                    failure.hint = Some(refusal.hint());
                    ticket = refusal.ticket;
                }
                fleet.failed(client, now, &failure, ticket);
            }
            _ => {}
        }
        // An admission or a refusal leaves the turns of all others as they are.
        if self.looks <= now {
            self.look(fleet, now);
        }
    }

    /// It hangs up when its patience is over, unanswered.
    fn hangs_up(&self, fleet: &mut Fleet<'_>, client: u32, came: u64) {
        let at = came + self.patience;
        if self.foresees && at < fleet.horizon {
            fleet.failed(client, at, &Failure::transient(), None);
        } else {
            fleet.push(at, What::HangUp(client));
        }
    }

    /// Works off whose turn it is, and says when to look again.
    fn look(&mut self, fleet: &mut Fleet<'_>, now: u64) {
        if self.waiting.is_empty() {
            return;
        }
        let at = Instant::from_nanos(now);
        let (waiting, patience) = (&self.waiting, self.patience);
        let mut gone = std::mem::take(&mut self.gone);
        let mut admitted = std::mem::take(&mut self.admitted);
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
        for one in gone.drain(..) {
            if let Some((client, _)) = self.waiting.remove(&one) {
                fleet.failed(client, now, &Failure::transient(), None);
            }
        }
        for one in admitted.drain(..) {
            if let Some((client, came)) = self.waiting.remove(&one) {
                self.shake_hands(fleet, client, came, now);
            }
        }
        (self.gone, self.admitted) = (gone, admitted);
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
            self.hangs_up(fleet, client, came);
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use becalm::{Budget, Jitter, Policy};

    use super::*;
    use crate::herd::Herd;

    #[test]
    fn what_is_foreseen_is_what_comes() {
        let unlimited = Policy::exponential(Duration::from_millis(100))
            .cap(Duration::from_secs(8))
            .attempts(Policy::UNLIMITED)
            .budget(Budget::None);
        // Without jitter many hang up at one time.
        let fixed = unlimited.clone().jitter(Jitter::None);
        let impatient = unlimited.clone().deadline(Duration::from_secs(9));
        let mut wasted = 0;
        for policy in [
            &unlimited,
            &fixed,
            &impatient,
            &unlimited.clone().attempts(6),
        ] {
            for (spread, horizon) in [(0, 60_000), (300, 60_000), (300, 4_100)] {
                let lone = Lone::new(policy.clone(), Duration::ZERO).unwrap();
                let mut herd = Herd::of(2000);
                herd.spread = Duration::from_millis(spread);
                herd.outage = Duration::from_secs(3);
                herd.horizon = Duration::from_millis(horizon);
                let mut handshakes = Handshakes::of(herd, 50);
                handshakes.backlog = 300;
                let foreseen = run(&handshakes, Door::Open, &lone, 7).unwrap();
                // With this limit the engine cannot look ahead: one more attempt might end the run.
                handshakes.herd.most_attempts = foreseen.reconnects.events + 1;
                let lived = run(&handshakes, Door::Open, &lone, 7).unwrap();
                assert!(!lived.reconnects.is_cut_short);
                assert_eq!(lived, foreseen);
                wasted += lived.wasted;
            }
        }
        assert!(wasted > 0, "somebody hung up");
    }
}
