//! Does an address that asks and never comes crowd out those who come?

use becalm::rng::SplitMix64;
use becalm_admission::{Admission, AdmissionController};

use super::fleet::{Client, Fleet, at};

/// How many newcomers arrive in a second.
const NEWCOMERS: u64 = 50;
/// How many arrivals of the crowd do.
const CROWD: u64 = 300;

/// Of the newcomers of the second minute, the shares that were in within the patience, and in all.
fn shares(rate: u32, addresses: u64) -> [f64; 2] {
    let door = AdmissionController::new(Admission::per_second(rate), SplitMix64::new(7)).unwrap();
    let mut fleet = Fleet::at(door);
    let mut counted = Vec::new();
    for arrival in 0..CROWD * 180 {
        let client = Client {
            is_liar: true,
            ..Client::of(arrival % addresses)
        };
        fleet.join(at(arrival * 1000 / CROWD), client);
    }
    for arrival in 0..NEWCOMERS * 120 {
        let when = at(arrival * 1000 / NEWCOMERS + 7);
        let who = fleet.join(when, Client::of(1_000_000 + arrival));
        if arrival >= NEWCOMERS * 60 {
            counted.push((who, when));
        }
    }
    fleet.run_until(at(180_000));
    let within = |seconds: f64| {
        let is_in = |(who, when): &&(usize, becalm::time::Instant)| {
            let at = fleet.clients[*who].in_at;
            at.is_some_and(|at| at.since(*when).as_secs_f64() <= seconds)
        };
        let are_in = u32::try_from(counted.iter().filter(is_in).count());
        f64::from(are_in.expect("few")) / f64::from(u32::try_from(counted.len()).expect("few"))
    };
    [within(4.0), within(1e9)]
}

#[test]
fn those_who_come_have_their_share_beside_those_who_ask_and_never_come() {
    // With one address all is for the newcomers. 50 addresses that are modest have one pass each, now and then, as newcomers have.
    for (rate, addresses, least) in [
        (50, 1, 0.9),
        (50, 50, 0.75),
        (60, 1, 0.99),
        (60, 50, 0.8),
        (100, 1, 0.99),
        (100, 50, 0.85),
    ] {
        let [soon, in_all] = shares(rate, addresses);
        println!(
            "{rate}/s, a crowd from {addresses}: {soon:.3} within the patience, {in_all:.3} in all"
        );
        assert!(
            soon >= least && in_all >= 0.99,
            "{rate} {addresses}: {soon} {in_all}"
        );
    }
}

#[test]
fn an_address_that_is_alone_has_all_places() {
    let settings = Admission::per_second(100);
    let door = AdmissionController::new(settings, SplitMix64::new(7)).unwrap();
    let mut fleet = Fleet::at(door);
    for arrival in 0..1000_u64 {
        // Beside a few others, too.
        let group = if arrival % 100 == 0 { arrival } else { 1 };
        fleet.join(at(arrival), Client::of(group));
    }
    fleet.run_until(at(60_000));
    let last = fleet.last_in().unwrap().since(at(0));
    assert!(last.as_millis() <= 10_100, "{last:?}");
}
