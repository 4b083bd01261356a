//! What holds in every world, whatever happens in it?

mod worlds;

use becalm::rng::{Random, SplitMix64};
use becalm::{Breaker, Budget};
use becalm::{Bulkhead, Hedge, Policy, Throttle, call::Decision, throttle::Priority};
use becalm_sim::record::{Recording, total};
use becalm_sim::scenario::Distribution;
use becalm_sim::scenario::{
    Arrivals, Cache, Discipline, Downstream, Effect, Limit, Population, Routing, Scalability,
    Scenario, Service, Sharing, Stale,
};
use becalm_sim::world::{Caller, Step, run, run_traced};
use worlds::{attempts, exponential, ms, named, secs, trigger};

/// One of these.
fn one<'t, T>(random: &mut SplitMix64, of: &'t [T]) -> &'t T {
    let at = usize::try_from(random.next_u64() >> 1).expect("a word") % of.len();
    &of[at]
}

fn any_policy(random: &mut SplitMix64) -> Policy {
    let mut policy = attempts(*one(random, &[1, 3, 5]), ms(20));
    if *one(random, &[true, false]) {
        policy = policy.budget(Budget::ratio(0.2));
    }
    match one(random, &[0, 1, 2, 3, 4, 5]) {
        0 => policy.hedge(Hedge::after(ms(30)).copies(2)),
        1 => policy.bulkhead(Bulkhead::calls(5).waiting(10).max_wait(ms(50))),
        2 => policy.breaker(Breaker::consecutive(5)),
        3 => policy.throttle(Throttle::default()),
        4 => policy.deadline(ms(150)),
        _ => policy,
    }
}

/// The first calls the second.
fn any_services(random: &mut SplitMix64) -> [Service; 2] {
    let disciplines = [
        Discipline::Fifo,
        Discipline::Lifo,
        Discipline::CoDel {
            target: ms(5),
            interval: ms(100),
        },
    ];
    let stale = [Stale::Served, Stale::PastDeadline, Stale::Cancelled];
    let mut back = Service::new("back", 4, exponential(10))
        .queue(*one(random, &[0, 10, 1000]))
        .stale(*one(random, &stale))
        .failures(*one(random, &[0.0, 0.1]));
    back.discipline = *one(random, &disciplines);
    back.refusal = *one(random, &[ms(0), ms(2)]);
    back.instances = *one(random, &[1, 3]);
    back.routing = *one(
        random,
        &[
            Routing::Random,
            Routing::RoundRobin,
            Routing::LeastLoaded,
            Routing::ByKey,
        ],
    );
    back.scalability = *one(
        random,
        &[
            None,
            Some(Scalability {
                contention: 0.1,
                coherency: 0.05,
            }),
        ],
    );
    back.limit = *one(
        random,
        &[
            None,
            Some(Limit {
                rate: 200.0,
                burst: 20.0,
            }),
        ],
    );
    let mut downstream = Downstream::new("back", any_policy(random));
    downstream.fan_out = *one(random, &[1, 3]);
    downstream.at_once = *one(random, &[true, false]);
    downstream.propagates = *one(random, &[true, false]);
    downstream.timeout = Some(ms(60));
    let mut front = Service::new("front", 40, exponential(2))
        .stale(*one(random, &stale))
        .calls(downstream);
    front.discipline = *one(random, &disciplines);
    front.instances = *one(random, &[1, 2]);
    if *one(random, &[true, false]) {
        front.cache = Some(Cache::new(50, 0.5));
    }
    [front, back]
}

