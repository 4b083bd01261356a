//! Does a herd come in at the rate, and does everybody of it get a turn?

use std::collections::HashSet;

use becalm::rng::SplitMix64;
use becalm::time::Instant;
use becalm_admission::{
    AddressGroup, Admission, AdmissionController, Answer, Arrival, Refused, Turn,
};
use proptest::prelude::*;

use super::fleet::{Client, Fleet, at, ms};

fn door(settings: Admission, seed: u64) -> AdmissionController {
    AdmissionController::new(settings, SplitMix64::new(seed)).unwrap()
}

#[test]
fn ten_thousand_come_in_at_the_rate_with_one_refusal_each_at_most() {
    let mut fleet = Fleet::at(door(Admission::per_second(500), 7));
    for client in 0..10_000_u64 {
        // All within a second.
        let group = client % 2000;
        fleet.join(at(client / 10), Client::of(group));
    }
    fleet.run_until(at(60_000));
    let floor = ms(20_000);
    let last = fleet.last_in().unwrap().since(Instant::ZERO);
    assert!(last <= floor + floor / 100, "{last:?}");
    assert!(
        fleet
            .clients
            .iter()
            .all(|client| client.refusals.len() <= 1)
    );
    let counts = fleet.door.counts();
    assert_eq!(
        (counts.reject_age, counts.admit + counts.ticket),
        (0, 10_000)
    );
}

#[test]
fn beyond_the_horizon_they_are_spread_and_all_come_in_without_a_gap() {
    let mut fleet = Fleet::at(door(Admission::per_second(100).horizon(ms(10_000)), 7));
    for client in 0..5000_u64 {
        fleet.join(at(client / 5), Client::of(client));
    }
    fleet.run_until(at(600_000));
    let last = fleet.last_in().unwrap().since(Instant::ZERO);
    assert!(last <= ms(51_000), "{last:?}");
    let drawn = fleet
        .clients
        .iter()
        .filter(|it| it.refusals.contains(&Refused::BeyondHorizon));
    assert!(drawn.count() > 3000);
}

