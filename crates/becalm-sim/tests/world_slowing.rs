//! Do requests slow each other down as the law says, and do shards keep their own state?

mod worlds;

use std::time::Duration;

use becalm::Breaker;
use becalm_sim::record::{Recording, total};
use becalm_sim::scenario::{
    Arrivals, Effect, Routing, Scalability, Scenario, Service, Sharing, Stale,
};
use becalm_sim::verdict::is_bounded;
use becalm_sim::world::run;
use worlds::{
    attempts, clients, constant, exponential, in_ms, ms, named, once, secs, served, share, trigger,
    world,
};

/// Of two at work each has half of its speed: they wait for one lock.
const ONE_AT_A_TIME: Scalability = Scalability {
    contention: 1.0,
    coherency: 0.0,
};

fn slowing(workers: u32, law: Scalability) -> Service {
    let mut service = Service::new("service", workers, constant(10));
    service.scalability = Some(law);
    service
}

/// How long each call took, the shortest first, of calls that begin at these times.
fn times(scenario: &Scenario, count: u32) -> Vec<f64> {
    let recording = run(scenario, 1);
    let latency = &clients(&recording).latency;
    let quantile = |call: u32| (f64::from(call) + 0.5) / f64::from(count);
    let times = (0..count).map(|call| in_ms(latency.quantile(quantile(call))));
    times.map(f64::round).collect()
}

fn called_at(service: Service, at: &[Duration]) -> Scenario {
    world(
        secs(1),
        service,
        Arrivals::Trace(at.to_vec().into()),
        once(),
    )
}

#[test]
fn s8_a_request_goes_slower_while_another_is_at_work() {
    // The first has done half when the second comes; both go at half speed until it is done after
    // 15 ms. By then the second has done half, and ends alone.
    let two = called_at(slowing(2, ONE_AT_A_TIME), &[ms(100), ms(105)]);
    assert_eq!(times(&two, 2), [15.0, 15.0]);
    let alone = called_at(slowing(2, ONE_AT_A_TIME), &[ms(100), ms(200)]);
    assert_eq!(times(&alone, 2), [10.0, 10.0]);
    // Three at once: a third of the speed each. With one worker nobody is slowed down, but waits.
    let three = [ms(100); 3];
    assert_eq!(
        times(&called_at(slowing(3, ONE_AT_A_TIME), &three), 3),
        [30.0; 3]
    );
    assert_eq!(
        times(&called_at(slowing(1, ONE_AT_A_TIME), &three), 3),
        [10.0, 20.0, 30.0]
    );
    let pairs = Scalability {
        contention: 0.0,
        coherency: 0.5,
    };
    assert_eq!(times(&called_at(slowing(3, pairs), &three), 3), [40.0; 3]);
}

#[test]
fn s8_a_trigger_slows_down_what_is_slowed_down() {
    let half = Effect::Capacity {
        service: named("service"),
        share: 0.5,
    };
    let mut scenario = called_at(slowing(2, ONE_AT_A_TIME), &[ms(100), ms(100)]);
    scenario = scenario.trigger(trigger(ms(110), ms(10), half));
    // A quarter each by 110 ms, a half at 120 for half of the speed; and all of it at 135.
    assert_eq!(times(&scenario, 2), [25.0, 25.0]);
}

#[test]
fn s8_whom_its_caller_leaves_slows_nobody_down_any_more() {
    let service = slowing(2, ONE_AT_A_TIME).stale(Stale::Cancelled);
    let mut scenario = called_at(service, &[ms(100)]);
    let mut hasty = scenario.populations[0].clone();
    (hasty.name, hasty.timeout) = (named("hasty"), Some(ms(5)));
    scenario = scenario.population(hasty);
    // Each has done a quarter when the hasty one leaves, and the other ends alone.
    assert_eq!(times(&scenario, 1), [13.0]);
}

/// More workers than the best number do less, although nobody waits: Gunther's retrograde throughput.
#[test]
fn s8_too_many_at_once_do_less() {
    let law = Scalability {
        contention: 0.05,
        coherency: 0.02,
    };
    let of = |workers| {
        let mut service = Service::new("service", workers, exponential(10)).queue(20);
        service.scalability = Some(law);
        assert!(service.capacity() > 240.0, "{}", service.capacity());
        let scenario = world(secs(60), service, Arrivals::Poisson(2000.0), once());
        let recording = run(&scenario, 1);
        share(total(&served(&recording).served), 60)
    };
    let (best, many) = (of(7), of(30));
    // 7/(1 + 0.05 x 6 + 0.02 x 42) and 30/(1 + 0.05 x 29 + 0.02 x 870) times 100 a second.
    assert!((best / 327.1 - 1.0).abs() < 0.02, "{best}");
    assert!((many / 151.1 - 1.0).abs() < 0.02, "{many}");
}

/// As many workers as are wanted, and yet a capacity: they wait for each other.
#[test]
fn s8_the_law_alone_bounds_a_service() {
    let law = Scalability {
        contention: 0.05,
        coherency: 0.0,
    };
    let bounded = |service| {
        let scenario = world(secs(1), service, Arrivals::Poisson(1.0), once());
        is_bounded(&scenario)
    };
    let endless = slowing(Service::UNLIMITED, law);
    assert!((endless.capacity() - 2000.0).abs() < 1e-6);
    assert!(bounded(endless));
    assert!(!bounded(Service::new(
        "service",
        Service::UNLIMITED,
        constant(10)
    )));
}

/// Four shards of which one is down, and a breaker that opens at half of ten calls.
fn shards(sharing: Sharing) -> Recording {
    let mut service = Service::new("service", 4, constant(1));
    (service.instances, service.routing) = (4, Routing::ByKey);
    let policy = attempts(1, ms(0)).breaker(Breaker::consecutive(3).open(secs(2)));
    let mut scenario = world(secs(20), service, Arrivals::Constant(400.0), policy);
    scenario.populations[0].sharing = sharing;
    let down = Effect::Deploy {
        service: named("service"),
        each: secs(15),
        pause: ms(0),
    };
    run(&scenario.trigger(trigger(secs(5), secs(15), down)), 1)
}

#[test]
fn s8_a_breaker_for_each_shard_keeps_the_others_open() {
    let good = |sharing| {
        let recording = shards(sharing);
        let succeeded = &clients(&recording).succeeded;
        share(total(&succeeded[succeeded.len() / 2..]), 4000)
    };
    let (one, each) = (good(Sharing::PerClient), good(Sharing::PerShard));
    // Three of four shards answer. One breaker for all is open most of the time.
    assert!((each - 0.75).abs() < 0.02, "{each}");
    assert!(one < 0.3, "{one}");
}