fn with_populations(mut scenario: Scenario, random: &mut SplitMix64) -> Scenario {
    let arrivals = [
        Arrivals::Poisson(80.0),
        Arrivals::Constant(80.0),
        Arrivals::Bursty {
            rate: 40.0,
            burst_rate: 300.0,
            burst: ms(200),
            pause: ms(800),
        },
        Arrivals::Closed {
            think: exponential(50),
        },
    ];
    let sharing = [Sharing::PerClient, Sharing::Shared];
    for name in ["first", "second"] {
        let population = Population::new(
            name,
            "front",
            one(random, &arrivals).clone(),
            any_policy(random),
        );
        scenario = scenario.population(
            population
                .clients(*one(random, &[1, 7]))
                .sharing(*one(random, &sharing))
                .priority(*one(random, Priority::ALL))
                .timeout(*one(random, &[ms(40), ms(200)])),
        );
    }
    scenario
}

fn with_triggers(mut scenario: Scenario, random: &mut SplitMix64) -> Scenario {
    let service = || named("back");
    let effects = [
        Effect::Capacity {
            service: service(),
            share: 0.3,
        },
        Effect::Hang { service: service() },
        Effect::Down { service: service() },
        Effect::Latency {
            service: service(),
            added: ms(50),
        },
        Effect::Failures {
            service: service(),
            share: 0.9,
        },
        Effect::Load {
            population: named("first"),
            factor: 3.0,
        },
        Effect::CacheLoss {
            service: named("front"),
        },
        Effect::Deploy {
            service: service(),
            each: ms(300),
            pause: ms(100),
        },
        Effect::Loss { share: 0.3 },
    ];
    for _ in 0..2 {
        let from = ms(500 + 100 * (random.next_u64() % 10));
        let effect = one(random, &effects).clone();
        scenario = scenario.trigger(trigger(from, ms(900), effect));
    }
    scenario
}

/// Two services in a row and two populations, everything else by chance.
fn any_world(seed: u64) -> Scenario {
    let random = &mut SplitMix64::new(seed);
    let [front, back] = any_services(random);
    let scenario = Scenario::new("any", secs(4)).service(front).service(back);
    let scenario = with_populations(scenario, random);
    let mut scenario = with_triggers(scenario, random);
    if *one(random, &[true, false]) {
        scenario.network.delay = Distribution::Exponential(ms(3));
        scenario.network.loss = 0.01;
    }
    scenario
}

const WORLDS: u64 = 60;

fn populations_add_up(recording: &Recording, seed: u64) {
    for of in &recording.populations {
        let count = |counts: &[u32]| total(counts);
        let ended = count(&of.succeeded) + count(&of.gave_up);
        assert_eq!(count(&of.calls), ended + of.under_way, "world {seed}");
        assert_eq!(
            count(&of.succeeded),
            count(&of.succeeded_of),
            "world {seed}"
        );
        assert_eq!(count(&of.succeeded), of.latency.len(), "world {seed}");
        let endings = of.endings.iter().map(|it| it.latency.len());
        assert_eq!(endings.sum::<u64>(), of.latency.len(), "world {seed}");
        let gave_up = of.endings.iter().map(|it| it.gave_up);
        assert_eq!(gave_up.sum::<u64>(), count(&of.gave_up), "world {seed}");
        let ends = recording.slices.iter().skip(1).map(|it| *it as usize);
        let ends = ends.chain([of.calls.len()]);
        for ((start, end), endings) in recording.slices.iter().zip(ends).zip(&of.endings) {
            let succeeded = total(&of.succeeded_of[*start as usize..end]);
            assert_eq!(succeeded, endings.latency.len(), "world {seed}");
        }
        let stops: u64 = of.stops.values().sum();
        assert_eq!(count(&of.gave_up), stops, "world {seed}");
        let answered = count(&of.succeeded) + count(&of.failed) + count(&of.timed_out);
        assert!(answered <= count(&of.attempts), "world {seed}");
    }
}

fn services_add_up(recording: &Recording, seed: u64) {
    for of in &recording.services {
        let count = |counts: &[u32]| total(counts);
        let ended = count(&of.refused) + count(&of.served) + count(&of.dropped);
        assert_eq!(count(&of.arrived), ended + of.inside, "world {seed}");
        assert!(count(&of.stale) <= count(&of.served), "world {seed}");
    }
}

