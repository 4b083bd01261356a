//! Clients that do as they are told, and the time in which they do it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::time::Duration;

use becalm::time::Instant;
use becalm_admission::{
    AddressGroup, AdmissionController, Answer, Arrival, Claims, Permit, Refusal, Refused, Turn,
    Waiting,
};

pub fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub fn at(millis: u64) -> Instant {
    Instant::ZERO.after(ms(millis))
}

/// One who comes again until it is in.
#[derive(Debug, Clone, Default)]
pub struct Client {
    pub group: u64,
    pub is_resumption: bool,
    /// How much later than told it comes.
    pub late: Duration,
    /// It never comes to an appointment.
    pub is_liar: bool,
    pub ticket: Option<Claims>,
    pub refusals: Vec<Refused>,
    pub dials: u32,
    pub in_at: Option<Instant>,
    /// The longest that it waited when it brought a ticket.
    pub waited: Duration,
    pub came: Instant,
}

impl Client {
    pub fn of(group: u64) -> Self {
        Self {
            group,
            ..Self::default()
        }
    }
}

/// A door, those who want in, and what is to come.
pub struct Fleet {
    pub door: AdmissionController,
    pub clients: Vec<Client>,
    /// How long a permit is held.
    pub holds: Duration,
    held: VecDeque<(Instant, Permit)>,
    events: BinaryHeap<Reverse<(Instant, u64, usize)>>,
    pushed: u64,
    waiting: HashMap<Waiting, usize>,
    /// When it looks next whose turn it is.
    looks: Instant,
}

/// An event of nobody: look whose turn it is.
const LOOK: usize = usize::MAX;

impl Fleet {
    pub fn at(door: AdmissionController) -> Self {
        Self {
            door,
            clients: Vec::new(),
            holds: Duration::ZERO,
            held: VecDeque::new(),
            events: BinaryHeap::new(),
            pushed: 0,
            waiting: HashMap::new(),
            looks: Instant::ZERO,
        }
    }

    pub fn join(&mut self, when: Instant, client: Client) -> usize {
        self.clients.push(client);
        self.push(when, self.clients.len() - 1);
        self.clients.len() - 1
    }

    fn push(&mut self, when: Instant, who: usize) {
        self.pushed += 1;
        self.events.push(Reverse((when, self.pushed, who)));
    }

    pub fn run_until(&mut self, end: Instant) {
        while let Some(Reverse((now, _, who))) = self.events.peek().copied() {
            if now > end {
                return;
            }
            self.events.pop();
            self.look(now);
            if who != LOOK {
                self.dial(who, now);
                self.look(now);
            }
            let wake = self.door.wake_at(now);
            if let Some(wake) = wake.filter(|wake| self.looks <= now || *wake < self.looks) {
                assert!(wake > now, "nobody had a turn");
                self.looks = wake;
                self.push(wake, LOOK);
            }
        }
    }

    fn dial(&mut self, who: usize, now: Instant) {
        let client = &mut self.clients[who];
        client.dials += 1;
        client.came = now;
        let mut arrival = Arrival::of(AddressGroup::new(client.group));
        arrival.is_resumption = client.is_resumption;
        arrival.ticket = client.ticket;
        match self.door.arrive(now, &arrival) {
            Answer::Admit(permit) => {
                client.in_at = Some(now);
                self.hold(permit, now);
            }
            Answer::Wait(waiting) => {
                self.waiting.insert(waiting, who);
            }
            Answer::Later(refusal) => self.refused(who, now, refusal),
            _ => unreachable!(),
        }
    }

    fn hold(&mut self, permit: Permit, now: Instant) {
        if self.holds.is_zero() {
            self.door.release(permit, now);
        } else {
            let until = now.after(self.holds);
            self.held.push_back((until, permit));
            self.push(until, LOOK);
        }
    }

    fn look(&mut self, now: Instant) {
        while self.held.front().is_some_and(|(until, _)| *until <= now) {
            let permit = self.held.pop_front().unwrap().1;
            self.door.release(permit, now);
        }
        while let Some(turn) = self.door.turn(now, |_| false) {
            match turn {
                Turn::Admit(waiting, permit) => {
                    // One who came before this fleet was made counts for nothing here.
                    let Some(who) = self.waiting.remove(&waiting) else {
                        self.hold(permit, now);
                        continue;
                    };
                    let client = &mut self.clients[who];
                    client.in_at = Some(now);
                    if client.ticket.is_some() {
                        client.waited = client.waited.max(now.since(client.came));
                    }
                    self.hold(permit, now);
                }
                Turn::Later(waiting, refusal) => {
                    if let Some(who) = self.waiting.remove(&waiting) {
                        self.refused(who, now, refusal);
                    }
                }
                _ => unreachable!(),
            }
        }
    }

    fn refused(&mut self, who: usize, now: Instant, refusal: Refusal) {
        let client = &mut self.clients[who];
        client.refusals.push(refusal.reason);
        client.ticket = refusal.ticket;
        if !client.is_liar {
            let when = now.after(refusal.delay).after(client.late);
            self.push(when, who);
        }
    }

    /// When the last of those who are to come in is in; `None` if one is not.
    pub fn last_in(&self) -> Option<Instant> {
        let honest = self.clients.iter().filter(|client| !client.is_liar);
        honest
            .map(|client| client.in_at)
            .max_by_key(|it| it.unwrap_or(Instant::NEVER))?
    }
}
