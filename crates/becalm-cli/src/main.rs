//! The `becalm` command: a thin face over the libraries.

#![forbid(unsafe_code)]

mod again;
mod check;
mod drill;
mod fit;
mod generate;
mod given;
mod named;
mod opened;
mod output;
mod plan;
mod policy_flags;
mod presets;
mod run;
mod storm;
mod stream;
mod subcommand;
mod tips;
mod usage;
mod wording;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Command, CommandFactory, FromArgMatches, Parser};
use subcommand::Subcommand;

/// Retries that cannot start a storm, and a way to prove it before production.
#[derive(Debug, Parser)]
#[command(name = "becalm", version, arg_required_else_help = true, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Subcommand,
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

The policy flags (--attempts, --base, --jitter, ...) are the same everywhere;
\"becalm run\" starts from the preset \"command\", a storm from its scenario's policy, the others from
the library's default.
Exit code of a refused command line: 2, but 125 for \"becalm run\".";

fn main() -> ExitCode {
    let stood_in = run::stand_in(std::env::args_os());
    if let Some(code) = stood_in.or_else(|| becalm_drill::stand_in(std::env::args_os())) {
        return code;
    }
    let cli = match cli(drill::in_order(std::env::args_os())) {
        Ok(cli) => cli,
        Err(refusal) => return usage::refused(&tips::added(refusal)),
    };
    match cli.command {
        Subcommand::Run(args) => run::execute(*args),
        Subcommand::Plan(args) => plan::execute(&args),
        Subcommand::Drill(args) => drill::execute(*args),
        Subcommand::Storm(args) => storm::execute(args),
        Subcommand::Check(args) => check::execute(&args),
        Subcommand::Fit(args) => fit::execute(&args),
        Subcommand::Presets(args) => presets::execute(&args),
        Subcommand::Completions(args) => generate::completions(&args, Cli::command()),
        Subcommand::Man(args) => generate::man(&args, Cli::command()),
    }
}

/// What becalm is asked for. A run is read by its own flags alone, since a short command would wait for the rest; whom
/// that refuses, and who asks for help, hears it from the whole command line.
fn cli(arguments: Vec<OsString>) -> Result<Cli, clap::Error> {
    if arguments.get(1).is_some_and(|it| it == "run") {
        if let Ok(cli) = read(subcommand::run_alone(), arguments.clone()) {
            return Ok(cli);
        }
    }
    read(Cli::command(), arguments)
}

fn read(mut command: Command, arguments: Vec<OsString>) -> Result<Cli, clap::Error> {
    let matches = command.try_get_matches_from_mut(arguments);
    let cli = matches.and_then(|mut it| {
        Cli::from_arg_matches_mut(&mut it).map_err(|refusal| refusal.format(&mut command))
    });
    // Hundreds of flags and texts, which go with the process.
    std::mem::forget(command);
    cli
}
