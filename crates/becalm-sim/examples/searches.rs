//! How long does a study of a storm take, and what does it find?
//!
//! `cargo run --release -p becalm-sim --example searches` studies a service of 1000 requests a
//! second that hangs for 2 s, and tunes a policy for it; and prints both.

use std::time::{Duration, Instant};

use becalm::{Budget, Policy};
use becalm_sim::catalogue::Candidate;
use becalm_sim::engine::parallel::threads;
use becalm_sim::scenario::Distribution;
use becalm_sim::scenario::{Arrivals, Effect, Population, Scenario, Service, Trigger};
use becalm_sim::study::{Plan, Study};
use becalm_sim::tune::{Space, tune};
use becalm_sim::verdict::{Brief, study};

fn service(policy: &Policy) -> Scenario {
    let time = Distribution::Exponential(Duration::from_millis(10));
    let clients = Population::new(
        "clients",
        "orders",
        Arrivals::Poisson(600.0),
        policy.clone(),
    );
    let hang = Effect::Hang {
        service: "orders".into(),
    };
    Scenario::new("service", Duration::from_secs(60))
        .service(Service::new("orders", 10, time).queue(1000))
        .population(clients.timeout(Duration::from_millis(250)))
        .trigger(Trigger::new(
            Duration::from_secs(10),
            Duration::from_secs(2),
            hang,
        ))
}

fn main() {
    let candidate = |name: &str, policy| Candidate::new(name, policy);
    let immediate = Policy::fixed(Duration::ZERO).budget(Budget::None);
    let candidates = [
        candidate("immediate", immediate.clone()),
        candidate("backoff", Policy::default().budget(Budget::None)),
        candidate("default", Policy::default()),
    ];
    let mut plan = Plan::default();
    plan.threads = threads();
    let start = Instant::now();
    show(&study(&Brief::default(), &candidates, &plan, service).expect("little"));
    println!("the study took {:.1?}\n", start.elapsed());
    let start = Instant::now();
    let tuning = tune(
        &Brief::default(),
        &Space::default(),
        &immediate,
        &plan,
        service,
    );
    let tuning = tuning.expect("little");
    show(&tuning.study);
    println!("{} runs took {:.1?}", tuning.runs, start.elapsed());
}

fn show(study: &Study) {
    println!("{}", study.answer);
    for contender in &study.contenders {
        println!(
            "{}: {}\n  {}",
            contender.name, contender.policy, contender.evidence
        );
        for figure in &contender.figures {
            println!(
                "  {} {:?} {} {:?}",
                figure.id, figure.value, figure.unit, figure.interval
            );
        }
    }
}
