//! The `becalm` command: a thin face over the libraries.

#![forbid(unsafe_code)]

mod again;
mod drill;
mod generate;
mod output;
mod plan;
mod policy_flags;
mod presets;
mod run;
mod storm;
mod stream;
mod tips;
mod usage;
mod wording;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Retries that cannot start a storm, and a way to prove it before production.
#[derive(Debug, Parser)]
#[command(name = "becalm", version, arg_required_else_help = true, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  becalm drill
      See a retry storm on this machine, and see it not happen
  becalm plan --attempts 6 --base 500ms --cap 30s --jitter equal
      See what a policy does, and for how long at worst
  becalm storm herd --clients 10000 --compare none,equal,full,decorrelated
      See what policies do to a service, simulated
  becalm run --attempts 5 --base 200ms -- curl -fsS https://api.example.com/
      Retry any command

The policy flags (--attempts, --base, --jitter, ...) are the same everywhere.
Exit code of a refused command line: 2, but 125 for \"becalm run\".";

#[derive(Debug, Subcommand)]
enum Command {
    Run(Box<run::Args>),
    Plan(plan::Args),
    Drill(drill::Args),
    Storm(storm::Args),
    Presets(presets::Args),
    Completions(generate::CompletionsArgs),
    Man(generate::ManArgs),
}

fn main() -> ExitCode {
    if let Some(code) = run::take_detour(std::env::args_os()) {
        return code;
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(refusal) => return usage::refused(&tips::added(refusal)),
    };
    match cli.command {
        Command::Run(args) => run::execute(*args),
        Command::Plan(args) => plan::execute(&args),
        Command::Drill(args) => drill::execute(args),
        Command::Storm(args) => storm::execute(args),
        Command::Presets(args) => presets::execute(&args),
        Command::Completions(args) => generate::completions(&args),
        Command::Man(args) => generate::man(&args),
    }
}
