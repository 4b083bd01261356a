//! `fleet`: what do many processes retry that share one budget, and what if each has its own?

mod check;
mod shown;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use becalm::support::Lone;
use becalm::{Budget, Policy};

use super::entry::Studied;
use super::runs::seeds;
use super::{Candidate, Entry, InvalidParameter, Parameters};
use crate::engine::each_in_order;
use crate::leases::{Budgeting, Processes, Retries, TOO_MANY, Trouble, run};
use crate::study::{Plan, Study};
use crate::verdict::Brief;

/// The entry.
pub const FLEET: Entry = Entry {
    name: "fleet",
    title: "one retry budget for many processes, leased from a store",
    question: "What do a thousand processes retry together, where some fail, all fail, or the store of their budget does?",
    answer: "What a budget of each process's own has earned where nothing fails is of no use where it does, and its bursts add \
             up. Processes that lease tokens from one bucket retry nearly what one bucket would grant that all could \
             ask at once; and when everything fails, all together make no more than its burst, one retry each and what is \
             earned between two exchanges. A store that is slow, away, emptied or cut off changes what is granted, never the \
             bound.",
    sources: &[
        source!("Site Reliability Engineering, chapter 21: Handling Overload, 2016"
            at "https://sre.google/sre-book/handling-overload/"),
        source!("Doorman: Global Distributed Client Side Rate Limiting, 2016"
            at "https://github.com/youtube/doorman"),
        source!("Kubernetes Gateway API, GEP-3388: Retry Budgets, 2025"
            at "https://gateway-api.sigs.k8s.io/geps/gep-3388/"),
    ],
    parameters: &[
        parameter!("processes": Count = "1000", "processes that share the budget"),
        parameter!("load": Number = "20000", "calls per second of all processes together"),
        parameter!("skew": Number = "0.9",
            "how uneven that is: the n-th makes 1 / n^skew of what the first makes"),
        parameter!("ratio": Number = "0.1", "retries that a call earns that succeeds"),
        parameter!("burst": Number = "1000", "tokens of the fleet's full bucket"),
        parameter!("failing": Share = "0.1", "the share of processes whose attempts fail"),
        parameter!("failures": Share = "0.6", "the share of attempts that fail there"),
        parameter!("fails-from": Duration = "5s", "when they begin to fail"),
        parameter!("trouble": Choice(&["none", "down", "half", "flushed", "crashes", "turned"]) = "none",
            "the store is down, not heard by half of the processes, or emptied; processes crash; or the busy turn idle"),
        parameter!("from": Duration = "10s", "when the trouble begins"),
        parameter!("until": Duration = "40s", "when it is over"),
        parameter!("round-trip": Duration = "1ms", "how long the store takes to answer"),
        parameter!("period": Duration = "1s", "the time between two exchanges of a process"),
        parameter!("horizon": Duration = "60s", "how long a run lasts"),
    ],
    contenders: &["full"],
    policy,
    studied: Studied::Alone(study),
    check: check::check,
};

/// Runs of each where none are asked for: a million calls are a large sample.
const RUNS: u32 = 1;

/// Who bounds the retries, and what is said of it behind the name of a policy.
const BUDGETS: [(Budgeting, &str, &str); 3] = [
    (Budgeting::Fleet, "", "one budget, leased"),
    (
        Budgeting::Ideal,
        ", ideal",
        "one budget that all ask at once",
    ),
    (
        Budgeting::Own,
        ", own",
        "a budget of each process's own, with a burst of 10",
    ),
];

/// The budget is the scenario's.
fn policy() -> Policy {
    Policy::exponential(Duration::from_millis(100)).budget(Budget::None)
}

/// What happened under each budget, run by run.
type Records = [Vec<Retries>; BUDGETS.len()];

fn study(
    parameters: &Parameters,
    candidates: &[Candidate],
    plan: &Plan<'_>,
) -> Result<Study, InvalidParameter> {
    let processes = asked(parameters)?;
    let lone = |candidate: &Candidate| Lone::new(candidate.policy.clone(), Duration::ZERO);
    let lones: Vec<Lone> = candidates.iter().map(lone).collect::<Result<_, _>>()?;
    let seeds: Vec<u64> = seeds(plan, plan.runs.unwrap_or(RUNS).max(1)).collect();
    let mut runs = Vec::new();
    for lone in &lones {
        for (budgeting, ..) in BUDGETS {
            runs.extend(seeds.iter().map(|seed| (lone, budgeting, *seed)));
        }
    }
    let done = AtomicU64::new(0);
    let each = |(lone, budgeting, seed): &(&Lone, Budgeting, u64)| {
        let record = run(&processes, *budgeting, lone, *seed);
        if let Some(progress) = plan.progress {
            progress(done.fetch_add(1, Relaxed) + 1, runs.len() as u64);
        }
        record
    };
    let records = each_in_order(&runs, plan.threads, each);
    let records: Vec<Retries> = records.into_iter().collect::<Result<_, _>>()?;
    let of_each: Vec<Records> = records
        .chunks(seeds.len() * BUDGETS.len())
        .map(|records| {
            let mut each = records.chunks(seeds.len());
            BUDGETS.map(|_| each.next().unwrap_or_default().to_vec())
        })
        .collect();
    let brief = Brief::of(&FLEET, parameters);
    let mut study = shown::study(&brief, &processes, candidates, &of_each, plan);
    study.runs = plan.runs.unwrap_or(RUNS).max(1);
    Ok(study)
}

fn asked(parameters: &Parameters) -> Result<Processes, InvalidParameter> {
    let count = parameters.count("processes");
    let count = u32::try_from(count).map_err(|_| InvalidParameter::new("processes", TOO_MANY))?;
    let mut processes = Processes::of(count, parameters.number("load"));
    processes.skew = parameters.number("skew");
    let budget = Budget::ratio(parameters.number("ratio")).burst(parameters.number("burst"));
    processes.fleet.budget = budget.floor_per_second(0.0);
    let period = parameters.duration("period");
    // In the proportions of the defaults.
    let scale = |part: Duration| part.mul_f64(period.as_secs_f64().min(3600.0));
    processes.fleet.period = period;
    processes.fleet.gap = scale(processes.fleet.gap);
    processes.fleet.lease = scale(processes.fleet.lease);
    processes.failing = parameters.number("failing");
    processes.failures = parameters.number("failures");
    processes.fails_from = parameters.duration("fails-from");
    let trouble = parameters.text("trouble");
    let named = Trouble::ALL.iter().find(|(name, _)| *name == trouble);
    processes.trouble = named.map_or(Trouble::None, |(_, trouble)| *trouble);
    processes.during = (parameters.duration("from"), parameters.duration("until"));
    processes.round_trip = parameters.duration("round-trip");
    processes.horizon = parameters.duration("horizon");
    processes.validate()?;
    Ok(processes)
}
