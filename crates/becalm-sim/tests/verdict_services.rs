//! Is every service of several seen: what comes to it, and whose retries brought it?

mod worlds;

use becalm::{Budget, Policy};
use becalm_sim::catalogue::Candidate;
use becalm_sim::record::total;
use becalm_sim::scenario::{Arrivals, Cache, Downstream, Effect, Population, Scenario, Service};
use becalm_sim::study::{ChartKind, Contender, Plan, Study, Verdict};
use becalm_sim::verdict::{Brief, Seen, Thoroughness, judge, study_with};
use becalm_sim::world;
use worlds::{attempts, constant, exponential, ms, once, secs, trigger};

/// Users call the api, which calls orders, which call the database: a tier makes so many attempts at
/// the next. The database fails this share of its requests.
fn tiers(failures: f64, [users, api, orders]: [u32; 3]) -> Scenario {
    let policy = |number| attempts(number, ms(0));
    let tier = |name: &str| Service::new(name, Service::UNLIMITED, constant(1));
    Scenario::new("tiers", secs(12))
        .service(tier("api").calls(Downstream::new("orders", policy(api))))
        .service(tier("orders").calls(Downstream::new("database", policy(orders))))
        .service(tier("database").failures(failures))
        .population(Population::new(
            "users",
            "api",
            Arrivals::Constant(50.0),
            policy(users),
        ))
}

fn seen(scenario: &Scenario) -> Vec<Seen> {
    judge(scenario, &world::run(scenario, 1)).services
}

fn studied(scenario: &Scenario, policy: &Policy, thoroughness: Thoroughness) -> Study {
    let asked = Candidate::new("own", policy.clone());
    let mut plan = Plan::default();
    plan.runs = Some(2);
    study_with(
        world::run,
        &Brief::default(),
        thoroughness,
        &[asked],
        &plan,
        |_| scenario.clone(),
    )
    .expect("it is small")
}

fn one(scenario: &Scenario, policy: &Policy) -> (Contender, Study) {
    let mut study = studied(scenario, policy, Thoroughness::QUICK);
    (study.contenders.remove(0), study)
}

#[test]
fn s1_attempts_of_each_tier_are_recorded_by_who_makes_them() {
    let recording = world::run(&tiers(1.0, [1, 3, 2]), 1);
    let calls = total(&recording.populations[0].calls);
    let of = |service: usize| {
        let calls = &recording.services[service].calls[0];
        (total(&calls.first_tries), total(&calls.attempts))
    };
    // The last calls of the run may have begun and not ended.
    let about = |got: u64, expected: u64| got <= expected && got + 12 > expected;
    assert!(
        about(of(0).0, calls) && about(of(0).1, 3 * calls),
        "{:?}",
        of(0)
    );
    assert!(
        about(of(1).0, 3 * calls) && about(of(1).1, 6 * calls),
        "{:?}",
        of(1)
    );
    assert_eq!(recording.services[2].calls, [], "the database calls nobody");
    let buckets = recording.services[2].arrived.len();
    assert_eq!(recording.services[1].calls[0].attempts.len(), buckets);
}

#[test]
fn s1_amplification_is_against_first_tries_at_the_edge() {
    let services = seen(&tiers(1.0, [1, 3, 3]));
    let amplified = services.iter().map(|it| it.whole.amplification().unwrap());
    for (got, expected) in amplified.zip([1.0, 3.0, 9.0]) {
        assert!((got - expected).abs() < 0.1, "{got} {expected}");
    }
    // Half of the attempts fail: (1 - p^9)/(1 - p).
    let services = seen(&tiers(0.5, [1, 3, 3]));
    let got = services[2].whole.amplification().unwrap();
    assert!((got - 2.0).abs() < 0.25, "{got}");
}

#[test]
fn s1_fan_outs_and_caches_are_no_retries() {
    let mut scenario = tiers(0.0, [1, 1, 1]);
    scenario.services[0].calls[0].fan_out = 3;
    scenario.services[1].cache = Some(Cache::new(10, 0.8));
    let amplified = seen(&scenario);
    for seen in &amplified {
        let got = seen.whole.amplification().unwrap();
        assert!((got - 1.0).abs() < 0.1, "{got}");
    }
    let database = amplified[2].whole.arrivals();
    assert!(
        (database - 30.0).abs() < 3.0,
        "a fifth of 150/s: {database}"
    );
}

#[test]
fn s1_clients_in_a_closed_loop_are_first_tries_too() {
    let mut scenario = tiers(1.0, [1, 3, 3]);
    scenario.populations[0].arrivals = Arrivals::Closed {
        think: constant(100),
    };
    let got = seen(&scenario)[2].whole.amplification().unwrap();
    assert!((got - 9.0).abs() < 0.2, "{got}");
}

#[test]
fn s1_a_scenario_with_one_service_is_as_it_was() {
    let scenario = Scenario::new("one", secs(12))
        .service(Service::new("orders", 1, constant(1)))
        .population(Population::new(
            "users",
            "orders",
            Arrivals::Constant(50.0),
            attempts(3, ms(0)),
        ));
    assert_eq!(seen(&scenario), []);
    let (own, study) = one(&scenario, &attempts(3, ms(0)));
    assert_eq!((own.services.len(), study.services.len()), (0, 0));
    assert!(own.evidence.contains("attempts for each first try"));
}