#[test]
fn nothing_is_lost_and_nothing_appears() {
    let mut calls = 0;
    for seed in 0..WORLDS {
        let scenario = any_world(seed);
        assert_eq!(scenario.validate(), Ok(()));
        let recording = run(&scenario, seed);
        populations_add_up(&recording, seed);
        services_add_up(&recording, seed);
        calls += total(&recording.populations[0].calls);
        for of in &recording.populations {
            assert_eq!(of.calls.len(), 40);
            assert_eq!(of.succeeded_of.len(), 40);
        }
        assert_eq!(recording.services[1].queue.len(), 40);
    }
    assert!(calls > 100 * WORLDS, "{calls}");
}

#[test]
fn equal_seeds_leave_equal_recordings_and_others_do_not() {
    for seed in 0..10 {
        let scenario = any_world(seed);
        let recording = run(&scenario, seed);
        assert!(recording == run(&scenario, seed), "world {seed}");
        assert!(recording != run(&scenario, seed + 1), "world {seed}");
    }
}

#[test]
fn attempts_are_first_tries_retries_and_hedges_and_a_listener_changes_nothing() {
    for seed in 0..WORLDS / 2 {
        let scenario = any_world(seed);
        let mut seen = [[0_u64; 5]; 2];
        let recording = run_traced(&scenario, seed, &mut |traced| {
            let Caller::Client { population, .. } = traced.caller else {
                return;
            };
            let [calls, firsts, retries, hedges, done] = &mut seen[population as usize];
            match traced.step {
                Step::Began => *calls += 1,
                Step::Started(1) => *firsts += 1,
                Step::Started(_) => *retries += 1,
                Step::Hedged(Some(_)) => *hedges += 1,
                Step::Decided(_, _, Decision::Done) => *done += 1,
                _ => (),
            }
        });
        assert!(recording == run(&scenario, seed), "world {seed}");
        for (of, [calls, firsts, retries, hedges, done]) in recording.populations.iter().zip(seen) {
            assert_eq!(total(&of.calls), calls, "world {seed}");
            assert_eq!(total(&of.first_tries), firsts, "world {seed}");
            assert_eq!(total(&of.hedges), hedges, "world {seed}");
            assert_eq!(
                total(&of.attempts),
                firsts + retries + hedges,
                "world {seed}"
            );
            assert_eq!(total(&of.succeeded), done, "world {seed}");
        }
    }
}

#[test]
fn a_new_neighbour_shifts_nobody_who_does_not_meet_it() {
    for seed in 0..10 {
        let alone = any_world(seed);
        let mut beside = alone.clone();
        beside
            .services
            .insert(0, Service::new("other", 2, exponential(5)));
        beside.populations.insert(
            0,
            Population::new(
                "others",
                "other",
                Arrivals::Poisson(100.0),
                attempts(3, ms(5)),
            ),
        );
        let (alone, beside) = (run(&alone, seed), run(&beside, seed));
        assert_eq!(
            alone.populations[..],
            beside.populations[1..],
            "world {seed}"
        );
        assert_eq!(alone.services[..], beside.services[1..], "world {seed}");
        assert!(total(&beside.services[0].served) > 100);
    }
}

#[test]
fn a_message_that_takes_for_ever_does_not_come_in_the_past() {
    let years = secs(10 * 365 * 86_400);
    let service = Service::new("service", 1, exponential(1));
    let arrivals = Arrivals::Constant(1000.0);
    let mut scenario = worlds::world(secs(2), service, arrivals, attempts(1, ms(0)));
    // A third of the draws are more than 64 bits of nanoseconds hold.
    scenario.network.delay = Distribution::Lognormal {
        median: years,
        sigma: 10.0,
    };
    let recording = run(&scenario, 1);
    // A draw below 2 s is 1.9 standard deviations of the logarithm below the median: of 2000 calls
    // some 60, not half.
    let arrived = total(&recording.services[0].arrived);
    assert!(arrived < 150, "{arrived}");
}
