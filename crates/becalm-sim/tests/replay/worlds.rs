//! Small worlds in which calls go through everything that a call can.

use std::time::Duration;

use becalm::{
    Breaker, Budget, Bulkhead, Failure, Hedge, Jitter, Policy, StopReason,
    call::Decision,
    classify::Verdict,
    classify::{Cause, FailureKind},
};
use becalm_sim::scenario::Distribution;
use becalm_sim::scenario::{
    Arrivals, Downstream, Effect, Limit, Population, Scenario, Service, Sharing, Stale, Trigger,
};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The failure of a service that answers.
pub fn failed() -> Verdict {
    Failure::transient().because(Cause::Status(503)).into()
}

/// The failure of an attempt that took too long.
pub fn timed_out() -> Verdict {
    let cause = Cause::Kind(FailureKind::TimedOut);
    Failure::transient().because(cause).into()
}

/// What an empty budget decides.
pub fn exhausted() -> Decision {
    Decision::Stop(StopReason::BudgetExhausted)
}

/// A retry after some tens of milliseconds.
fn quick() -> Policy {
    Policy::exponential(ms(20))
        .cap(ms(300))
        .budget(Budget::None)
}

/// A service that fails often, queues, refuses what is over its limit, and hangs for a while.
fn flaky() -> Service {
    let time = Distribution::Exponential(ms(8));
    let mut service = Service::new("orders", 4, time).queue(30).failures(0.3);
    service.limit = Some(Limit {
        rate: 350.0,
        burst: 20.0,
    });
    service
}

fn hang() -> Trigger {
    let service = "orders".into();
    Trigger::new(ms(1000), ms(300), Effect::Hang { service })
}

/// Three seconds of it under one policy, which two clients share.
fn world(name: &str, policy: &Policy) -> Scenario {
    let calls = Arrivals::Poisson(250.0);
    let clients = Population::new("clients", "orders", calls, policy.clone());
    Scenario::new(name, Duration::from_secs(3))
        .service(flaky())
        .population(clients.clients(2).sharing(Sharing::Shared).timeout(ms(90)))
        .trigger(hang())
}

/// One for each budget, with the kinds of jitter in turn.
pub fn jitters_and_budgets() -> Vec<Scenario> {
    let tokens = Budget::tokens();
    let budgets = [
        Budget::ratio(0.2),
        Budget::ratio(0.05).floor_per_second(20.0),
        tokens,
        Budget::grpc(20, 0.4),
        Budget::concurrency(0.2, 2),
        Budget::window(0.2, ms(1000), 5.0),
        Budget::per_minute(300),
        Budget::ratio(0.2).and(Budget::grpc(20, 0.5)),
    ];
    let jitters = Jitter::SAMPLES.iter().copied().cycle();
    let policies = budgets.into_iter().zip(jitters);
    policies
        .map(|(budget, jitter)| {
            let name = format!("{budget:?}, {jitter:?}");
            world(&name, &quick().attempts(5).budget(budget).jitter(jitter))
        })
        .collect()
}

/// Time limits of attempts and of calls, each client for itself.
pub fn deadlines() -> Scenario {
    let policy = quick()
        .attempts(6)
        .attempt_timeout(ms(70))
        .deadline(ms(110));
    let mut scenario = world("deadlines", &policy);
    for population in &mut scenario.populations {
        population.sharing = Sharing::PerClient;
    }
    scenario
}

/// A breaker of each kind of one client.
pub fn breaker() -> Scenario {
    let breaker = Breaker::consecutive(4);
    world("breaker", &quick().breaker(breaker))
}

/// A throttle that sheds first tries.
pub fn throttle() -> Scenario {
    let throttle = becalm::Throttle::accepts(1.1).within(Duration::from_secs(2));
    world("throttle", &quick().throttle(throttle))
}

/// Places for few calls, and a queue for some more.
pub fn bulkhead() -> Scenario {
    let bulkhead = Bulkhead::calls(3).waiting(8).max_wait(ms(60));
    world("bulkhead", &quick().bulkhead(bulkhead).deadline(ms(400)))
}

/// Calls that wait for their turn after the service has throttled some.
pub fn rate() -> Scenario {
    world(
        "rate",
        &quick().rate(becalm::rate::AdaptiveRate::cubic().max_wait(ms(200))),
    )
}

/// Copies beside slow attempts: most are fast, some slow.
pub fn hedges() -> Scenario {
    let policy = quick()
        .hedge(Hedge::after(ms(13)).copies(2))
        .budget(Budget::ratio(0.5))
        .attempts(5);
    let mut scenario = world("hedges", &policy);
    for service in &mut scenario.services {
        service.workers = 40;
        service.limit = None;
        service.time = Distribution::Bimodal {
            fast: ms(5),
            slow: ms(47),
            slow_share: 0.4,
        };
    }
    scenario.network.delay = Distribution::Exponential(ms(1));
    scenario
}

/// Instances that call in turn, and hear when their own callers leave.
pub fn layers() -> Scenario {
    let mut scenario = world("layers", &quick().attempt_timeout(ms(61)));
    let calls = Downstream::new("orders", quick().attempts(3).attempt_timeout(ms(37)));
    let mut front = Service::new("front", 30, Distribution::Exponential(ms(1)))
        .stale(Stale::Cancelled)
        .calls(calls);
    front.instances = 2;
    scenario.services.push(front);
    for population in &mut scenario.populations {
        "front".clone_into(&mut population.target);
    }
    scenario
}
