//! Is a request over a limit answered as a 429 is, and one that finds a full queue as a 503 is?

mod worlds;

use becalm::Policy;
use becalm_sim::scenario::{Arrivals, Limit, Scenario, Service};
use becalm_sim::world::run;
use worlds::{attempts, clients, constant, ms, secs, world};

/// Half of 100 calls a second is refused; a retry after a throttle comes after 200 ms, after another
/// failure at once.
fn policy() -> Policy {
    attempts(2, ms(0)).throttled_base(ms(200))
}

fn slowest(scenario: &Scenario) -> u64 {
    let latency = clients(&run(scenario, 1)).latency.clone();
    latency.quantile(1.0).expect("calls succeed") / 1_000_000
}

#[test]
fn after_a_limit_the_delay_is_that_of_a_throttle() {
    let mut limited = Service::new("service", Service::UNLIMITED, constant(1));
    limited.limit = Some(Limit {
        rate: 50.0,
        burst: 1.0,
    });
    let scenario = world(secs(5), limited, Arrivals::Poisson(50.0), policy());
    // A time is kept to within 1.6 %.
    assert!(
        (197..=205).contains(&slowest(&scenario)),
        "{}",
        slowest(&scenario)
    );

    let full = Service::new("service", 1, constant(10)).queue(0);
    let scenario = world(secs(5), full, Arrivals::Poisson(50.0), policy());
    assert!(slowest(&scenario) < 25, "{}", slowest(&scenario));
}
