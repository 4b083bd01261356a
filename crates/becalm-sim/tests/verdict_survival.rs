//! How long an outage, how much load and how many clients does a service survive?

mod by_hand;

use std::time::Duration;

use becalm_sim::record::Recording;
use becalm_sim::scenario::Distribution;
use becalm_sim::scenario::{Arrivals, Scenario, Service};
use becalm_sim::study::Plan;
use becalm_sim::verdict::{Runs, Survival, crowded};
use by_hand::{course, eager, hung, unhung, world};

#[test]
fn searches_find_the_edges_of_a_world_that_is_known() {
    let plan = Plan::default();
    let runs = Runs::new(world(2.0), &plan);
    let outage = Survival::new(&runs, 10)
        .longest_outage(&hung(200.0, &eager()))
        .unwrap();
    // 4 s, and up to 12 % more by the seed.
    let seconds = outage.value().unwrap();
    assert!((3.9..=4.6).contains(&seconds), "{seconds}");
    let (low, high) = outage.interval().unwrap();
    assert!(
        low <= 4.24 && high >= 4.24 && low > 3.0 && high < 5.5,
        "{low} {high}"
    );
    let load = Survival::new(&runs, 10)
        .largest_load(&hung(200.0, &eager()))
        .unwrap();
    let rate = load.value().unwrap();
    assert!((232.0..=252.0).contains(&rate), "{rate}");
    let (low, high) = load.interval().unwrap();
    assert!(
        low <= 245.0 && (245.0..=1000.0).contains(&high),
        "{low} {high}"
    );
    let endless =
        Survival::new(&Runs::new(world(99.0), &plan), 10).longest_outage(&hung(200.0, &eager()));
    let endless = endless.unwrap();
    assert_eq!(endless.value(), Some(16.0), "the longest that is tried");
    assert_eq!(endless.interval(), None, "nothing says how much more");
    let all = Survival::new(&Runs::new(world(0.1), &plan), 10)
        .largest_load(&hung(200.0, &eager()).clone());
    assert_eq!(all.unwrap().value(), None, "it survives no load at all");
    assert!(
        Survival::new(&runs, 10)
            .longest_outage(&unhung(200.0, &eager()))
            .is_none()
    );
}

/// A closed loop of so many clients that think for a second, on the service of [`hung`].
fn closed(clients: u32) -> Scenario {
    let mut scenario = hung(1.0, &eager());
    for population in &mut scenario.populations {
        population.clients = clients;
        population.arrivals = Arrivals::Closed {
            think: Distribution::Constant(Duration::from_secs(1)),
        };
    }
    scenario
}

/// A closed loop comes back with up to 300 clients, give or take what the seed does.
fn crowd(scenario: &Scenario, seed: u64) -> Recording {
    let most = 300 + u32::try_from(seed % 7).unwrap();
    let is_back = scenario.populations[0].clients <= most;
    course(40, 200, 4, |second| {
        second >= 10 && (second <= 12 || !is_back)
    })
}

#[test]
fn the_most_clients_of_a_closed_loop_are_found_with_their_interval() {
    let plan = Plan::default();
    let runs = Runs::new(crowd, &plan);
    assert!(
        Survival::new(&runs, 10)
            .largest_load(&closed(100))
            .is_none(),
        "it has none"
    );
    for clients in [40, 100, 2000] {
        let most = Survival::new(&runs, 10)
            .most_clients(&closed(clients))
            .unwrap();
        let (value, (low, high)) = (most.value().unwrap(), most.interval().unwrap());
        // A search is as fine as 5 % of its value, and the seed moves the edge by 2 %.
        assert!((280.0..330.0).contains(&value), "{clients}: {value}");
        assert!(
            low <= 306.0 && high >= 300.0 && high < 1.4 * low,
            "{low} {high}"
        );
    }
    let few = Survival::new(&runs, 10).most_clients(&closed(10)).unwrap();
    assert!(few.threshold.is_above, "160 are the most that are tried");
    assert_eq!(
        few.interval(),
        None,
        "and there is no capacity that ends it"
    );
}

#[test]
fn an_open_loop_or_a_service_without_bounds_has_no_most_clients() {
    let plan = Plan::default();
    let runs = Runs::new(crowd, &plan);
    assert!(
        Survival::new(&runs, 10)
            .most_clients(&hung(200.0, &eager()))
            .is_none()
    );
    let mut mixed = closed(100);
    mixed.populations.extend(hung(200.0, &eager()).populations);
    assert!(Survival::new(&runs, 10).most_clients(&mixed).is_none());
    let mut unbounded = closed(100);
    unbounded.services[0].workers = Service::UNLIMITED;
    assert!(Survival::new(&runs, 10).most_clients(&unbounded).is_none());
}

#[test]
fn a_crowd_has_at_least_one_client_and_thinks_as_long() {
    let thin = crowded(&closed(3), 0.01);
    assert_eq!(thin.populations[0].clients, 1);
    assert_eq!(
        thin.populations[0].arrivals,
        closed(3).populations[0].arrivals
    );
    assert_eq!(crowded(&closed(3), 2.5).populations[0].clients, 8);
    let open = hung(200.0, &eager());
    assert_eq!(crowded(&open, 2.0), open);
}
