//! Which worlds is the default policy tried in? Any with one layer that retries, drawn from a seed.

use std::time::Duration;

use becalm::Policy;
use becalm::rng::{Random, SplitMix64};
use becalm_sim::catalogue::{ENTRIES, Parameters};
use becalm_sim::scenario::{
    Arrivals, Discipline, Distribution, Downstream, Effect, Population, Routing, Scenario, Service,
    Stale, Trigger,
};
use becalm_sim::verdict::{bottleneck, is_bounded, judge, louder};
use becalm_sim::world;

/// The default, but without retries.
pub fn once() -> Policy {
    Policy::default().attempts(1)
}

/// What a policy comes to in a scenario beside no retries, on the same seeds.
pub struct Beside {
    /// Whether the service comes back without retries under every seed.
    pub is_back_without: bool,
    /// Calls that begin at the end and succeed, over those without retries.
    pub goodput: f64,
}

impl Beside {
    /// The law: wherever the service comes back without retries, it comes back with the policy, to 97 % of
    /// that goodput.
    pub fn holds(&self) -> bool {
        !self.is_back_without || self.goodput >= 0.97
    }

    /// Of this policy for all clients of the scenario.
    pub fn of(scenario: &Scenario, policy: &Policy, seeds: u64) -> Self {
        let (mut is_back_without, mut with, mut without) = (true, 0, 0);
        for seed in 1..=seeds {
            let run = |policy: &Policy| {
                let scenario = scenario.under(policy);
                judge(&scenario, &world::run(&scenario, seed))
            };
            let calm = run(&once());
            is_back_without &= calm.holds();
            if !is_back_without {
                break;
            }
            without += calm.tail.succeeded;
            with += run(policy).tail.succeeded;
        }
        #[allow(clippy::cast_precision_loss)] // far below 2^52
        let goodput = with as f64 / (without.max(1)) as f64;
        Self {
            is_back_without,
            goodput,
        }
    }
}

/// The scenarios of the catalogue that have a verdict, with two minutes more to come back in: the burst of
/// every client of theirs is worked off by then.
pub fn catalogue() -> Vec<Scenario> {
    let worlds = ENTRIES.iter().filter_map(|entry| {
        let build = entry.scenario()?;
        let scenario = build(&Parameters::of(entry.parameters), &Policy::default());
        is_bounded(&scenario).then_some(scenario)
    });
    let longer = worlds.map(|mut scenario| {
        scenario.horizon += Duration::from_secs(120);
        scenario
    });
    longer.collect()
}

/// Draws of one world.
struct Draws(SplitMix64);

impl Draws {
    #[allow(clippy::cast_precision_loss)] // 53 bits are exact
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64)
    }

    /// Equally likely in every octave.
    fn across(&mut self, low: f64, high: f64) -> f64 {
        self.between(low.ln(), high.ln()).exp()
    }

    fn chance(&mut self, share: f64) -> bool {
        self.between(0.0, 1.0) < share
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // small
    fn count(&mut self, low: f64, high: f64) -> u32 {
        self.across(low, high).round() as u32
    }

    fn of<T: Clone>(&mut self, these: &[T]) -> T {
        let at = self.0.next_u64() % these.len() as u64;
        these[usize::try_from(at).expect("a few")].clone()
    }

    fn time(&mut self, mean: f64) -> Distribution {
        let seconds = Duration::from_secs_f64;
        match self.count(1.0, 4.0) {
            1 => Distribution::Constant(seconds(mean)),
            2 => Distribution::Uniform(seconds(mean * 0.5), seconds(mean * 1.5)),
            3 => Distribution::Lognormal {
                median: seconds(mean * 0.88),
                sigma: 0.5,
            },
            _ => Distribution::Exponential(seconds(mean)),
        }
    }
}

/// How a world is to be shown: what makes it what it is.
pub fn shown(scenario: &Scenario) -> String {
    let service = &scenario.services[0];
    let load = bottleneck(scenario).map_or(0.0, |it| it.utilisation());
    let clients: Vec<String> = scenario
        .populations
        .iter()
        .map(|it| format!("{} x {:?} within {:?}", it.clients, it.arrivals, it.timeout))
        .collect();
    format!(
        "load {:.0} % behind {} others; {} % fail; {} instances ({:?}) of {} workers of {:?}, queue {:?} {:?}, {:?}; {}; {:?}",
        100.0 * load,
        scenario.services.len() - 1,
        100.0 * service.failures,
        service.instances,
        service.routing,
        service.workers,
        service.time,
        service.queue,
        service.discipline,
        service.stale,
        clients.join(" and "),
        scenario.triggers,
    )
}

