//! How does becalm compare with its peers, in one run on one machine?
//!
//! `cargo run --release` prints the tables of `README.md`; `--check` also fails when a promise is
//! not kept; `--quick` runs everything once to see that it runs, and its figures mean nothing.
#![forbid(unsafe_code)]

mod bars;
mod budgets;
mod calls;
mod clock;
mod decisions;
mod delays;
mod drive;
mod machine;
mod measure;
mod operation;
mod ours;
mod peers;
mod promises;
mod table;
mod versions;

use std::process::ExitCode;

use crate::bars::Bar;
use crate::measure::Effort;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let given = |flag: &str| arguments.iter().any(|argument| argument == flag);
    if let Some(unknown) = arguments
        .iter()
        .find(|a| !["--quick", "--check"].contains(&a.as_str()))
    {
        eprintln!("unknown argument {unknown}; there are --quick and --check");
        return ExitCode::from(2);
    }
    let effort = if given("--quick") {
        Effort::QUICK
    } else {
        Effort::FULL
    };

    let mut cases = calls::cases();
    cases.extend(delays::cases());
    cases.extend(decisions::cases());
    cases.extend(budgets::cases());
    measure::run(&mut cases, effort);
    let bars = promises::bars(&cases);

    let mut timer_cases = calls::timer_cases();
    measure::run(&mut timer_cases, effort);
    cases.append(&mut timer_cases);
    calls::check_that_all_retry();

    println!("{}\n", machine::describe());
    print!("{}", table::markdown(&cases));
    println!("### What becalm promises\n\n| | found | promised | |\n|---|---|---|---|");
    for bar in &bars {
        println!("{bar}");
    }
    let kept = bars.iter().all(Bar::met);
    if given("--check") && !kept {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}