/// A database of 100/s that 40/s reach, and that hangs for 3 s below two tiers that retry.
fn failover(policy: &Policy) -> Scenario {
    let call = |target: &str, timeout| {
        let mut call = Downstream::new(target, policy.clone());
        call.timeout = Some(ms(timeout));
        call
    };
    let tier = |name: &str| Service::new(name, Service::UNLIMITED, constant(1));
    let users = Population::new("users", "api", Arrivals::Poisson(40.0), once());
    let hang = Effect::Hang {
        service: "database".into(),
    };
    Scenario::new("failover", secs(50))
        .service(tier("api").calls(call("orders", 2_000)))
        .service(tier("orders").calls(call("database", 200)))
        .service(Service::new("database", 1, exponential(10)).queue(100))
        .population(users.timeout(secs(8)))
        .trigger(trigger(secs(10), secs(3), hang))
}

#[test]
fn s1_a_verdict_names_the_amplified_service_and_whose_retries_they_are() {
    let stormy = Policy::default().attempts(3).budget(Budget::None);
    let (own, study) = one(&failover(&stormy), &once());
    assert_eq!(own.verdict, Some(Verdict::Metastable), "{}", own.evidence);
    let evidence = &own.evidence;
    let by: f64 = (evidence
        .split_once("Retries multiply the requests at database by ")
        .unwrap()
        .1)
        .split(':')
        .next()
        .and_then(|it| it.parse().ok())
        .unwrap_or_else(|| panic!("{evidence}"));
    assert!((8.0..9.5).contains(&by), "{by}");
    for part in [
        "attempts for each first try of api->orders and ",
        "for each of orders->database.",
    ] {
        assert!(evidence.contains(part), "{part}: {evidence}");
    }
    assert!(!evidence.contains("of users"), "users do not retry");
    for part in [
        "own database stays down",
        "requests for each that first tries",
    ] {
        assert!(study.answer.contains(part), "{part}: {}", study.answer);
    }
    // What is calm says so of the database, and not of the clients alone.
    let (calm, study) = one(&failover(&once()), &once());
    for text in [&calm.evidence, &study.answer] {
        assert!(!text.contains("attempts for each first try"), "{text}");
        assert!(text.contains("requests at database for each"), "{text}");
    }
    assert!(!calm.evidence.contains("Retries"), "{}", calm.evidence);
}

#[test]
fn s1_a_policy_line_names_the_retries_below_the_first_tier() {
    let stormy = attempts(3, ms(100));
    let (own, _) = one(&failover(&stormy), &once());
    assert!(!own.policy.contains("no retries"), "{}", own.policy);
    let expected = "users: 1 attempt; api->orders and orders->database: 3 attempts";
    assert!(own.policy.starts_with(expected), "{}", own.policy);
    let (own, _) = one(&failover(&once()), &once());
    assert_eq!(own.policy, "1 attempt: no retries");
    // Who does not retry is named beside those who do.
    let mut mixed = failover(&stormy);
    mixed.services[1].calls[0].policy = once();
    let (own, _) = one(&mixed, &stormy);
    let expected = "; users and orders->database: 1 attempt";
    assert!(own.policy.ends_with(expected), "{}", own.policy);
}

#[test]
fn s1_every_service_has_figures_phases_and_charts() {
    let stormy = Policy::default().attempts(3).budget(Budget::None);
    let (own, study) = one(&failover(&stormy), &once());
    let names: Vec<&str> = own.services.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["api", "orders", "database"]);
    let database = &own.services[2];
    let figure = |id: &str| {
        let figure = database.figures.iter().find(|it| it.id == id);
        figure
            .and_then(|it| it.value)
            .unwrap_or_else(|| panic!("{id}"))
    };
    // 40 first tries a second, nine times.
    assert!((300.0..400.0).contains(&figure("arrivals_end")));
    assert!((3.0..4.0).contains(&figure("pressure_end")));
    assert!((2.7..3.1).contains(&figure("amplification_by_callers")));
    assert!((99.0..=100.0).contains(&figure("queue_most")));
    let phases: Vec<&str> = database.phases.iter().map(|it| it.name).collect();
    assert_eq!(phases, ["before", "during", "after", "end", "whole"]);
    let before = &database.phases[0];
    assert!((0.9..1.2).contains(&before.amplification.unwrap()));
    assert_eq!(before.attempts[0].0, "orders->database");
    let end = database.phases[3].amplification.unwrap();
    assert!((8.0..9.5).contains(&end), "{end}");
    // The one that retries load most comes first; the api gets the users' attempts, which are drawn.
    let titles: Vec<&str> = study.services.iter().map(|it| it.title.as_str()).collect();
    assert_eq!(
        titles,
        [
            "Requests that arrive at database",
            "Requests that arrive at orders"
        ]
    );
    assert_eq!(study.services[0].id, "arrivals-3");
    assert_eq!(study.services[0].levels, [(100.0, "capacity".to_owned())]);
    let ChartKind::Lines(lines) = &study.services[0].kind else {
        panic!("lines")
    };
    let most = lines[0].1.iter().map(|point| point.1).fold(0.0, f64::max);
    assert!(most > 300.0, "{most}");
    let queue = study.charts.iter().find(|it| it.id == "queue").unwrap();
    assert!(queue.title.ends_with("of database"), "{}", queue.title);
}
