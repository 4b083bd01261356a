//! How much is asked of each service, if nobody retries?

mod by_hand;

use std::time::Duration;

use becalm::Policy;
use becalm_sim::scenario::{Arrivals, Cache, Downstream, Scenario, Service};
use becalm_sim::verdict::{bottleneck, first_tries};
use by_hand::{eager, unhung};

/// Ten keys, nine of ten requests for them, and a service behind the cache that is asked twice for
/// each miss.
fn cached(rate: f64, ttl: Option<Duration>) -> Scenario {
    let mut scenario = unhung(rate, &eager());
    let mut cache = Cache::new(10, 0.9);
    cache.ttl = ttl;
    scenario.services[0].cache = Some(cache);
    let mut call = Downstream::new("rows", Policy::default());
    call.fan_out = 2;
    scenario.services[0].calls.push(call);
    let time = scenario.services[0].time.clone();
    scenario.service(Service::new("rows", 2, time))
}

#[test]
fn behind_a_cache_only_misses_arrive() {
    let loads = first_tries(&cached(100.0, None));
    assert!((loads[0] - 100.0).abs() < 1e-9);
    assert!((loads[1] - 2.0 * 10.0).abs() < 1e-9, "{loads:?}");
}

/// Each of ten keys is asked for 9 times a second. Of those within 2 s, all but the first are
/// answered: 1 of 1 + 9 x 2 misses.
#[test]
fn an_entry_that_expires_is_missed_once_in_its_life() {
    let loads = first_tries(&cached(100.0, Some(Duration::from_secs(2))));
    let misses = 10.0 + 90.0 / 19.0;
    assert!((loads[1] - 2.0 * misses).abs() < 1e-9, "{loads:?}");
}

#[test]
fn the_load_of_arrivals_of_every_kind_is_their_mean() {
    let load = |arrivals| {
        let mut scenario = unhung(1.0, &eager());
        scenario.populations[0].arrivals = arrivals;
        first_tries(&scenario)[0]
    };
    let bursty = Arrivals::Bursty {
        rate: 10.0,
        burst_rate: 200.0,
        burst: Duration::from_secs(1),
        pause: Duration::from_secs(9),
    };
    // Nine seconds of 10 and one of 200.
    assert!((load(bursty) - 29.0).abs() < 1e-9);
    assert!((load(Arrivals::Constant(7.0)) - 7.0).abs() < 1e-9);
    // 80 calls in 40 s.
    let trace = (0..80).map(Duration::from_millis).collect();
    assert!((load(Arrivals::Trace(trace)) - 2.0).abs() < 1e-9);
    let think = becalm_sim::scenario::Distribution::Constant(Duration::from_secs(1));
    assert!(
        load(Arrivals::Closed { think }).abs() < 1e-9,
        "it follows the service"
    );
}

#[test]
fn without_any_open_loop_nothing_is_the_bottleneck() {
    let mut scenario = unhung(1.0, &eager());
    assert!(bottleneck(&scenario).is_some());
    let think = becalm_sim::scenario::Distribution::Constant(Duration::from_secs(1));
    scenario.populations[0].arrivals = Arrivals::Closed { think };
    assert_eq!(bottleneck(&scenario), None);
}
