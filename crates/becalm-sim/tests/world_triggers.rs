//! Does each trigger do what it says, for as long as it says?

mod worlds;

use std::time::Duration;

use becalm_sim::record::total;
use becalm_sim::scenario::{Arrivals, Cache, Downstream, Effect, Scenario, Service, Trigger};
use becalm_sim::world::run;
use worlds::{
    attempts, between, clients, constant, in_ms, ms, named, once, secs, served, share, trigger,
    world,
};

/// 1000 calls a second to a service that is nowhere near busy; the trigger is from 2 s to 4 s.
fn with(effect: Effect) -> Scenario {
    let mut service = Service::new("service", Service::UNLIMITED, constant(10));
    service.instances = 4;
    world(secs(6), service, Arrivals::Constant(1000.0), once()).trigger(trigger(
        secs(2),
        secs(2),
        effect,
    ))
}

fn service() -> String {
    named("service")
}

#[test]
fn a_service_that_is_down_refuses_and_loses_what_it_had() {
    let recording = run(&with(Effect::Down { service: service() }), 1);
    let of = served(&recording);
    let refused = |from, to| between(&recording, &of.refused, from, to);
    assert_eq!(refused(secs(0), secs(2)), 0);
    assert_eq!(refused(secs(2), secs(4)), 2000);
    assert_eq!(refused(secs(4), secs(6)), 0);
    // 10 ms of work at 1000 a second, and the callers hear at once.
    let dropped = between(&recording, &of.dropped, secs(2), ms(2100));
    assert!((9..=11).contains(&dropped), "{dropped}");
    let heard = between(&recording, &clients(&recording).failed, secs(2), ms(2100));
    assert_eq!(heard, 100 + dropped);
}

#[test]
fn a_hang_ends_nothing_and_loses_nothing() {
    let recording = run(&with(Effect::Hang { service: service() }), 1);
    let of = served(&recording);
    assert_eq!(between(&recording, &of.served, ms(2100), secs(4)), 0);
    let after = between(&recording, &of.served, secs(4), secs(6));
    // What came in the hang, and in the 10 ms before it, is served too.
    assert!((3990..=4011).contains(&after), "{after}");
}

#[test]
fn added_latency_reaches_the_callers() {
    let added = ms(100);
    let service = service();
    let recording = run(&with(Effect::Latency { service, added }), 1);
    let quantile = |share| in_ms(clients(&recording).latency.quantile(share));
    assert!((quantile(0.5) / 10.0 - 1.0).abs() < 0.017);
    assert!((quantile(0.9) / 110.0 - 1.0).abs() < 0.017);
}

#[test]
fn a_share_of_requests_fails_and_overlapping_shares_are_independent() {
    let effect = |share| Effect::Failures {
        service: service(),
        share,
    };
    let scenario = with(effect(0.5)).trigger(trigger(secs(3), secs(2), effect(0.2)));
    let recording = run(&scenario, 1);
    let failed = |from, to| {
        share(
            between(&recording, &clients(&recording).failed, from, to),
            1000,
        )
    };
    // Of 1000 in each second: a standard deviation of 1.6 % at most.
    for (from, right) in [(1, 0.0), (2, 0.5), (3, 0.6), (4, 0.2), (5, 0.0)] {
        let got = failed(secs(from), secs(from + 1));
        // Those under way at the edges are up to 1 %.
        assert!((got - right).abs() < 0.07, "second {from}: {got}");
    }
}

#[test]
fn a_load_factor_multiplies_first_tries_of_every_kind_of_arrival() {
    for arrivals in [
        Arrivals::Constant(1000.0),
        Arrivals::Poisson(1000.0),
        Arrivals::Trace((0..6000).map(ms).collect()),
        Arrivals::Closed {
            think: constant(90),
        },
    ] {
        let population = named("clients");
        let mut scenario = with(Effect::Load {
            population,
            factor: 3.0,
        });
        if let Arrivals::Closed { .. } = arrivals {
            scenario.populations[0].clients = 100;
        }
        scenario.populations[0].arrivals = arrivals.clone();
        let recording = run(&scenario, 1);
        let first = &clients(&recording).first_tries;
        let in_it = share(between(&recording, first, secs(2), secs(4)), 2000);
        let after = share(between(&recording, first, ms(4200), ms(5200)), 1000);
        // 6000 random arrivals: a standard deviation of 1.3 %. A closed loop of 30 ms and 10 ms.
        let right = if let Arrivals::Closed { .. } = arrivals {
            2.5
        } else {
            3.0
        };
        assert!((in_it / right - 1.0).abs() < 0.07, "{arrivals:?}: {in_it}");
        assert!((after - 1.0).abs() < 0.11, "{after}");
    }
}

/// Bursts of two seconds after pauses of two, on average, in which nobody calls.
fn bursts(horizon: Duration) -> Scenario {
    let arrivals = Arrivals::Bursty {
        rate: 0.0,
        burst_rate: 100.0,
        burst: secs(2),
        pause: secs(2),
    };
    let service = Service::new("service", 100, constant(1));
    world(horizon, service, arrivals, once())
}