/// One of as many worlds as there are seeds: services, queues, triggers, time-outs and populations of
/// any kind, loaded from 30 to 95 % of the capacity, with room for the bursts to be worked off.
pub fn drawn(seed: u64) -> Scenario {
    let mut draws = Draws(SplitMix64::new(seed));
    let draws = &mut draws;
    let mean = draws.across(0.002, 0.1);
    let instances = draws.count(1.0, 4.0);
    // From 50 to 1500 requests a second.
    let capacity = draws.across(50.0, 1_500.0);
    let workers = at_least_one((capacity * mean / f64::from(instances)).round());
    let time = draws.time(mean);
    let mut service = Service::new("service", workers, time);
    service.instances = instances;
    service.routing = draws.of(&[Routing::Random, Routing::RoundRobin, Routing::LeastLoaded]);
    let capacity = service.capacity();
    if draws.chance(0.8) {
        let waits = draws.across(0.05, 5.0);
        service.queue = Some(at_least_one(capacity * waits / f64::from(instances)));
    }
    service.discipline = draws.of(&[
        Discipline::Fifo,
        Discipline::Fifo,
        Discipline::Lifo,
        Discipline::CoDel {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
        },
    ]);
    service.stale = draws.of(&[
        Stale::Served,
        Stale::Served,
        Stale::PastDeadline,
        Stale::Cancelled,
    ]);
    if draws.chance(0.3) {
        service.failures = draws.between(0.0, 0.02);
    }
    let load = draws.between(0.3, 0.95);
    // What the others leave free has to work off the bursts: ten retries of each client, or half a second of all calls.
    let spare = capacity * (1.0 - load);
    let most = (spare * 6.0).clamp(1.0, 3_000.0);
    let mut scenario = Scenario::new("drawn", Duration::from_secs(1));
    scenario.network.delay =
        Distribution::Uniform(Duration::from_micros(200), Duration::from_millis(1));
    // Before it another one, which waits for it without a bound and repeats nothing.
    let is_behind = draws.chance(0.3);
    let target = if is_behind { "edge" } else { "service" };
    let populations = draws.count(1.0, 3.0);
    let mut clients = 0;
    for number in 0..populations {
        let rate = capacity / f64::from(populations);
        let arrivals = match draws.count(1.0, 3.0) {
            1 => Arrivals::Constant(rate),
            _ => Arrivals::Poisson(rate),
        };
        let own = draws.count(1.0, most / f64::from(populations) + 1.0);
        clients += own;
        let timeout = draws.across((8.0 * mean).max(0.05), (60.0 * mean).max(0.5));
        let name = format!("clients {number}");
        let population = Population::new(name, target, arrivals, Policy::default())
            .clients(own)
            .timeout(Duration::from_secs_f64(timeout));
        scenario = scenario.population(population);
    }
    scenario = scenario.service(service);
    if is_behind {
        let mut edge = Service::new("edge", Service::UNLIMITED, draws.time(0.001));
        edge.instances = 2;
        scenario = scenario.service(edge.calls(Downstream::new("service", once())));
    }
    let lasts = Duration::from_secs_f64(draws.between(0.5, 5.0));
    let service = || "service".to_owned();
    let effect = match draws.count(1.0, 8.0) {
        1 => Effect::Down { service: service() },
        2 => Effect::Capacity {
            service: service(),
            share: draws.between(0.05, 0.6),
        },
        3 => Effect::Latency {
            service: service(),
            added: Duration::from_secs_f64(draws.between(0.05, 2.0)),
        },
        4 => Effect::Failures {
            service: service(),
            share: draws.between(0.2, 1.0),
        },
        5 => Effect::Load {
            population: "clients 0".to_owned(),
            factor: draws.across(1.5, 8.0),
        },
        6 => Effect::Deploy {
            service: service(),
            each: lasts / (2 * instances),
            pause: lasts / (2 * instances),
        },
        _ => Effect::Hang { service: service() },
    };
    let from = Duration::from_secs(10);
    scenario = scenario.trigger(Trigger::new(from, lasts, effect));
    let bursts = (10.0 * f64::from(clients) + 0.5 * load * capacity) / spare;
    scenario.horizon = from + lasts + Duration::from_secs_f64(30.0 + 1.5 * bursts);
    let now = bottleneck(&scenario).map_or(1.0, |it| it.utilisation());
    louder(&scenario, load / now)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // small
fn at_least_one(count: f64) -> u32 {
    (count as u32).max(1)
}
