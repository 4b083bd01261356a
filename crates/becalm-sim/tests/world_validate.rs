//! Is a scenario that means nothing refused, and by the name of what is wrong?

mod worlds;

use becalm::policy::Mode;
use becalm::{Budget, Jitter, Policy};
use becalm_sim::record::Recording;
use becalm_sim::scenario::{
    Arrivals, Cache, Discipline, Downstream, Effect, InvalidScenario, Limit, Population,
    Scalability, Scenario, Service,
};
use becalm_sim::scenario::{Distribution, Sharing};
use becalm_sim::world::run;
use worlds::{attempts, constant, ms, named, once, secs, trigger, world};

fn valid() -> Scenario {
    let service = Service::new("service", 1, constant(10));
    world(secs(1), service, Arrivals::Poisson(10.0), once())
}

/// Changed like this, it is refused, and its run is empty.
fn refused(change: impl Fn(&mut Scenario)) -> String {
    let mut scenario = valid();
    change(&mut scenario);
    let refused = scenario.validate().expect_err("refused");
    assert_eq!(run(&scenario, 1), Recording::default(), "{refused}");
    refused.to_string()
}

#[test]
fn what_means_something_is_accepted() {
    assert_eq!(valid().validate(), Ok(()));
    assert!(run(&valid(), 1).events > 0);
}

#[test]
fn what_would_stand_still_or_go_on_for_ever_is_refused() {
    let nano = std::time::Duration::from_nanos(1);
    let bursty = |burst, pause| Arrivals::Bursty {
        rate: 1.0,
        burst_rate: 10.0,
        burst,
        pause,
    };
    for (burst, pause, word) in [(nano, secs(1), "burst"), (secs(1), nano, "pause")] {
        let said = refused(|it| it.populations[0].arrivals = bursty(burst, pause));
        assert!(said.contains(word) && said.contains("clients"), "{said}");
    }
    let codel = Discipline::CoDel {
        target: ms(5),
        interval: ms(0),
    };
    let said = refused(|it| it.services[0].discipline = codel);
    assert!(said.contains("interval"), "{said}");
    let late = Arrivals::Trace([secs(400 * 366 * 86_400)].into());
    let said = refused(|it| it.populations[0].arrivals = late.clone());
    assert!(said.contains("recorded calls"), "{said}");
}

const fn law(contention: f64, coherency: f64) -> Scalability {
    Scalability {
        contention,
        coherency,
    }
}

#[test]
fn s8_a_law_out_of_range_and_shards_that_are_none_are_refused() {
    let says = |change: &dyn Fn(&mut Scenario), words: &[&str]| {
        let said = refused(change);
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
    };
    says(
        &|it| it.populations[0].sharing = Sharing::PerShard,
        &["clients", "per-shard", "by-key"],
    );
    says(
        &|it| it.services[0].scalability = Some(law(-0.1, 0.0)),
        &["contention", "service"],
    );
    says(
        &|it| it.services[0].scalability = Some(law(0.0, 1.5)),
        &["coherency", "service"],
    );
}

