//! What does a trigger do to a world that fails, loses and restarts anyway?

mod worlds;

use becalm_sim::scenario::{Arrivals, Effect, Routing, Scenario, Service};
use becalm_sim::world::run;
use worlds::{between, clients, constant, ms, named, once, secs, served, share, trigger, world};

/// 1000 calls a second for 6 s, to four instances; the trigger is from 2 s to 4 s.
fn with(service: Service, effect: Effect) -> Scenario {
    world(secs(6), service, Arrivals::Constant(1000.0), once()).trigger(trigger(
        secs(2),
        secs(2),
        effect,
    ))
}

fn four() -> Service {
    let mut service = Service::new("service", Service::UNLIMITED, constant(10));
    service.instances = 4;
    service
}

/// A fifth fails anyway; of the rest half do.
#[test]
fn failures_come_on_top_of_those_of_the_service() {
    let effect = Effect::Failures {
        service: named("service"),
        share: 0.5,
    };
    let recording = run(&with(four().failures(0.2), effect), 1);
    for (from, right) in [(0, 0.2), (2, 0.6), (4, 0.2)] {
        let failed = between(
            &recording,
            &clients(&recording).failed,
            secs(from),
            secs(from + 2),
        );
        // Of 2000: a standard deviation of 1.1 % at most, and the edges.
        assert!(
            (share(failed, 2000) - right).abs() < 0.06,
            "second {from}: {failed}"
        );
    }
}

/// A tenth of messages is lost anyway; of the rest half are.
#[test]
fn losses_come_on_top_of_those_of_the_network() {
    let mut scenario = with(four(), Effect::Loss { share: 0.5 });
    scenario.network.loss = 0.1;
    let recording = run(&scenario, 1);
    for (from, right) in [(0, 0.1), (2, 0.55), (4, 0.1)] {
        let arrived = between(
            &recording,
            &served(&recording).arrived,
            secs(from),
            secs(from + 2),
        );
        assert!(
            (1.0 - share(arrived, 2000) - right).abs() < 0.06,
            "second {from}: {arrived}"
        );
    }
}

/// Each instance would be down for 1.5 s: the second comes back as the trigger ends, and the others
/// stay up.
#[test]
fn a_deploy_is_over_when_its_trigger_is() {
    let deploy = Effect::Deploy {
        service: named("service"),
        each: ms(1500),
        pause: ms(0),
    };
    let recording = run(&with(four(), deploy), 1);
    let refused = |from, to| between(&recording, &served(&recording).refused, from, to);
    let quarter = share(refused(secs(2), secs(4)), 2000);
    assert!(
        (quarter - 0.25).abs() < 0.06,
        "one of four is down: {quarter}"
    );
    assert_eq!(refused(secs(4), secs(6)), 0);
}

#[test]
fn a_balancer_that_counts_sends_nothing_to_an_instance_that_is_down() {
    let mut service = four();
    service.routing = Routing::LeastLoaded;
    let deploy = Effect::Deploy {
        service: named("service"),
        each: ms(500),
        pause: ms(0),
    };
    let recording = run(&with(service, deploy), 1);
    let of = served(&recording);
    assert_eq!(between(&recording, &of.refused, secs(0), secs(6)), 0);
    // Each loses what it has as it goes: a quarter of the 10 that are under way.
    let dropped = between(&recording, &of.dropped, secs(0), secs(6));
    assert!((4..=16).contains(&dropped), "{dropped}");
}
