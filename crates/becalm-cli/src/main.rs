//! The `becalm` command: a thin face over the libraries.

#![forbid(unsafe_code)]

mod drill;
mod plan;
mod policy_flags;
mod run;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Retries that cannot start a storm, and a way to prove it before production.
#[derive(Debug, Parser)]
#[command(name = "becalm", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Args),
    Plan(plan::Args),
    Drill(drill::Args),
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Run(args) => run::execute(args),
        Command::Plan(args) => plan::execute(args),
        Command::Drill(args) => drill::execute(args),
    }
}