#[test]
fn resumptions_go_before_fresh_ones_and_tickets_before_both() {
    let mut fleet = Fleet::at(door(Admission::per_second(10).burst(1), 7));
    let fresh: Vec<usize> = (0..10_u64)
        .map(|group| fleet.join(at(0), Client::of(group)))
        .collect();
    let resumed = fleet.join(
        at(1),
        Client {
            is_resumption: true,
            ..Client::of(99)
        },
    );
    fleet.run_until(at(10_000));
    let in_at = |who: usize| fleet.clients[who].in_at.unwrap();
    // The first fresh one found nobody before it.
    assert!(fresh[1..].iter().all(|who| in_at(*who) > in_at(resumed)));

    // 40 come, of whom 20 wait, and the first ticket's slot is behind them; then more who wait.
    let mut fleet = Fleet::at(door(Admission::per_second(10).burst(1), 7));
    for group in 0..40_u64 {
        fleet.join(at(0), Client::of(group));
    }
    fleet.run_until(at(50));
    let first = fleet
        .clients
        .iter()
        .position(|it| it.ticket.is_some())
        .unwrap();
    let slot = fleet.clients[first].ticket.unwrap().slot;
    let resumed = Client {
        is_resumption: true,
        ..Client::of(99)
    };
    let resumed = fleet.join(slot, resumed);
    fleet.run_until(at(10_000));
    let in_at = |who: usize| fleet.clients[who].in_at.unwrap();
    assert!(in_at(first) <= in_at(resumed));
    assert!(
        in_at(first).since(slot) <= ms(100),
        "{:?}",
        in_at(first).since(slot)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn greedy_addresses_take_neither_the_queue_nor_the_future_from_another(
        seed: u64,
        greedy in 1..6_u64,
        are_liars: bool,
        comes in 0..8000_u64,
    ) {
        let horizon = ms(20_000);
        let settings = Admission::per_second(20).burst(1).patience(ms(2000)).horizon(horizon);
        let mut fleet = Fleet::at(door(settings, seed));
        // Each of the greedy wants twenty times what there is.
        for arrival in 0..8000_u64 {
            for group in 0..greedy {
                let client = Client { is_liar: are_liars, ..Client::of(group) };
                fleet.join(at(arrival * 5 / 2), client);
            }
        }
        let modest = fleet.join(at(comes), Client::of(77));
        fleet.run_until(at(comes).after(horizon * 2));
        let client = &fleet.clients[modest];
        prop_assert!(client.in_at.is_some());
        let took = client.in_at.unwrap().since(at(comes));
        prop_assert!(took <= horizon, "{took:?}, {:?}", client.refusals);
        prop_assert!(!client.refusals.contains(&Refused::BeyondHorizon));
    }
}

#[test]
fn one_address_that_waits_ten_times_over_has_every_second_turn() {
    // Two addresses fill the queue; one of them with far more.
    let settings = Admission::per_second(10).burst(1).patience(ms(20_000));
    let mut fleet = Fleet::at(door(settings, 7));
    for _ in 0..40 {
        fleet.join(at(0), Client::of(1));
    }
    let few: HashSet<usize> = (0..4).map(|_| fleet.join(at(1), Client::of(2))).collect();
    fleet.run_until(at(1000));
    // 11 places have passed; the first was taken before anybody else was there.
    assert!(few.iter().all(|who| fleet.clients[*who].in_at.is_some()));
}

#[test]
fn delays_beyond_the_horizon_are_spread_over_its_second_half() {
    let horizon = ms(10_000);
    let mut door = door(Admission::per_second(20).horizon(horizon), 7);
    let mut delays = Vec::new();
    for group in 0..10_000 {
        if let Answer::Later(refusal) = door.arrive(at(0), &Arrival::of(AddressGroup::new(group))) {
            delays.extend(refusal.ticket.is_none().then_some(refusal.delay));
        }
    }
    assert!(delays.len() > 9000);
    let mut steps = [0_usize; 10];
    for delay in &delays {
        assert!((ms(5000)..=horizon).contains(delay), "{delay:?}");
        steps[(delay.as_millis() as usize - 5000) * 10 / 5001] += 1;
    }
    // About a tenth each, and 5 standard deviations at the most.
    let each = delays.len() / 10;
    assert!(
        steps.iter().all(|step| step.abs_diff(each) < 150),
        "{steps:?}"
    );
}

#[test]
fn who_waits_for_too_long_is_told_when_to_come_and_who_hung_up_is_dropped() {
    // Nobody gives a permit back.
    let settings = Admission::per_second(100).in_flight(1).patience(ms(2000));
    let mut door = door(settings, 7);
    let group = AddressGroup::new(1);
    let Answer::Admit(permit) = door.arrive(at(0), &Arrival::of(group)) else {
        panic!()
    };
    let mut wait = |millis| match door.arrive(at(millis), &Arrival::of(group)) {
        Answer::Wait(waiting) => waiting,
        other => panic!("{other:?}"),
    };
    let (first, second, third) = (wait(100), wait(200), wait(300));
    assert_eq!(door.wake_at(at(300)), Some(at(2100)));
    assert!(door.turn(at(2099), |_| false).is_none());
    let Some(Turn::Later(who, refusal)) = door.turn(at(2100), |_| false) else {
        panic!()
    };
    assert_eq!((who, refusal.reason), (first, Refused::WaitedTooLong));
    assert!(refusal.ticket.is_some());
    // The second is found gone when its time is over, and the third before its turn.
    assert!(door.turn(at(2200), |who| who == second).is_none());
    assert_eq!(door.waiting(), 1);
    door.release(permit, at(2250));
    assert!(door.turn(at(2250), |who| who == third).is_none());
    let counts = door.counts();
    assert_eq!(
        (counts.reject_age, counts.peer_gone, counts.admit),
        (1, 2, 1)
    );
    assert_eq!(
        (door.waiting(), door.in_flight(), door.wake_at(at(2250))),
        (0, 0, None)
    );
}

#[test]
fn places_of_those_who_hung_up_while_waiting_are_free() {
    let mut door = door(Admission::per_second(10).burst(1).patience(ms(2000)), 7);
    for _ in 0..5 {
        for group in 0..9 {
            let answer = door.arrive(at(0), &Arrival::of(AddressGroup::new(group)));
            match answer {
                Answer::Admit(permit) => door.release(permit, at(0)),
                Answer::Wait(who) => door.gone(who),
                other => panic!("{other:?}"),
            }
        }
    }
}
