//! What are tickets worth to the process that comes after the one that gave them?

use becalm::rng::SplitMix64;
use becalm::time::Instant;
use becalm_admission::{Admission, AdmissionController, Claims, Refused};
use proptest::prelude::*;

use super::fleet::{Client, Fleet, at, ms};

fn door(settings: Admission, seed: u64) -> AdmissionController {
    AdmissionController::new(settings, SplitMix64::new(seed)).unwrap()
}

/// Bearers of the tickets that a door has given to so many who came at zero.
fn bearers(settings: Admission, many: u64) -> Vec<Client> {
    let mut fleet = Fleet::at(door(settings, 1));
    for group in 0..many {
        fleet.join(at(0), Client::of(group));
    }
    fleet.run_until(at(0));
    let with_ticket = fleet.clients.into_iter().filter(|it| it.ticket.is_some());
    with_ticket.collect()
}

fn slot(client: &Client) -> Instant {
    client.ticket.as_ref().map(|it: &Claims| it.slot).unwrap()
}

#[test]
fn a_ticket_of_the_process_before_is_honoured_at_its_time() {
    let settings = Admission::per_second(50).burst(1);
    let bearers = bearers(settings, 1000);
    assert!(bearers.len() > 800);
    let mut fleet = Fleet::at(door(settings, 2));
    for client in bearers {
        let (when, refusals) = (slot(&client), Vec::new());
        fleet.join(when, Client { refusals, ..client });
    }
    fleet.run_until(at(60_000));
    for client in &fleet.clients {
        assert!(client.refusals.is_empty(), "{:?}", client.refusals);
        assert!(client.in_at.unwrap().since(slot(client)) <= ms(20));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    /// The process before had promised its future when it died, and those whom it held come as well, all at once.
    #[test]
    fn a_herd_and_the_tickets_of_the_process_before_break_no_promise_of_this_one(
        before in 200..1000_u64,
        herd in 200..1000_u64,
        dies in 100..3000_u64,
        late in 0..400_u64,
    ) {
        let patience = ms(2000);
        let settings = Admission::per_second(50).burst(1).patience(patience);
        let bearers = bearers(settings, before);
        let mut fleet = Fleet::at(door(settings, 2));
        for client in bearers.into_iter().filter(|it| slot(it) > at(dies)) {
            let (when, refusals) = (slot(&client).after(ms(late)), Vec::new());
            fleet.join(when, Client { refusals, late: ms(late), ..client });
        }
        let foreign = fleet.clients.len();
        for group in 0..herd {
            let client = Client { late: ms(late), ..Client::of(group) };
            fleet.join(at(dies + group % 100), client);
        }
        fleet.run_until(at(200_000));
        for client in &fleet.clients[..foreign] {
            prop_assert!(client.in_at.is_some());
            let is_exchanged_once = matches!(client.refusals[..], [] | [Refused::TicketExchanged]);
            prop_assert!(is_exchanged_once, "{:?}", client.refusals);
        }
        for client in &fleet.clients[foreign..] {
            prop_assert!(client.in_at.is_some());
            prop_assert!(client.waited < patience);
            prop_assert!(client.refusals.len() <= 1, "{:?}", client.refusals);
        }
        // Nothing of the rate is lost over it.
        let floor = ms(20 * (foreign as u64 + herd));
        let last = fleet.last_in().unwrap().since(at(dies));
        prop_assert!(last <= floor + ms(2500 + before * 20), "{last:?}, {floor:?}");
    }
}

#[test]
fn two_processes_that_share_keys_honour_each_others_tickets() {
    // A balancer sends each who comes back to either of the two.
    let settings = Admission::per_second(50).burst(1);
    let mut all = bearers(settings, 1000);
    let mut here = Fleet::at(door(settings, 1));
    for group in 0..1000 {
        here.join(at(0), Client::of(group));
    }
    here.run_until(at(0));
    // Every second bearer of its own has gone to the other, and every second of the other's has come.
    for (at_place, client) in here.clients.iter_mut().enumerate() {
        client.is_liar = at_place % 2 == 0;
    }
    let mut twin = Fleet::at(door(settings, 9));
    for group in 0..1000 {
        twin.join(at(0), Client::of(group));
    }
    twin.run_until(at(0));
    all.clear();
    all.extend(twin.clients.into_iter().filter(|it| it.ticket.is_some()));
    let own = here.clients.len();
    let mut fleet = Fleet::at(here.door);
    for client in here
        .clients
        .into_iter()
        .filter(|it| it.ticket.is_some() && !it.is_liar)
    {
        let (when, refusals) = (slot(&client).after(ms(client.group * 7 % 300)), Vec::new());
        fleet.join(when, Client { refusals, ..client });
    }
    let kept = fleet.clients.len();
    // Others use what is free meanwhile, so that the rate is never at rest.
    for other in 0..3000 {
        fleet.join(
            at(other * 7),
            Client {
                is_liar: true,
                ..Client::of(5000 + other)
            },
        );
    }
    let others = fleet.clients.len();
    for client in all.into_iter().step_by(2) {
        let (when, refusals) = (slot(&client).after(ms(client.group * 7 % 300)), Vec::new());
        fleet.join(when, Client { refusals, ..client });
    }
    fleet.run_until(at(100_000));
    assert!(kept > 400 && fleet.clients.len() > others + 400 && own == 1000);
    for client in fleet.clients.iter().filter(|it| it.group < 5000) {
        assert!(client.refusals.is_empty(), "{:?}", client.refusals);
    }
}
