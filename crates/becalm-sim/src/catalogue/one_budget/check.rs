//! Does a fleet retry what pen and paper say, and keep its law?

use std::time::Duration;

use becalm::Policy;
use becalm::support::Lone;

use super::shown::{bound, exchanges};
use crate::engine::each_in_order;
use crate::leases::{Budgeting, Processes, Retries, Trouble, run};
use crate::oracle::fleet as oracle;
use crate::study::{Comparison, Plan, Tolerance};

pub(super) fn check(plan: &Plan<'_>, quick: bool) -> Vec<Comparison> {
    let fleet = if quick {
        let mut fleet = Processes::of(100, 2000.0);
        fleet.horizon = Duration::from_secs(30);
        fleet.during = (Duration::from_secs(9), Duration::from_secs(20));
        fleet
    } else {
        Processes::of(1000, 20_000.0)
    };
    let mut cases: Vec<Case> = vec![Case::Tenth, Case::Turned];
    let troubles = Trouble::ALL.iter().filter(|it| it.1 != Trouble::Turned);
    let troubles: Vec<_> = troubles.collect();
    for failures in [1.0, 0.5] {
        for (name, trouble) in &troubles {
            cases.push(Case::All(failures, name, *trouble, 1));
        }
        if !quick {
            cases.push(Case::All(failures, "slow, 200 ms", Trouble::None, 200));
            cases.push(Case::All(failures, "slow, 800 ms", Trouble::None, 800));
        }
    }
    cases.extend(
        [("half", Trouble::Half), ("down", Trouble::Down)].map(|it| Case::Saved(it.0, it.1)),
    );
    if quick {
        cases.retain(|case| !matches!(case, Case::All(0.5, "none" | "half" | "flushed", ..)));
    }
    each_in_order(&cases, plan.threads, |case| case.compare(&fleet, plan.seed)).concat()
}

/// A fleet in trouble, and what is compared of it.
#[derive(Clone, Copy)]
enum Case {
    /// A tenth of the processes fails.
    Tenth,
    /// And the load is turned over.
    Turned,
    /// All fail, with this share of attempts, this trouble, and this round trip in milliseconds.
    All(f64, &'static str, Trouble, u64),
    /// All fail in the last second of this trouble, with a burst of ten seconds' share: nobody has saved one of its own.
    Saved(&'static str, Trouble),
}

impl Case {
    fn compare(self, fleet: &Processes, seed: u64) -> Vec<Comparison> {
        let mut fleet = fleet.clone();
        match self {
            Self::Tenth => {
                (fleet.failing, fleet.failures) = (0.1, 0.6);
                tenth(&fleet, seed)
            }
            Self::Turned => {
                (fleet.failing, fleet.failures) = (0.1, 0.6);
                fleet.trouble = Trouble::Turned;
                fleet.during.0 = fleet.horizon / 2;
                vec![turned(&fleet, seed)]
            }
            Self::All(failures, name, trouble, round_trip) => {
                (fleet.failing, fleet.failures) = (1.0, failures);
                fleet.trouble = trouble;
                fleet.round_trip = Duration::from_millis(round_trip);
                all(&fleet, name, seed).into()
            }
            Self::Saved(name, trouble) => {
                (fleet.failing, fleet.failures) = (1.0, 1.0);
                fleet.trouble = trouble;
                fleet.fails_from = fleet.during.1.saturating_sub(Duration::from_secs(1));
                let budget = &mut fleet.fleet.budget;
                *budget = budget.burst(fleet.load);
                all(
                    &fleet,
                    &format!("{name}, with a burst of ten seconds' share"),
                    seed,
                )
                .into()
            }
        }
    }
}

/// What happens under this budget; nothing where it was refused, which then compares to no right answer.
fn record(fleet: &Processes, budgeting: Budgeting, seed: u64) -> Retries {
    let policy = Policy::exponential(Duration::from_millis(100));
    let lone = Lone::new(policy, Duration::ZERO).ok();
    let record = lone.and_then(|lone| run(fleet, budgeting, &lone, seed).ok());
    record.unwrap_or_default()
}

/// Of what one ideal bucket grants: less where few processes fail, of which one alone wants half of a small bucket.
fn least_fill(fleet: &Processes) -> f64 {
    if fleet.processes < 1000 { 0.7 } else { 0.95 }
}

fn tenth(fleet: &Processes, seed: u64) -> Vec<Comparison> {
    let [leased, ideal, own] = [Budgeting::Fleet, Budgeting::Ideal, Budgeting::Own]
        .map(|budgeting| record(fleet, budgeting, seed));
    // Once the bursts are spent.
    let (from, to) = (Duration::from_secs(15), fleet.horizon);
    let seconds = to.saturating_sub(from).as_secs_f64();
    let per_second = |record: &Retries| record.granted_between(from, to) / seconds;
    let ratio = fleet.ratio();
    let failing = fleet.failing_load();
    let pen = |formula: fn(f64, f64, f64, f64) -> f64| {
        formula(fleet.load, failing, fleet.failures, ratio)
    };
    vec![
        Comparison {
            what: "a tenth fails, one ideal bucket: retries a second".to_owned(),
            expected: pen(oracle::shared),
            got: per_second(&ideal),
            tolerance: Tolerance::Relative(if fleet.processes < 1000 { 0.1 } else { 0.03 }),
        },
        Comparison {
            what: "a tenth fails, budgets of their own: retries a second".to_owned(),
            expected: pen(oracle::own),
            got: per_second(&own),
            tolerance: Tolerance::Relative(0.2),
        },
        Comparison {
            what: "a tenth fails, leased: of what the ideal bucket grants".to_owned(),
            expected: least_fill(fleet),
            got: leased.granted_between(fleet.fails_from, to)
                / ideal.granted_between(fleet.fails_from, to),
            tolerance: Tolerance::AtLeast,
        },
        rate(fleet, "a tenth fails", &leased),
    ]
}

fn turned(fleet: &Processes, seed: u64) -> Comparison {
    let [leased, ideal] =
        [Budgeting::Fleet, Budgeting::Ideal].map(|budgeting| record(fleet, budgeting, seed));
    let from = fleet.during.0 + Duration::from_secs(3);
    let granted = |record: &Retries| record.granted_between(from, from + Duration::from_secs(6));
    Comparison {
        what: "the load is turned over, 3 s later: of what the ideal bucket grants".to_owned(),
        expected: least_fill(fleet),
        got: granted(&leased) / granted(&ideal),
        tolerance: Tolerance::AtLeast,
    }
}

fn all(fleet: &Processes, name: &str, seed: u64) -> [Comparison; 2] {
    let leased = record(fleet, Budgeting::Fleet, seed);
    let what = format!("{} of all attempts fail, trouble {name}", fleet.failures);
    [
        rate(fleet, &what, &leased),
        Comparison {
            what: format!("{what}: most retries above the ratio"),
            expected: bound(fleet, &leased),
            got: leased.excess(fleet.ratio()),
            tolerance: Tolerance::AtMost,
        },
    ]
}

fn rate(fleet: &Processes, what: &str, leased: &Retries) -> Comparison {
    Comparison {
        what: format!("{what}: exchanges of a process in the second with most"),
        // Chance weighs more in a small one.
        expected: if fleet.processes < 1000 { 1.6 } else { 1.5 },
        got: exchanges(fleet, leased),
        tolerance: Tolerance::AtMost,
    }
}
