//! Which services are drawn by chance, to ask the same of many?

#![allow(dead_code)] // each test uses some

use std::time::Duration;

use becalm::{Budget, Policy};
use becalm_sim::scenario::{
    Arrivals, Distribution, Effect, Population, Scenario, Service, Trigger,
};
use proptest::prelude::*;

pub const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// 200 requests per second can be served; a hang from 10 s on.
#[derive(Debug, Clone)]
pub struct Drawn {
    pub load: f64,
    pub queue: Option<u32>,
    pub timeout_ms: u64,
    pub policy: Policy,
    pub hang_ms: u64,
}

impl Drawn {
    pub fn scenario(&self, after: u64) -> Scenario {
        let time = Distribution::Exponential(Duration::from_millis(20));
        let service = Service::new("orders", 4, time);
        let service = match self.queue {
            Some(places) => service.queue(places),
            None => service,
        };
        let clients = Population::new(
            "users",
            "orders",
            Arrivals::Poisson(self.load),
            self.policy.clone(),
        )
        .timeout(Duration::from_millis(self.timeout_ms));
        let hang = Effect::Hang {
            service: "orders".into(),
        };
        let trigger = Trigger::new(seconds(10), Duration::from_millis(self.hang_ms), hang);
        let mut scenario = Scenario::new("drawn", Duration::ZERO)
            .service(service)
            .population(clients)
            .trigger(trigger);
        scenario.horizon = scenario.triggers_end() + seconds(after);
        scenario
    }
}

pub fn any_scenario() -> impl Strategy<Value = Drawn> {
    let policy = (1_u32..5, 0_u8..4, 0_u64..400).prop_map(|(attempts, budget, base)| {
        let policy = Policy::default().attempts(attempts);
        let policy = policy.base(Duration::from_millis(base));
        match budget {
            0 => policy,
            1 => policy.budget(Budget::None),
            2 => policy.budget(Budget::ratio(0.3).burst(2_000.0)),
            _ => policy.budget(Budget::first_tries(0.5)),
        }
    });
    let queue = prop_oneof![Just(None), (10_u32..1_000).prop_map(Some)];
    let times = (50_u64..1_000, 200_u64..4_000);
    (30.0..190.0, queue, times, policy).prop_map(|(load, queue, (timeout_ms, hang_ms), policy)| {
        Drawn {
            load,
            queue,
            timeout_ms,
            policy,
            hang_ms,
        }
    })
}
