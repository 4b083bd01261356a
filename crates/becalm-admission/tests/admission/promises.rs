//! Is a ticket worth what it says?

use std::time::Duration;

use becalm::rng::SplitMix64;
use becalm::time::Instant;
use becalm_admission::{
    AddressGroup, Admission, AdmissionController, Answer, Arrival, Claims, Refused,
};
use proptest::prelude::*;

use super::fleet::{Client, Fleet, at, ms};

fn door(settings: Admission) -> AdmissionController {
    AdmissionController::new(settings, SplitMix64::new(7)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Bearers come at any moment of the time in which their tickets are good, while others crowd in without.
    #[test]
    fn who_comes_in_time_is_admitted_within_the_patience(
        rate in 20..200_u32,
        lateness in proptest::collection::vec(0..=1000_u64, 1..20),
        late_together: bool,
        crowd in 0..400_u64,
    ) {
        let patience = ms(2000);
        let settings = Admission::per_second(rate).burst(1).patience(patience);
        let mut fleet = Fleet::at(door(settings));
        for client in 0..u64::from(rate) * 10 {
            let late = if late_together {
                // Those of half a second come all at its end.
                ms(1000 - client * 1000 / u64::from(rate) % 500)
            } else {
                ms(lateness[usize::try_from(client).unwrap() % lateness.len()])
            };
            fleet.join(at(0), Client { late, ..Client::of(client) });
        }
        let herd = fleet.clients.len();
        for client in 0..crowd {
            fleet.join(at(1000 + client * 17), Client::of(client));
        }
        fleet.run_until(at(60_000));
        for client in &fleet.clients[..herd] {
            prop_assert!(client.in_at.is_some());
            prop_assert!(client.waited < patience, "{:?}", client.waited);
            prop_assert!(client.refusals.len() <= 1, "{:?}", client.refusals);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// A place takes more than a quarter of the patience, or more than all of it.
    #[test]
    fn a_bearer_is_not_sent_round_again_however_slow_the_rate(
        share in 501..9000_u64,
        burst in 1..3_u32,
        lateness in proptest::collection::vec(0..=1000_u64, 1..20),
        crowd in proptest::collection::vec(0..100_000_u64, 0..400),
    ) {
        let patience = ms(2000);
        let settings = Admission::per_second(1).per(ms(share)).burst(burst).patience(patience);
        let mut fleet = Fleet::at(door(settings.horizon(ms(share * 20))));
        for client in 0..10 {
            let late = ms(lateness[client % lateness.len()]);
            let client = client as u64;
            fleet.join(at(client), Client { late, ..Client::of(client) });
        }
        for (group, comes) in (100..).zip(crowd) {
            fleet.join(at(comes), Client { is_liar: true, ..Client::of(group) });
        }
        fleet.run_until(at(share * 400));
        for client in &fleet.clients[..10] {
            prop_assert!(client.in_at.is_some());
            let promised = client.refusals.iter().filter(|it| **it == Refused::WaitedTooLong);
            prop_assert!(client.waited <= patience, "{:?}", client.waited);
            prop_assert!(promised.count() == 0 && client.refusals.len() <= 1, "{:?}", client.refusals);
        }
    }
}

/// A door whose one burst is taken, and a ticket of it.
fn with_ticket() -> (AdmissionController, Claims) {
    // Half of the patience holds ten.
    let mut door = door(Admission::per_second(10).burst(1).patience(ms(2000)));
    for group in 0..100 {
        match door.arrive(at(0), &Arrival::of(AddressGroup::new(group))) {
            Answer::Admit(permit) => door.release(permit, at(0)),
            Answer::Later(refusal) => return (door, refusal.ticket.unwrap()),
            _ => {}
        }
    }
    unreachable!()
}

/// What is said to this ticket at this moment, when nobody else waits.
fn answer(door: &mut AdmissionController, now: Instant, claims: Claims) -> Result<bool, Refused> {
    while door.turn(now, |_| true).is_some() {}
    let before = door.counts().ticket;
    match door.arrive(now, &Arrival::of(AddressGroup::new(1)).ticket(claims)) {
        Answer::Admit(permit) => {
            door.release(permit, now);
            Ok(door.counts().ticket > before)
        }
        Answer::Later(refusal) => Err(refusal.reason),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_ticket_is_good_from_shortly_before_its_slot_until_it_expires() {
    let (mut door, claims) = with_ticket();
    let early = at(0);
    let Answer::Later(refusal) =
        door.arrive(early, &Arrival::of(AddressGroup::new(1)).ticket(claims))
    else {
        panic!()
    };
    // It is told its time again, and keeps what it has.
    assert_eq!(
        (refusal.reason, refusal.ticket),
        (Refused::TicketEarly, Some(claims))
    );
    assert_eq!(answer(&mut door, claims.slot, claims), Ok(true));

    let (mut door, claims) = with_ticket();
    let before = Instant::ZERO.after(claims.slot.since(at(250)));
    assert_eq!(answer(&mut door, before, claims), Ok(true));

    let (mut door, claims) = with_ticket();
    assert_eq!(answer(&mut door, claims.expires, claims), Ok(true));
    let again = door.arrive(
        claims.expires,
        &Arrival::of(AddressGroup::new(1)).ticket(claims),
    );
    drop(again);
    while door
        .turn(claims.expires.after(ms(200)), |_| false)
        .is_some()
    {}
    assert_eq!(door.counts().ticket, 1);

    let (mut door, claims) = with_ticket();
    let late = claims.expires.after(Duration::from_nanos(1));
    // Nobody is there: it comes in as anybody would.
    assert_eq!(answer(&mut door, late, claims), Ok(false));
}

#[test]
fn what_is_wrong_with_a_ticket_is_said_to_its_bearer() {
    let (mut door, claims) = with_ticket();
    assert_eq!(answer(&mut door, claims.slot, claims), Ok(true));
    // A crowd, so that there is something to refuse.
    for group in 100..200 {
        drop(door.arrive(claims.slot, &Arrival::of(AddressGroup::new(group))));
    }
    let mut said = |claims: Claims, now: Instant| match door
        .arrive(now, &Arrival::of(AddressGroup::new(1)).ticket(claims))
    {
        Answer::Later(refusal) => refusal.reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(said(claims, claims.slot), Refused::TicketUsed);
    let expired = Claims::new(9, at(0), at(1));
    assert_eq!(said(expired, claims.slot), Refused::TicketLate);
    let far = at(3_600_000);
    assert_eq!(
        said(Claims::new(9, far, far), claims.slot),
        Refused::TicketBeyondHorizon
    );
}

#[test]
fn who_hangs_up_while_waiting_keeps_the_ticket() {
    let (mut door, claims) = with_ticket();
    // Its place is taken by somebody who came before.
    while door.turn(claims.slot, |_| true).is_some() {}
    let other = door.arrive(claims.slot, &Arrival::of(AddressGroup::new(5)));
    assert!(matches!(other, Answer::Admit(_)));
    let arrival = Arrival::of(AddressGroup::new(1)).ticket(claims);
    let Answer::Wait(waiting) = door.arrive(claims.slot, &arrival) else {
        panic!()
    };
    // While it waits nobody else has it.
    let again = door.arrive(claims.slot, &arrival);
    assert!(!matches!(again, Answer::Admit(_)));
    door.gone(waiting);
    if let Answer::Wait(twin) = again {
        door.gone(twin);
    }
    assert_eq!(
        answer(&mut door, claims.slot.after(ms(500)), claims),
        Ok(true)
    );
}

#[test]
fn the_book_is_honest_as_soon_as_anything_is_known_of_permits() {
    // 500 a second by the rate, but eight at once that take a second each: 8 a second.
    let settings = Admission::per_second(500).in_flight(8);
    let steps = |door: &mut AdmissionController, now: Instant| {
        let mut slots: Vec<Instant> = Vec::new();
        for group in 0..4000 {
            if let Answer::Later(refusal) = door.arrive(now, &Arrival::of(AddressGroup::new(group)))
            {
                slots.extend(refusal.ticket.map(|claims| claims.slot));
            }
        }
        let steps = slots.windows(2).map(|pair| pair[1].since(pair[0]));
        let steps: Vec<Duration> = steps.collect();
        assert!(steps.len() > 100);
        (*steps.iter().min().unwrap(), *steps.iter().max().unwrap())
    };
    let begun = |settings| {
        let mut door = door(settings);
        let mut permits = Vec::new();
        for group in 0..8 {
            let Answer::Admit(permit) = door.arrive(at(0), &Arrival::of(AddressGroup::new(group)))
            else {
                panic!()
            };
            permits.push(permit);
        }
        (door, permits)
    };
    // None has come back, but all are held for so long already.
    let (mut door, _permits) = begun(settings);
    assert_eq!(steps(&mut door, at(800)), (ms(100), ms(100)));
    // The first that comes back was let go at once, and says little of the others.
    let (mut door, mut permits) = begun(settings);
    door.release(permits.remove(0), at(1));
    // One more comes in, and seven are held for a second.
    let share = ms(7000) / 8 / 8;
    assert_eq!(steps(&mut door, at(1000)), (share, share));
    // All have come back.
    let (mut door, permits) = begun(settings);
    for permit in permits {
        door.release(permit, at(1000));
    }
    for group in 0..8 {
        let answer = door.arrive(at(1000), &Arrival::of(AddressGroup::new(group)));
        assert!(matches!(answer, Answer::Admit(_)));
    }
    assert_eq!(steps(&mut door, at(1000)), (ms(125), ms(125)));
}

#[test]
fn who_has_an_appointment_does_not_wait_in_vain_for_permits() {
    for herd in [20, 100, 400] {
        let mut fleet = Fleet::at(door(Admission::per_second(500).in_flight(8)));
        fleet.holds = ms(1000);
        for client in 0..herd {
            // From the begin of a process on, for two seconds.
            fleet.join(at(client * 2000 / herd), Client::of(client));
        }
        fleet.run_until(at(600_000));
        let floor = ms(1000 * herd / 8);
        let last = fleet.last_in().expect("all are in").since(Instant::ZERO);
        assert!(last <= floor + ms(4000), "{herd}: {last:?}");
        let bearers = fleet.clients.iter().filter(|it| it.waited > ms(0));
        let in_vain = bearers.filter(|it| it.waited >= ms(4000));
        assert_eq!(in_vain.count(), 0, "{herd}");
        let refusals = fleet.clients.iter().map(|it| it.refusals.len());
        assert!(refusals.max() <= Some(2), "{herd}");
    }
}

#[test]
fn appointments_follow_how_long_permits_are_held() {
    // 100 a second by the rate, but two at once that take 100 ms each: 20 a second.
    let settings = Admission::per_second(100)
        .burst(1)
        .in_flight(2)
        .patience(ms(400));
    let mut door = door(settings);
    let mut now = at(0);
    for _ in 0..200 {
        let Answer::Admit(permit) = door.arrive(now, &Arrival::of(AddressGroup::new(1))) else {
            panic!()
        };
        now = now.after(ms(100));
        door.release(permit, now);
    }
    let mut slots: Vec<Instant> = Vec::new();
    for group in 100..200 {
        if let Answer::Later(refusal) = door.arrive(now, &Arrival::of(AddressGroup::new(group))) {
            slots.extend(refusal.ticket.map(|claims| claims.slot));
        }
    }
    let steps = slots.windows(2).map(|pair| pair[1].since(pair[0]));
    let steps: Vec<Duration> = steps.collect();
    assert!(steps.len() > 20);
    let is_near = |step: &Duration| (ms(48)..=ms(50)).contains(step);
    assert!(steps.iter().all(is_near), "{steps:?}");
}