#[test]
fn every_refusal_names_who_and_what() {
    let says = |change: &dyn Fn(&mut Scenario), words: &[&str]| {
        let said = refused(change);
        for word in words {
            assert!(said.contains(word), "{said:?} without {word:?}");
        }
    };
    says(&|it| it.horizon = ms(0), &["horizon"]);
    says(&|it| it.bucket = ms(0), &["bucket"]);
    says(
        &|it| it.bucket = std::time::Duration::from_nanos(1),
        &["bucket"],
    );
    says(
        &|it| it.services.push(it.services[0].clone()),
        &["service", "twice"],
    );
    says(
        &|it| it.populations[0].target = named("nobody"),
        &["clients", "nobody"],
    );
    says(&|it| it.populations[0].clients = 0, &["clients", "from 1"]);
    says(&|it| it.populations[0].variants.clear(), &["variants"]);
    says(
        &|it| it.populations[0].variants[0].share = f64::NAN,
        &["variants"],
    );
    // Shares that add up to 1 all the same.
    says(
        &|it| {
            let mut more = it.populations[0].variants[0].clone();
            more.share = -1.0;
            it.populations[0].variants[0].share = 2.0;
            it.populations[0].variants.push(more);
        },
        &["the share of a variant of clients must be from 0 to 1"],
    );
    says(
        &|it| it.populations[0].variants[0].policy = attempts(0, ms(1)),
        &["policy", "clients"],
    );
    says(&|it| it.populations[0].timeout = Some(ms(0)), &["timeout"]);
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        says(
            &|it| it.populations[0].arrivals = Arrivals::Poisson(rate),
            &["rate", "clients"],
        );
    }
    says(
        &|it| it.populations[0].arrivals = Arrivals::Trace([ms(2), ms(1)].into()),
        &["recorded", "order"],
    );
    says(&|it| it.services[0].workers = 0, &["workers", "service"]);
    says(&|it| it.services[0].instances = 0, &["instances"]);
    says(&|it| it.services[0].failures = 1.1, &["failures"]);
    says(
        &|it| it.services[0].time = Distribution::Uniform(ms(2), ms(1)),
        &["service time"],
    );
    says(
        &|it| it.services[0].time = Distribution::Empirical(Vec::new()),
        &["service time"],
    );
    says(
        &|it| {
            it.services[0].limit = Some(Limit {
                rate: 1.0,
                burst: 0.5,
            });
        },
        &["burst"],
    );
    says(
        &|it| it.services[0].cache = Some(Cache::new(0, 0.5)),
        &["cache"],
    );
    says(&|it| it.network.loss = -0.1, &["network", "loss"]);
    says(
        &|it| {
            it.triggers.push(trigger(
                ms(0),
                ms(1),
                Effect::Hang {
                    service: named("other"),
                },
            ));
        },
        &["trigger", "other"],
    );
    says(
        &|it| {
            it.triggers.push(trigger(
                ms(0),
                ms(1),
                Effect::Capacity {
                    service: named("service"),
                    share: 0.0,
                },
            ));
        },
        &["capacity"],
    );
}

/// It would be shown as one that never retries.
#[test]
fn a_policy_that_only_observes_is_refused() {
    let said = refused(|it| it.populations[0].variants[0].policy.mode = Mode::Observe);
    for word in ["clients", "mode is observe", "set mode enforce"] {
        assert!(said.contains(word), "{said:?} without {word:?}");
    }
}

#[test]
fn a_service_that_calls_itself_through_others_is_refused() {
    let calls = |name: &str, other: &str| {
        Service::new(name, 1, constant(1)).calls(Downstream::new(other, once()))
    };
    let ring = Scenario::new("ring", secs(1))
        .service(calls("front", "a"))
        .service(calls("a", "b"))
        .service(calls("b", "a"))
        .population(Population::new(
            "clients",
            "front",
            Arrivals::Poisson(1.0),
            once(),
        ));
    let refused = ring.validate();
    assert!(
        matches!(refused, Err(InvalidScenario::Cycle(_))),
        "{refused:?}"
    );
    let mut chain = ring;
    chain.services[2].calls.clear();
    assert_eq!(chain.validate(), Ok(()));
}

#[test]
fn a_policy_that_would_retry_for_ever_at_one_instant_is_refused() {
    // Down for a while: every attempt is refused at once.
    let with = |policy: Policy| {
        let mut scenario = valid();
        scenario.populations[0].variants[0].policy = policy;
        let effect = Effect::Down {
            service: named("service"),
        };
        scenario.triggers.push(trigger(ms(300), ms(200), effect));
        scenario
    };
    let endless = Policy::fixed(ms(0))
        .attempts(Policy::UNLIMITED)
        .budget(Budget::None);
    let spread = endless.clone().base(ms(50));
    let zero_when_throttled = spread.clone().throttled_base(ms(0));
    let refused = [
        endless.clone(),
        endless.clone().budget(Budget::concurrency(0.2, 3)),
        endless.clone().deadline(secs(1)),
        endless.clone().jitter(Jitter::Equal),
        zero_when_throttled,
    ];
    for policy in refused {
        let refused = with(policy.clone()).validate();
        let name = named("clients");
        assert_eq!(refused, Err(InvalidScenario::Endless(name)), "{policy:?}");
    }
    let ends = [
        endless.clone().attempts(100),
        endless.clone().budget(Budget::ratio(0.1)),
        endless.clone().floor(ms(1)),
        endless.clone().jitter(Jitter::Additive(ms(1))),
        spread,
    ];
    for policy in ends {
        let scenario = with(policy.clone());
        assert_eq!(scenario.validate(), Ok(()), "{policy:?}");
        assert!(run(&scenario, 1).events > 0);
    }
    let mut far = with(endless);
    far.network.delay = constant(1);
    assert_eq!(far.validate(), Ok(()));
    assert!(run(&far, 1).events > 0);
}
