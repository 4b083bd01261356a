//! What holds, whatever comes?

use std::collections::HashSet;
use std::time::Duration;

use becalm::rng::SplitMix64;
use becalm::time::Instant;
use becalm_admission::{
    AddressGroup, Admission, AdmissionController, Answer, Arrival, Claims, Permit, Refusal, Turn,
    Waiting,
};
use proptest::prelude::*;

/// What may happen, and to which of those it may happen to.
#[derive(Debug, Clone, Copy)]
enum Step {
    Pass(u64),
    Arrive { group: u64, is_resumption: bool },
    Return(usize),
    HangUp(usize),
    Release(usize),
    Look { is_gone: bool },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..400_u64).prop_map(Step::Pass),
        8 => (0..6_u64, any::<bool>())
            .prop_map(|(group, is_resumption)| Step::Arrive { group, is_resumption }),
        4 => any::<usize>().prop_map(Step::Return),
        1 => any::<usize>().prop_map(Step::HangUp),
        3 => any::<usize>().prop_map(Step::Release),
        4 => any::<bool>().prop_map(|is_gone| Step::Look { is_gone }),
    ]
}

/// A door, and everything that it has said.
struct World {
    now: Instant,
    door: AdmissionController,
    /// Those who wait, with the number of their ticket.
    waiting: Vec<(Waiting, Option<u64>)>,
    permits: Vec<Permit>,
    tickets: Vec<Claims>,
    admitted: Vec<Instant>,
    honoured: HashSet<u64>,
    slots: HashSet<Instant>,
}

impl World {
    fn of(settings: Admission) -> Self {
        Self {
            now: Instant::ZERO.after(Duration::from_secs(9)),
            door: AdmissionController::new(settings, SplitMix64::new(7)).unwrap(),
            waiting: Vec::new(),
            permits: Vec::new(),
            tickets: Vec::new(),
            admitted: Vec::new(),
            honoured: HashSet::new(),
            slots: HashSet::new(),
        }
    }

    fn arrive(&mut self, arrival: &Arrival) {
        let ticket = arrival.ticket.map(|claims| claims.number);
        let before = self.door.counts();
        match self.door.arrive(self.now, arrival) {
            Answer::Admit(permit) => {
                // A ticket that is worth nothing does not count as one.
                let is_honoured = self.door.counts().ticket > before.ticket;
                self.admit(permit, ticket.filter(|_| is_honoured));
            }
            Answer::Wait(waiting) => self.waiting.push((waiting, ticket)),
            Answer::Later(refusal) => self.refuse(refusal),
            _ => unreachable!(),
        }
    }

    /// Looks whose turn it is; `is_gone` has the last who came hung up.
    fn look(&mut self, is_gone: bool) {
        let last = self.waiting.last().map(|(waiting, _)| *waiting);
        let mut gone = None;
        loop {
            let before = self.door.counts();
            let turn = self.door.turn(self.now, |waiting| {
                gone = gone.or(last.filter(|last| is_gone && *last == waiting));
                gone == Some(waiting)
            });
            match turn {
                Some(Turn::Admit(waiting, permit)) => {
                    let is_honoured = self.door.counts().ticket > before.ticket;
                    let ticket = self.leave(waiting);
                    self.admit(permit, ticket.filter(|_| is_honoured));
                }
                Some(Turn::Later(waiting, refusal)) => {
                    self.leave(waiting);
                    self.refuse(refusal);
                }
                _ => break,
            }
        }
        if let Some(gone) = gone {
            self.leave(gone);
        }
        assert_eq!(self.door.waiting() as usize, self.waiting.len());
    }

    fn leave(&mut self, waiting: Waiting) -> Option<u64> {
        let at = self.waiting.iter().position(|(of, _)| *of == waiting);
        self.waiting.remove(at.expect("it waits")).1
    }

    fn admit(&mut self, permit: Permit, ticket: Option<u64>) {
        self.permits.push(permit);
        self.admitted.push(self.now);
        if let Some(number) = ticket {
            assert!(self.honoured.insert(number), "a ticket was honoured twice");
        }
    }

    fn refuse(&mut self, refusal: Refusal) {
        let horizon = self.door.settings().horizon;
        assert!(refusal.delay <= horizon * 2, "{refusal:?}");
        assert!(!refusal.reason.to_string().is_empty());
        if let Some(claims) = refusal.ticket {
            assert_eq!(claims.slot.since(self.now), refusal.delay);
            if self.tickets.iter().all(|it| it.number != claims.number) {
                assert!(self.slots.insert(claims.slot), "two have one slot");
                self.tickets.push(claims);
            }
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Pass(millis) => self.now = self.now.after(Duration::from_millis(millis)),
            Step::Arrive {
                group,
                is_resumption,
            } => {
                let arrival = Arrival::of(AddressGroup::new(group));
                self.arrive(&if is_resumption {
                    arrival.resumption()
                } else {
                    arrival
                });
            }
            // Any ticket that there ever was: early, in time, late, used.
            Step::Return(which) if !self.tickets.is_empty() => {
                let claims = self.tickets[which % self.tickets.len()];
                self.arrive(&Arrival::of(AddressGroup::new(9)).ticket(claims));
            }
            Step::HangUp(which) if !self.waiting.is_empty() => {
                let at = which % self.waiting.len();
                self.door.gone(self.waiting.swap_remove(at).0);
            }
            Step::Release(which) if !self.permits.is_empty() => {
                let at = which % self.permits.len();
                let permit = self.permits.swap_remove(at);
                self.door.release(permit, self.now);
            }
            Step::Look { is_gone } => self.look(is_gone),
            _ => {}
        }
    }

    fn check(&self, share: Duration) {
        let settings = self.door.settings();
        let most_waiting = settings.most_waiting();
        assert!(self.door.waiting() <= most_waiting * 3);
        assert_eq!(self.door.in_flight() as usize, self.permits.len());
        if let Some(bound) = settings.in_flight {
            assert!(self.door.in_flight() <= bound);
        }
        let places = settings.horizon.as_nanos() / share.as_nanos();
        assert!(self.door.appointments() as u128 <= 2 * places + 2);
        let counts = self.door.counts();
        assert_eq!(counts.admit + counts.ticket, self.admitted.len() as u64);
        assert_eq!(counts.ticket, self.honoured.len() as u64);
    }
}

proptest! {
    #[test]
    fn never_above_the_rate_no_ticket_twice_no_slot_of_two_and_nothing_without_bound(
        rate in 1..60_u32,
        burst in 1..8_u32,
        in_flight in proptest::option::of(1..10_u32),
        patience in 100..5000_u64,
        steps in proptest::collection::vec(step(), 1..400),
    ) {
        let settings = Admission::per_second(rate)
            .burst(burst)
            .in_flight(in_flight)
            .patience(Duration::from_millis(patience))
            .horizon(Duration::from_millis(patience * 4));
        let share = Duration::from_nanos(1_000_000_000_u64.div_ceil(rate.into()));
        let mut world = World::of(settings);
        for step in steps {
            world.step(step);
            world.check(share);
        }
        for (from, first) in world.admitted.iter().enumerate() {
            for (many, last) in (1_u32..).zip(&world.admitted[from..]) {
                let paid = share * many.saturating_sub(burst);
                prop_assert!(last.since(*first) >= paid, "{many} in {:?}", last.since(*first));
            }
        }
    }
}
