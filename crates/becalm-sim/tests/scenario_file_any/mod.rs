//! Scenarios for property tests: any that a file can hold.

use std::time::Duration;

use becalm::{
    Breaker, Budget, IdempotencyKey, Jitter, Operation, Policy, preset::Preset, throttle::Priority,
};
use becalm_sim::scenario::Distribution;
use becalm_sim::scenario::{
    Arrivals, Cache, Discipline, Downstream, Effect, InvalidScenario, Limit, Network, Population,
    Routing, Scalability, Scenario, Service, Sharing, Stale, Trigger, Variant,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

/// From nothing to four years and a half.
fn any_time() -> impl Strategy<Value = Duration> {
    (7..64_u32, any::<u64>()).prop_map(|(bits, n)| Duration::from_nanos(n >> bits))
}

fn any_length() -> impl Strategy<Value = Duration> {
    any_time().prop_map(|time| time.max(Duration::from_nanos(1)))
}

/// A length that is repeated: a world refuses shorter ones.
fn any_phase() -> impl Strategy<Value = Duration> {
    any_time().prop_map(|time| time.max(Duration::from_micros(1)))
}

fn any_count() -> impl Strategy<Value = u32> {
    1..50_000_000_u32
}

fn any_times() -> impl Strategy<Value = Vec<Duration>> {
    vec(any_time(), 1..5)
}

fn any_rate() -> impl Strategy<Value = f64> {
    prop_oneof![1e-9..1e9_f64, Just(500.0)]
}

fn any_share() -> impl Strategy<Value = f64> {
    prop_oneof![0.0..=1.0_f64, Just(0.0), Just(1.0)]
}

/// Any text: quotes, line breaks and what is no letter among them.
fn any_name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z-]{1,8}", any::<String>()]
}

pub fn any_distribution() -> impl Strategy<Value = Distribution> {
    let two = || (any_time(), any_time());
    prop_oneof![
        any_time().prop_map(Distribution::Constant),
        any_time().prop_map(Distribution::Exponential),
        two().prop_map(|(a, b)| Distribution::Uniform(a.min(b), a.max(b))),
        (any_time(), 0.0..=10.0_f64)
            .prop_map(|(median, sigma)| Distribution::Lognormal { median, sigma }),
        (two(), any_share()).prop_map(|((fast, slow), slow_share)| Distribution::Bimodal {
            fast,
            slow,
            slow_share
        }),
        any_times().prop_map(Distribution::Empirical),
    ]
}

fn any_arrivals() -> impl Strategy<Value = Arrivals> {
    let bursty = (any_share(), any_rate(), any_phase(), any_phase());
    prop_oneof![
        any_rate().prop_map(Arrivals::Poisson),
        any_rate().prop_map(Arrivals::Constant),
        bursty.prop_map(|(rate, burst_rate, burst, pause)| Arrivals::Bursty {
            rate,
            burst_rate,
            burst,
            pause
        }),
        any_times().prop_map(|mut times| {
            // Before any horizon.
            times.push(Duration::ZERO);
            times.sort();
            Arrivals::Trace(times.into())
        }),
        any_distribution().prop_map(|think| Arrivals::Closed { think }),
    ]
}

/// Policies of all kinds; becalm's own tests have all of them.
fn any_policy() -> impl Strategy<Value = Policy> {
    let presets: Vec<_> = Preset::all().map(Preset::policy).collect();
    let own = Policy::default()
        .attempts(7)
        .jitter(Jitter::Proportional(0.3))
        .budget(Budget::ratio(0.2).burst(3.0).and(Budget::per_minute(60)))
        .breaker(Breaker::default())
        .deadline(Duration::from_secs(7));
    prop_oneof![Just(Policy::default()), Just(own), select(presets),]
}

fn any_sharing() -> impl Strategy<Value = Sharing> {
    select(vec![Sharing::PerClient, Sharing::Shared])
}

fn any_cache() -> impl Strategy<Value = Cache> {
    let rules = any::<(bool, bool)>();
    let cache = (any_count(), any_share(), option::of(any_length()), rules);
    cache.prop_map(|(keys, hot, ttl, (late, warm))| {
        let mut cache = Cache::new(keys, hot);
        cache.ttl = ttl;
        (cache.keeps_late_fills, cache.starts_warm) = (late, warm);
        cache
    })
}

fn any_call(to: String) -> impl Strategy<Value = Downstream> {
    let timeout = option::of(any_length());
    let rules = (any_sharing(), any::<(bool, bool)>());
    let call = (any_count(), any_policy(), timeout, rules);
    call.prop_map(move |(fan_out, policy, timeout, (sharing, flags))| {
        let mut call = Downstream::new(to.clone(), policy);
        (call.fan_out, call.timeout, call.sharing) = (fan_out, timeout, sharing);
        (call.at_once, call.propagates) = flags;
        call.fails_for_good = call.at_once != call.propagates;
        (call.refused_from, call.silent_from) = (fan_out % 3, fan_out % 2);
        call
    })
}

fn any_discipline() -> impl Strategy<Value = Discipline> {
    prop_oneof![
        Just(Discipline::Fifo),
        Just(Discipline::Lifo),
        (any_length(), any_length())
            .prop_map(|(target, interval)| Discipline::CoDel { target, interval }),
    ]
}

fn any_routing() -> impl Strategy<Value = Routing> {
    select(vec![
        Routing::Random,
        Routing::RoundRobin,
        Routing::LeastLoaded,
        Routing::ByKey,
    ])
}

