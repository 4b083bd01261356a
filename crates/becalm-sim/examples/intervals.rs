//! How often do the intervals of a study hold the truth?
//!
//! `cargo run --release -p becalm-sim --example intervals` studies a small service under three policies 200 times, each time with other
//! seeds, and prints for each figure in how many of them its 95 % interval held the truth: that of a study of 2,000 runs, and of a search
//! with up to 400 runs of a value. It fails where all figures together are held in fewer than 90 % or in more than 98 %.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use becalm::{Budget, Policy};
use becalm_sim::catalogue::Candidate;
use becalm_sim::engine::parallel::threads;
use becalm_sim::scenario::Distribution;
use becalm_sim::scenario::{Arrivals, Effect, Population, Scenario, Service, Trigger};
use becalm_sim::study::{Plan, Study};
use becalm_sim::verdict::{Brief, Runs, Survival, study};
use becalm_sim::world;

const STUDIES: u64 = 200;
/// Runs of the study that says what is true, and of each value of its searches.
const RUNS: u32 = 2000;
const RUNS_OF_A_VALUE: u32 = 400;

fn service(policy: &Policy) -> Scenario {
    let time = Distribution::Exponential(Duration::from_millis(40));
    let clients = Population::new("clients", "orders", Arrivals::Poisson(70.0), policy.clone());
    let hang = Effect::Hang {
        service: "orders".into(),
    };
    let trigger = Trigger::new(Duration::from_secs(10), Duration::from_secs(2), hang);
    Scenario::new("service", Duration::from_secs(60))
        .service(Service::new("orders", 4, time).queue(100))
        .population(clients.timeout(Duration::from_millis(250)))
        .trigger(trigger)
}

fn main() -> ExitCode {
    let policies = [
        ("one attempt", Policy::default().attempts(1)),
        ("no budget", Policy::default().budget(Budget::None)),
        ("default", Policy::default()),
    ];
    let candidates = policies.clone().map(|(name, it)| Candidate::new(name, it));
    let study = |seed, runs, is_quick| -> Study {
        let mut plan = Plan::default();
        (plan.seed, plan.runs) = (seed, Some(runs));
        (plan.threads, plan.is_quick) = (threads(), is_quick);
        study(&Brief::default(), &candidates, &plan, service).expect("little")
    };
    let truth = study(u64::MAX, RUNS, true);
    // By policy and figure: what is true, and in how many studies of how many the interval holds it.
    let mut held: BTreeMap<(&str, &str), (f64, u32, u32)> = BTreeMap::new();
    let of = truth.contenders.iter().zip(&policies);
    for (contender, (name, policy)) in of {
        let values = contender.figures.iter();
        let values = values.filter_map(|it| Some(((*name, it.id), (it.value?, 0, 0))));
        held.extend(values);
        let mut plan = Plan::default();
        (plan.seed, plan.threads) = (u64::MAX, threads());
        let runs = Runs::new(world::run, &plan);
        let search = Survival::new(&runs, RUNS_OF_A_VALUE);
        // As searches of a study do, with half of the time after the trigger.
        let mut scenario = service(policy);
        scenario.horizon = Duration::from_secs(36);
        let searched = [
            ("longest_outage_s", search.longest_outage(&scenario)),
            ("largest_load", search.largest_load(&scenario)),
        ];
        for (figure, found) in searched {
            let value = found.and_then(|it| it.value());
            held.extend(value.map(|value| ((*name, figure), (value, 0, 0))));
        }
    }
    for seed in 1..=STUDIES {
        for (contender, (name, _)) in study(seed, 10, false).contenders.iter().zip(&policies) {
            for figure in &contender.figures {
                let of = held.get_mut(&(*name, figure.id));
                if let Some(((low, high), of)) = figure.interval.zip(of) {
                    of.1 += u32::from(low <= of.0 && of.0 <= high);
                    of.2 += 1;
                }
            }
        }
    }
    let (mut all_held, mut all) = (0, 0);
    for ((name, figure), (value, held, studies)) in held.iter().filter(|it| it.1.2 > 0) {
        let share = f64::from(*held) / f64::from(*studies);
        println!(
            "{name:12} {figure:30} {value:10.3}: in {:5.1} % of {studies}",
            share * 100.0
        );
        (all_held, all) = (all_held + held, all + studies);
    }
    let share = f64::from(all_held) / f64::from(all);
    println!("all figures: in {:.1} % of {all}", share * 100.0);
    if (0.90..=0.98).contains(&share) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
