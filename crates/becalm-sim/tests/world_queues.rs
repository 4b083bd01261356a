//! Does a service queue as queueing theory says, and treat its queue as it is told?

mod worlds;

use becalm_sim::record::total;
use becalm_sim::scenario::Distribution;
use becalm_sim::scenario::{Arrivals, Discipline, Limit, Routing, Service, Stale};
use becalm_sim::world::run;
use worlds::{
    attempts, clients, constant, exponential, impatient, in_ms, ms, named, once, secs, served,
    share, trigger, world,
};

/// M/M/1: the time in the system is exponential with rate mu - lambda (Kleinrock 1975, sec. 3.2).
#[test]
fn one_worker_with_random_work_is_an_m_m_1_queue() {
    let service = Service::new("service", 1, exponential(10));
    let scenario = world(secs(1500), service, Arrivals::Poisson(50.0), once());
    let recording = run(&scenario, 1);
    let times = &clients(&recording).latency;
    // The rate is 100 - 50 a second. About 1500 s / 2 relaxation times of 60 ms independent
    // readings: the standard deviation of these quantiles is below 3 %.
    for (quantile, right) in [(0.5, 13.86), (0.9, 46.05), (0.99, 92.1)] {
        let got = in_ms(times.quantile(quantile));
        assert!((got / right - 1.0).abs() < 0.09, "{quantile}: {got}");
    }
}

/// M/M/1/K: the share that is refused is (1 - rho) rho^K / (1 - rho^(K + 1)).
#[test]
fn a_full_queue_refuses_as_an_m_m_1_k_queue_does() {
    let service = Service::new("service", 1, exponential(10)).queue(3);
    let scenario = world(secs(200), service, Arrivals::Poisson(200.0), once());
    let recording = run(&scenario, 1);
    let of = served(&recording);
    let refused = share(total(&of.refused), total(&of.arrived));
    // 40 000 arrivals whose refusals go together in fours or so: a standard deviation of 0.5 %.
    assert!((refused - 16.0 / 31.0).abs() < 0.02, "{refused}");
    assert_eq!(of.queue.iter().max(), Some(&3));
    assert_eq!(clients(&recording).stops.len(), 1);
}

/// A worker, 10 ms of work, three requests of one instant each 100 ms.
fn three_at_once(discipline: Discipline) -> Vec<f64> {
    let mut service = Service::new("service", 1, constant(10));
    service.discipline = discipline;
    let times: Vec<_> = [ms(100), ms(101), ms(102)].into();
    let scenario = world(secs(1), service, Arrivals::Trace(times.into()), once());
    let recording = run(&scenario, 1);
    let times = &clients(&recording).latency;
    [0.3, 0.6, 1.0]
        .map(|share| in_ms(times.quantile(share)))
        .to_vec()
}

#[test]
fn the_oldest_or_the_newest_is_next() {
    // Ends at 110, 120, 130: in order 10, 19, 28 ms; else the newest after 18, the other after 29.
    let near = |got: &[f64], right: [f64; 3]| {
        let pairs = got.iter().zip(right);
        pairs
            .into_iter()
            .all(|(got, right)| (got / right - 1.0).abs() < 0.017)
    };
    let fifo = three_at_once(Discipline::Fifo);
    assert!(near(&fifo, [10.0, 19.0, 28.0]), "{fifo:?}");
    let lifo = three_at_once(Discipline::Lifo);
    assert!(near(&lifo, [10.0, 18.0, 29.0]), "{lifo:?}");
}

#[test]
fn codel_keeps_waits_short_where_a_queue_does_not() {
    let of = |discipline| {
        let mut service = Service::new("service", 10, exponential(10)).queue(1000);
        service.discipline = discipline;
        run(
            &world(secs(60), service, Arrivals::Poisson(1100.0), once()),
            1,
        )
    };
    let codel = of(Discipline::CoDel {
        target: ms(5),
        interval: ms(100),
    });
    let fifo = of(Discipline::Fifo);
    let median = |recording| in_ms(clients(recording).latency.quantile(0.5));
    assert!(median(&fifo) > 500.0, "{}", median(&fifo));
    assert!(median(&codel) < 200.0, "{}", median(&codel));
    assert!(total(&served(&codel).dropped) > 1000);
    assert_eq!(total(&served(&fifo).dropped), 0);
    // It drops what is too much, and not more than a few times that.
    let kept = share(total(&served(&codel).served), total(&served(&fifo).served));
    assert!(kept > 0.97, "{kept}");
}

/// Twice what it can do, and callers that wait for 100 ms.
fn overloaded(stale: Stale) -> becalm_sim::record::Recording {
    let service = Service::new("service", 10, exponential(10))
        .queue(1000)
        .stale(stale);
    let scenario = impatient(
        secs(20),
        service,
        Arrivals::Poisson(2000.0),
        once(),
        ms(100),
    );
    run(&scenario, 1)
}

