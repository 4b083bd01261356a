//! How does becalm compare with its peers, in one run on one machine?
//!
//! `cargo run --release` prints the tables. `--write` puts them into `README.md` as well; `--check`
//! fails when a promise is not kept; `--quick` runs everything once to see that it runs, and its
//! figures mean nothing.
#![forbid(unsafe_code)]

mod bars;
mod breakers;
mod budgets;
mod calls;
mod clock;
mod decisions;
mod delays;
mod drive;
mod headings;
mod hedges;
mod machine;
mod measure;
mod operation;
mod ours;
mod peers;
mod promises;
mod simulation;
mod stack;
mod table;
mod throttles;
mod together;
mod versions;

// The simulator's results in an optimised build, which are to be those of its own debug tests.
#[cfg(test)]
#[path = "../../crates/becalm-sim/tests/determinism_golden.rs"]
mod determinism;

use std::process::ExitCode;
use std::{env, fs, io};

use crate::bars::Bar;
use crate::measure::Effort;

const FLAGS: [&str; 3] = ["--quick", "--check", "--write"];
const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
/// What stands in `README.md` above the tables.
const RESULTS: &str = "## Results\n";

fn main() -> ExitCode {
    let flags: Vec<String> = env::args().skip(1).collect();
    if let Some(unknown) = flags.iter().find(|flag| !FLAGS.contains(&flag.as_str())) {
        eprintln!("unknown argument {unknown}; there are {}", FLAGS.join(", "));
        return ExitCode::from(2);
    }
    let given = |flag: &str| flags.iter().any(|other| other == flag);
    let effort = if given("--quick") {
        Effort::QUICK
    } else {
        Effort::FULL
    };

    let (report, kept) = measure_all(effort);
    print!("{report}");
    if given("--write")
        && let Err(error) = write_readme(&report)
    {
        eprintln!("{README} could not be written: {error}");
        return ExitCode::FAILURE;
    }
    if given("--check") && !kept {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// The report in Markdown, and whether every promise is kept.
fn measure_all(effort: Effort) -> (String, bool) {
    let mut cases = calls::cases();
    cases.extend(delays::cases());
    cases.extend(decisions::cases());
    cases.extend(budgets::cases());
    cases.extend(breakers::cases());
    cases.extend(hedges::cases());
    cases.extend(throttles::cases());
    cases.extend(stack::cases());
    measure::run(&mut cases, effort);
    let bars = promises::bars(&cases);

    let mut timer_cases = calls::timer_cases();
    measure::run(&mut timer_cases, effort);
    cases.append(&mut timer_cases);
    let mut engines = simulation::cases();
    measure::run(&mut engines, effort);
    cases.append(&mut engines);
    simulation::check_that_all_agree();
    calls::check_that_all_retry();
    hedges::check_that_all_hedge();
    stack::check_that_all_protect();

    let report = format!(
        "{}\n\n{}\n{}",
        machine::describe(),
        bars::markdown(&bars),
        table::markdown(&cases)
    );
    (report, bars.iter().all(Bar::met))
}

fn write_readme(report: &str) -> io::Result<()> {
    let readme = fs::read_to_string(README)?;
    let above = readme.split(RESULTS).next().unwrap_or_default();
    fs::write(README, format!("{above}{RESULTS}\n{}\n", report.trim_end()))
}