fn load(from: u64, length: Duration, factor: f64) -> Trigger {
    let population = named("clients");
    trigger(secs(from), length, Effect::Load { population, factor })
}

#[test]
fn bursts_go_on_while_nobody_calls() {
    let scenario = bursts(secs(4000)).trigger(load(100, secs(100), 0.0));
    let recording = run(&scenario, 1);
    let calls = &clients(&recording).calls;
    assert_eq!(between(&recording, calls, secs(101), secs(200)), 0);
    let after = between(&recording, calls, secs(200), secs(4000));
    // The calls of half of the time; the lengths of 950 cycles are off by 1.1 % of it, so that this
    // is seven standard deviations.
    let part = share(after, 3800 * 100);
    assert!((0.42..0.58).contains(&part), "{part}");
}

#[test]
fn a_change_of_the_load_does_not_bring_a_burst_forward() {
    // Changes that change nothing leave as many calls.
    let changes = (0..1000).map(|at| load(at, ms(500), 1.0));
    let scenario = changes.fold(bursts(secs(1000)), Scenario::trigger);
    let calls = total(&clients(&run(&scenario, 1)).calls);
    // Four standard deviations of 250 cycles.
    let part = share(calls, 1000 * 100);
    assert!((0.41..0.59).contains(&part), "{part}");
}

#[test]
fn without_load_nobody_calls_until_it_is_over() {
    for arrivals in [
        Arrivals::Constant(1000.0),
        Arrivals::Poisson(1000.0),
        Arrivals::Closed {
            think: constant(10),
        },
    ] {
        let population = named("clients");
        let mut scenario = with(Effect::Load {
            population,
            factor: 0.0,
        });
        scenario.populations[0].arrivals = arrivals;
        let recording = run(&scenario, 1);
        let first = &clients(&recording).first_tries;
        assert!(between(&recording, first, ms(2000), ms(4000)) <= 1);
        assert!(between(&recording, first, ms(4000), ms(6000)) > 90);
    }
}

#[test]
fn a_deploy_takes_one_instance_down_at_a_time() {
    let effect = Effect::Deploy {
        service: service(),
        each: ms(300),
        pause: ms(100),
    };
    let recording = run(&with(effect), 1);
    let of = served(&recording);
    let refused = |from, to| between(&recording, &of.refused, ms(from), ms(to));
    // A quarter goes to the one that is down: 75 of 300, a standard deviation of 7.5.
    for (from, to) in [(2000, 2300), (2400, 2700), (2800, 3100), (3200, 3500)] {
        let got = refused(from, to);
        assert!((45..105).contains(&got), "from {from}: {got}");
    }
    for (from, to) in [(0, 2000), (2300, 2400), (2700, 2800), (3500, 6000)] {
        assert_eq!(refused(from, to), 0, "from {from}");
    }
}

#[test]
fn lost_messages_are_lost_for_as_long_as_the_trigger_lasts() {
    let mut scenario = with(Effect::Loss { share: 1.0 });
    scenario.populations[0].timeout = Some(ms(50));
    let recording = run(&scenario, 1);
    // 5999 calls in 6 s, 2000 of them in the trigger.
    assert_eq!(total(&served(&recording).arrived), 3999);
    let timed_out = total(&clients(&recording).timed_out);
    // Those whose answer was under way as well.
    assert!((2009..=2011).contains(&timed_out), "{timed_out}");
}

#[test]
fn a_cache_that_is_lost_fills_again_and_one_of_late_fills_does_not() {
    let of = |keeps_late_fills, timeout| {
        let mut cache = Cache::new(1000, 0.9);
        cache.keeps_late_fills = keeps_late_fills;
        let mut service = Service::new("service", Service::UNLIMITED, constant(1))
            .calls(Downstream::new("store", once()));
        service.cache = Some(cache);
        let store = Service::new("store", Service::UNLIMITED, constant(20));
        let mut scenario = world(
            secs(20),
            service,
            Arrivals::Poisson(1000.0),
            attempts(1, ms(0)),
        )
        .service(store)
        .trigger(trigger(
            secs(5),
            secs(0),
            Effect::CacheLoss {
                service: named("service"),
            },
        ));
        scenario.populations[0].timeout = Some(timeout);
        run(&scenario, 1)
    };
    let hits = |recording: &becalm_sim::record::Recording, from, to| {
        let of = served(recording);
        let hits = between(recording, &of.hits, from, to);
        share(hits, hits + between(recording, &of.misses, from, to))
    };
    let recording = of(false, ms(100));
    // Of 5000: a standard deviation of 0.4 %.
    assert!((hits(&recording, secs(0), secs(5)) - 0.9).abs() < 0.02);
    assert!(hits(&recording, secs(5), ms(5100)) < 0.2);
    assert!((hits(&recording, secs(15), secs(20)) - 0.9).abs() < 0.02);
    let store = &recording.services[1];
    assert_eq!(total(&store.arrived), total(&served(&recording).misses));

    let thrown_away = of(false, ms(10));
    assert!(hits(&thrown_away, secs(15), secs(20)) < 1e-9);
    let kept = of(true, ms(10));
    assert!((hits(&kept, secs(15), secs(20)) - 0.9).abs() < 0.02);
}
