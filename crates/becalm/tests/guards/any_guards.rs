//! Any guards, and every kind of budget.

use std::time::Duration;

use becalm::breaker::State::{self, HalfOpen};
use becalm::{
    Budget, Bulkhead, Hedge, Policy, Scope, Sleeper, Throttle,
    call::{Call, CallOptions},
    rate::AdaptiveRate,
};
use proptest::prelude::*;

use crate::probe::{MS, SECOND, fixed};
use crate::world::{World, consecutive};

/// Which guards there are. Of the bulkhead: calls, and places for those who wait.
#[derive(Debug, Clone, Copy)]
pub struct Guards {
    pub throttle: bool,
    pub rate: bool,
    pub hedge: bool,
    pub bulkhead: Option<(u32, u32)>,
    pub probes: Option<u32>,
    pub places: Option<u32>,
    pub deadline: Option<u64>,
}

pub fn guards() -> impl Strategy<Value = Guards> {
    (
        any::<bool>(),
        proptest::bool::weighted(0.3),
        any::<bool>(),
        proptest::option::of((1_u32..4, 0_u32..3)),
        proptest::option::weighted(0.8, 1_u32..3),
        proptest::option::weighted(0.7, 1_u32..3),
        proptest::option::weighted(0.3, 1_u64..3000),
    )
        .prop_map(
            |(throttle, rate, hedge, bulkhead, probes, places, deadline)| Guards {
                throttle,
                rate,
                hedge,
                bulkhead,
                probes,
                places,
                deadline,
            },
        )
}

/// Every kind of budget, wide enough for most.
fn all_kinds() -> Budget {
    Budget::ratio(1.0)
        .burst(30.0)
        .and(Budget::tokens())
        .and(Budget::grpc(100, 0.5))
        .and(Budget::window(2.0, 60 * SECOND, 10.0))
        .and(Budget::concurrency(1.0, 0))
        .and(Budget::per_minute(MINUTE))
}

const MINUTE: u32 = 10_000;

pub fn policy(guards: Guards) -> Policy {
    let mut policy = fixed(100 * MS).budget(all_kinds());
    policy.throttle = guards.throttle.then(|| Throttle::accepts(2.0).max(0.3));
    policy.rate = guards
        .rate
        .then(|| AdaptiveRate::cubic().max_wait(5 * SECOND));
    policy.hedge = guards.hedge.then(|| Hedge::after(20 * MS).copies(2));
    policy.bulkhead = guards
        .bulkhead
        .map(|(calls, waiting)| Bulkhead::calls(calls).waiting(waiting));
    policy.breaker = guards.probes.map(|probes| {
        consecutive(2)
            .probes(probes)
            .successes(2)
            .slow(150 * MS)
            .open(80 * MS)
    });
    policy.max_waiting = guards.places;
    policy.deadline = guards.deadline.map(Duration::from_millis);
    policy
}

/// As many probes as there are may run at once, and none more.
pub fn all_slots_are_free(world: &World, probes: u32) {
    if world.state() == State::Open {
        world.clock.advance(60 * SECOND);
    }
    if world.state() != HalfOpen {
        return;
    }
    let now = world.clock.now();
    let begin = || Call::begin(&world.retrier, CallOptions::new(), Scope::NONE, now);
    let mut calls: Vec<_> = (0..=probes).map(|_| begin()).collect();
    let starts = calls
        .iter_mut()
        .filter_map(|call| call.start(now, &mut || 0).ok());
    assert_eq!(starts.count(), probes as usize, "the slots of the breaker");
}