#[test]
fn stale_work_takes_the_workers_unless_the_service_knows() {
    let recording = overloaded(Stale::Served);
    let of = served(&recording);
    assert!(share(total(&of.stale), total(&of.served)) > 0.95);
    assert!(total(&clients(&recording).succeeded) < 1000);

    let recording = overloaded(Stale::PastDeadline);
    let of = served(&recording);
    // In turn, what is served has waited until just before it is too late: 1 in 10 is in time.
    let good = share(total(&clients(&recording).succeeded), total(&of.served));
    assert!(good > 0.07, "{good}");
    assert!(total(&of.dropped) > 10_000);

    let recording = overloaded(Stale::Cancelled);
    let of = served(&recording);
    assert_eq!(total(&of.stale), 0);
    assert_eq!(total(&of.served), total(&clients(&recording).succeeded));
    assert!(total(&of.dropped) > 10_000);
}

#[test]
fn refusals_alone_collapse_a_service_that_pays_for_them() {
    let of = |refusal| {
        let mut service = Service::new("service", 10, constant(10)).queue(20);
        service.refusal = refusal;
        let scenario = world(secs(20), service, Arrivals::Poisson(3000.0), once());
        let recording = run(&scenario, 1);
        total(&served(&recording).served)
    };
    // 2000 refusals a second at 1 ms take 2 of 10 workers, at 8 ms more than there are.
    assert!(of(ms(0)) > 19_800);
    let cheap = of(ms(1));
    assert!((14_000..18_000).contains(&cheap), "{cheap}");
    assert!(of(ms(8)) < 1000);
}

#[test]
fn a_limit_throttles_what_is_above_it() {
    let mut service = Service::new("service", Service::UNLIMITED, constant(1));
    service.limit = Some(Limit {
        rate: 100.0,
        burst: 50.0,
    });
    let scenario = world(secs(10), service, Arrivals::Constant(200.0), once());
    let recording = run(&scenario, 1);
    let accepted = total(&served(&recording).served);
    assert!((1045..=1051).contains(&accepted), "{accepted}");
    assert_eq!(clients(&recording).stops.len(), 1);
}

#[test]
fn every_routing_reaches_its_instances() {
    let of = |routing| {
        let mut service = Service::new("service", 1, constant(10)).queue(0);
        service.instances = 10;
        service.routing = routing;
        let policy = attempts(4, ms(0));
        let scenario = world(secs(20), service, Arrivals::Constant(500.0), policy);
        run(&scenario, 1)
    };
    // In turn each has 20 ms, and so do the least loaded; by chance some meet one that is busy.
    for routing in [Routing::RoundRobin, Routing::LeastLoaded] {
        assert_eq!(total(&served(&of(routing)).refused), 0, "{routing:?}");
    }
    let random = of(Routing::Random);
    let by_key = of(Routing::ByKey);
    assert!(total(&served(&random).refused) > 1000);
    // A retry goes to the same shard, which is still busy; by chance most go to another.
    let gave_up = |recording| total(&clients(recording).gave_up);
    assert!(gave_up(&by_key) > 4 * gave_up(&random));
}

#[test]
fn a_delay_of_the_network_is_paid_both_ways_and_a_loss_is_a_time_out() {
    let service = Service::new("service", Service::UNLIMITED, constant(10));
    let mut scenario = impatient(
        secs(20),
        service,
        Arrivals::Constant(100.0),
        once(),
        ms(200),
    );
    scenario.network.delay = Distribution::Constant(ms(20));
    let latency = in_ms(clients(&run(&scenario, 1)).latency.quantile(0.5));
    assert!((latency / 50.0 - 1.0).abs() < 0.017, "{latency}");

    scenario.network.loss = 0.2;
    let recording = run(&scenario, 1);
    let lost = share(total(&clients(&recording).timed_out), 2000);
    // 1 - 0.8^2 of 2000: a standard deviation of 1.1 %.
    assert!((lost - 0.36).abs() < 0.04, "{lost}");
    let arrived = share(total(&served(&recording).arrived), 2000);
    assert!((arrived - 0.8).abs() < 0.04, "{arrived}");
}

#[test]
fn work_under_way_stops_in_a_hang_and_slows_down_with_its_service() {
    use becalm_sim::scenario::Effect;
    let of = |effect| {
        let service = Service::new("service", 1, constant(100));
        let times: Vec<_> = [ms(100)].into();
        let scenario = world(secs(2), service, Arrivals::Trace(times.into()), once())
            .trigger(trigger(ms(150), ms(200), effect));
        in_ms(clients(&run(&scenario, 1)).latency.quantile(1.0))
    };
    let service = || named("service");
    let hang = of(Effect::Hang { service: service() });
    assert!((hang / 300.0 - 1.0).abs() < 0.017, "{hang}");
    // 50 ms at full speed, 200 ms at an eighth, the last 25 ms at full speed.
    let slow = of(Effect::Capacity {
        service: service(),
        share: 0.125,
    });
    assert!((slow / 275.0 - 1.0).abs() < 0.017, "{slow}");
}
