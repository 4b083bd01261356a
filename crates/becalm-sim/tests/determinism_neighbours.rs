//! Does a client, a population or a service that is added shift anybody else's chance?
//!
//! Where the newcomer takes nothing from the others, every step of everybody else stays as it was:
//! its time, its bits, its decision.

use std::collections::BTreeMap;
use std::time::Duration;

use becalm::{Budget, Policy, time::Instant};
use becalm_sim::scenario::Distribution;
use becalm_sim::scenario::{Arrivals, Effect, Population, Scenario, Service, Trigger};
use becalm_sim::world::{Caller, Step, run_traced};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A client, by the name of its population.
type Who = (String, u32);

/// What a client went through: when, what, with which bits.
type Steps = Vec<(Instant, Step, Vec<u64>)>;

fn steps(scenario: &Scenario, seed: u64) -> BTreeMap<Who, Steps> {
    let mut all = BTreeMap::<Who, Steps>::new();
    run_traced(scenario, seed, &mut |it| {
        if let Caller::Client { population, client } = it.caller {
            let name = scenario.populations[population as usize].name.clone();
            let steps = all.entry((name, client)).or_default();
            steps.push((it.now, it.step, it.bits));
        }
    });
    all
}

/// Clients of a closed loop: all that they do is drawn from their own streams.
fn closed(name: &str, service: &str, clients: u32) -> Population {
    let think = Distribution::Exponential(ms(50));
    let policy = Policy::exponential(ms(10)).budget(Budget::None);
    let population = Population::new(name, service, Arrivals::Closed { think }, policy);
    population.clients(clients).timeout(ms(80))
}

/// Calls of an open loop, one client of two each.
fn open(name: &str, service: &str) -> Population {
    let policy = Policy::exponential(ms(10)).budget(Budget::None);
    Population::new(name, service, Arrivals::Poisson(50.0), policy).clients(2)
}

/// A service that nobody has to queue for, and that is down for a while.
fn scenario(services: &[&str]) -> Scenario {
    let empty = Scenario::new("neighbours", Duration::from_secs(2));
    services.iter().fold(empty, |scenario, name| {
        let time = Distribution::Constant(ms(5));
        let service = (*name).into();
        scenario
            .service(Service::new(*name, Service::UNLIMITED, time))
            .trigger(Trigger::new(ms(500), ms(500), Effect::Down { service }))
    })
}

/// Those of `before` are in `after`, unchanged.
fn are_undisturbed(before: &Scenario, after: &Scenario) {
    for seed in 1..=3 {
        let (before, after) = (steps(before, seed), steps(after, seed));
        assert!(before.len() < after.len() || before == after);
        for (who, steps) in &before {
            let drawn = steps.iter().filter(|(_, _, bits)| !bits.is_empty());
            assert!(drawn.count() > 3, "{who:?} hardly draws");
            assert!(after.get(who) == Some(steps), "{who:?} is disturbed");
        }
    }
}

#[test]
fn a_client_that_is_added_disturbs_no_other() {
    let of = |clients| scenario(&["orders"]).population(closed("shops", "orders", clients));
    are_undisturbed(&of(4), &of(5));
}

#[test]
fn a_population_that_is_added_disturbs_no_other_wherever_it_stands() {
    let alone = scenario(&["orders"])
        .population(closed("shops", "orders", 3))
        .population(open("phones", "orders"));
    let mut last = alone.clone();
    last.populations.push(closed("robots", "orders", 7));
    last.populations.push(open("tablets", "orders"));
    let mut first = alone.clone();
    first.populations.insert(0, open("tablets", "orders"));
    first.populations.insert(0, closed("robots", "orders", 7));
    are_undisturbed(&alone, &last);
    are_undisturbed(&alone, &first);
}

#[test]
fn a_service_that_is_added_disturbs_no_other_wherever_it_stands() {
    let random = |mut service: Service| {
        service.failures = 0.3;
        service.instances = 3;
        service.workers = 2;
        service.time = Distribution::Exponential(ms(20));
        service
    };
    let mut alone = scenario(&["orders"]).population(closed("shops", "orders", 3));
    alone.services = alone.services.into_iter().map(random).collect();
    let mut both = scenario(&["stock", "orders"])
        .population(open("robots", "stock"))
        .population(closed("shops", "orders", 3));
    both.services = both.services.into_iter().map(random).collect();
    are_undisturbed(&alone, &both);
    both.services.reverse();
    are_undisturbed(&alone, &both);
}

#[test]
fn no_two_clients_share_a_draw() {
    let scenario = scenario(&["orders"])
        .population(closed("shops", "orders", 3))
        .population(closed("shop", "orders", 3))
        .population(open("phones", "orders"));
    let mut owners = BTreeMap::new();
    for (who, steps) in steps(&scenario, 1) {
        for bits in steps.into_iter().flat_map(|(_, _, bits)| bits) {
            let other = owners.insert(bits, who.clone());
            assert_eq!(other, None, "{who:?} draws what another has drawn");
        }
    }
    assert!(owners.len() > 50);
}