/// A service of this name that calls those.
fn any_service(name: String, below: Vec<String>) -> impl Strategy<Value = Service> {
    let calls: Vec<_> = below.into_iter().map(any_call).collect();
    let workers = prop_oneof![Just(Service::UNLIMITED), 1..u32::MAX];
    let size = (any_count(), workers, option::of(any::<u32>()));
    let stale = select(vec![Stale::Served, Stale::PastDeadline, Stale::Cancelled]);
    let limit = option::of((any_rate(), 1.0..1e6_f64));
    let rules = (any_routing(), any_discipline(), stale, limit);
    let law = option::of((any_share(), any_share()));
    let work = (any_distribution(), any_time(), any_share(), law);
    let parts = (size, rules, work, option::of(any_cache()), calls);
    parts.prop_map(move |(size, rules, work, cache, calls)| {
        let (instances, workers, queue) = size;
        let (time, refusal, failures, law) = work;
        let mut service = Service::new(name.clone(), workers, time);
        (service.instances, service.queue) = (instances, queue);
        (service.routing, service.discipline, service.stale) = (rules.0, rules.1, rules.2);
        service.limit = rules.3.map(|(rate, burst)| Limit { rate, burst });
        service.scalability = law.map(|(contention, coherency)| Scalability {
            contention,
            coherency,
        });
        (service.refusal, service.failures) = (refusal, failures);
        (service.cache, service.calls) = (cache, calls);
        service
    })
}

fn any_operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        Just(Operation::Idempotent),
        Just(Operation::KeyedByCaller),
        Just(Operation::NotIdempotent),
        any::<u128>().prop_map(|bits| Operation::Keyed(IdempotencyKey::from_random(bits))),
    ]
}

fn any_variants() -> impl Strategy<Value = Vec<Variant>> {
    let variant =
        |shares| (any_policy(), shares).prop_map(|(policy, share)| Variant { policy, share });
    prop_oneof![
        variant(Just(1.0).boxed()).prop_map(|only| vec![only]),
        vec(variant((0.01..10.0_f64).boxed()), 1..4).prop_map(|mut variants| {
            let sum: f64 = variants.iter().map(|it| it.share).sum();
            for it in &mut variants {
                it.share /= sum;
            }
            variants
        }),
    ]
}

fn any_population(name: String, target: String) -> impl Strategy<Value = Population> {
    let rules = (
        any_sharing(),
        select(Priority::ALL.to_vec()),
        any_operation(),
    );
    let timeout = option::of(any_length());
    let clients = any_count();
    let parts = (clients, any_arrivals(), any_variants(), timeout, rules);
    parts.prop_map(move |(clients, arrivals, variants, timeout, rules)| {
        let mut population =
            Population::new(name.clone(), target.clone(), arrivals, Policy::default());
        (population.clients, population.timeout) = (clients, timeout);
        population.variants = variants;
        (
            population.sharing,
            population.priority,
            population.operation,
        ) = rules;
        population
    })
}

fn any_effect(service: String, population: String) -> impl Strategy<Value = Effect> {
    let of = move || service.clone();
    let named = |make: fn(String) -> Effect| Just(make(of()));
    let above_zero = (0.01..=1.0_f64, Just(of()));
    let parts = (any_time(), any_length(), any_share(), any_rate());
    let others = (parts, Just(of()), 0..5_u8).prop_map(
        move |((time, length, share, factor), service, kind)| match kind {
            0 => Effect::Latency {
                service,
                added: time,
            },
            1 => Effect::Failures { service, share },
            2 => Effect::Load {
                population: population.clone(),
                factor,
            },
            3 => Effect::Deploy {
                service,
                each: length,
                pause: time,
            },
            _ => Effect::Loss { share },
        },
    );
    prop_oneof![
        named(|service| Effect::Hang { service }),
        named(|service| Effect::Down { service }),
        named(|service| Effect::CacheLoss { service }),
        above_zero.prop_map(|(share, service)| Effect::Capacity { service, share }),
        others,
    ]
}

/// Any scenario that a file can hold: names that mean something, values in range, no circles.
pub fn any_scenario() -> impl Strategy<Value = Scenario> {
    let names = (vec(any_name(), 2), any_name(), any_name());
    names
        .prop_flat_map(|(mut services, population, name)| {
            services.sort();
            services.dedup();
            let first = services[0].clone();
            let below = services[1..].to_vec();
            let all: Vec<_> = below
                .iter()
                .map(|name| any_service(name.clone(), Vec::new()).boxed())
                .chain([any_service(first.clone(), below.clone()).boxed()])
                .collect();
            let trigger = (
                any_time(),
                any_time(),
                any_effect(first.clone(), population.clone()),
            )
                .prop_map(|(from, length, effect)| Trigger::new(from, length, effect));
            let network = (any_distribution(), any_share());
            let horizon = (any_length(), 1..1_000_000_u32);
            let times = horizon.prop_map(|(horizon, buckets)| {
                let bucket = (horizon / buckets).max(Duration::from_nanos(1));
                (horizon, bucket)
            });
            let parts = (
                times,
                network,
                all,
                any_population(population, first),
                vec(trigger, 0..3),
            );
            parts.prop_map(
                move |((horizon, bucket), (delay, loss), services, population, triggers)| {
                    let mut scenario = Scenario::new(name.clone(), horizon);
                    let mut network = Network::default();
                    (network.delay, network.loss) = (delay, loss);
                    (scenario.bucket, scenario.network) = (bucket, network);
                    scenario.services = services;
                    scenario.populations = vec![population];
                    scenario.triggers = triggers;
                    scenario
                },
            )
        })
        .prop_filter("it would not end", |it| {
            !matches!(it.validate(), Err(InvalidScenario::Endless(_)))
        })
}
