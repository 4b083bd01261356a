//! How does becalm compare with its peers, in one run on one machine?
//!
//! `cargo run --release` prints the tables. `--write` puts them into `README.md` as well; `--check`
//! fails when a promise is not kept; `--simulation` measures the simulator alone; `--users`, built with
//! the profile of that name, measures what users have; `--quick` runs everything once to see that it
//! runs, and its figures mean nothing.
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
mod instructions;
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
mod trips;
mod users;
mod versions;

// The simulator's results in an optimised build, which are to be those of its own debug tests.
#[cfg(test)]
#[path = "../../crates/becalm-sim/tests/determinism_golden.rs"]
mod determinism;

use std::process::ExitCode;
use std::{env, fs, io};

use crate::bars::Bar;
use crate::measure::{Case, Effort};
use crate::simulation::{events, memory};

const FLAGS: [&str; 5] = ["--quick", "--check", "--write", "--simulation", "--users"];
const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
/// What stands in `README.md` above the tables.
const RESULTS: &str = "## Results\n";
/// And above those of a default build.
const USERS_RESULTS: &str = "## Results in a default build\n";

fn main() -> ExitCode {
    let flags: Vec<String> = env::args().skip(1).collect();
    if flags == [memory::ARGUMENT] {
        memory::print();
        return ExitCode::SUCCESS;
    }
    if let [argument, case, calls] = &flags[..]
        && argument == instructions::ARGUMENT
    {
        let is_known = instructions::run(case, calls);
        return ExitCode::from(u8::from(!is_known));
    }
    if let [argument, case, size] = &flags[..]
        && argument == events::ARGUMENT
    {
        return ExitCode::from(u8::from(!events::run(case, size)));
    }
    if let Some(unknown) = flags.iter().find(|flag| !FLAGS.contains(&flag.as_str())) {
        eprintln!("unknown argument {unknown}; there are {}", FLAGS.join(", "));
        return ExitCode::from(2);
    }
    let given = |flag: &str| flags.iter().any(|other| other == flag);
    if given("--simulation") && given("--write") {
        eprintln!("--write needs all tables; leave --simulation out");
        return ExitCode::from(2);
    }
    let effort = if given("--quick") {
        Effort::QUICK
    } else {
        Effort::FULL
    };
    if given("--users") && effort.means_something() && machine::PROFILE != machine::USERS {
        eprintln!("--users is about what users build: cargo run --profile users");
        return ExitCode::from(2);
    }

    let mut measured = Vec::new();
    if !given("--simulation") && !given("--users") {
        measured.push(library(effort));
        measured.push((Vec::new(), trips::bars()));
    }
    if !given("--users") {
        measured.push(simulator(effort));
    }
    if given("--users") || !effort.means_something() && !given("--simulation") {
        measured.push(users(effort));
    }
    let (report, kept) = report(measured);
    print!("{report}");
    let results = if given("--users") {
        USERS_RESULTS
    } else {
        RESULTS
    };
    if given("--write")
        && let Err(error) = write_readme(results, &report)
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

/// Rows, and what is promised of them.
type Measured = (Vec<Case>, Vec<Bar>);

fn library(effort: Effort) -> Measured {
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
    calls::check_that_all_retry();
    hedges::check_that_all_hedge();
    stack::check_that_all_protect();
    (cases, bars)
}

fn users(effort: Effort) -> Measured {
    let mut cases = users::cases();
    measure::run(&mut cases, effort);
    let mut bars = users::bars(&cases);
    bars.extend(instructions::bars());
    (cases, bars)
}

fn simulator(effort: Effort) -> Measured {
    let mut cases = simulation::cases();
    measure::run(&mut cases, effort);
    let mut long_runs = simulation::long_cases();
    measure::run(&mut long_runs, effort.of_long_runs());
    cases.append(&mut long_runs);
    let bars = simulation::bars(&cases, effort);
    simulation::check_that_all_agree();
    (cases, bars)
}

/// The report in Markdown, and whether every promise is kept.
fn report(measured: Vec<Measured>) -> (String, bool) {
    let (cases, bars): (Vec<_>, Vec<_>) = measured.into_iter().unzip();
    let (cases, bars) = (cases.into_iter().flatten(), bars.into_iter().flatten());
    let (cases, bars): (Vec<Case>, Vec<Bar>) = (cases.collect(), bars.collect());
    let report = format!(
        "{}\n\n{}\n{}",
        machine::describe(),
        bars::markdown(&bars),
        table::markdown(&cases)
    );
    (report, bars.iter().all(Bar::met))
}

/// Puts the report below that heading.
fn write_readme(heading: &str, report: &str) -> io::Result<()> {
    let mut readme = fs::read_to_string(README)?;
    if !readme.contains(heading) {
        readme = format!("{readme}\n{heading}");
    }
    let (above, old) = readme.split_once(heading).unwrap_or_default();
    let below = old.find("\n## ").map_or("", |at| &old[at..]);
    let report = report.trim_end();
    fs::write(README, format!("{above}{heading}\n{report}\n{below}"))
}
