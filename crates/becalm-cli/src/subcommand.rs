//! What can becalm be asked to do? A row for each subcommand.
//!
//! Its flags are built when it is asked for, and then alone: a run of a short command would spend
//! most of its time on the flags of the others.

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

use crate::{check, drill, fit, generate, plan, presets, run, storm};

/// What becalm is asked to do.
#[derive(Debug)]
pub enum Subcommand {
    Run(Box<run::Args>),
    Plan(Box<plan::Args>),
    Drill(Box<drill::Args>),
    Storm(storm::Args),
    Check(check::Args),
    Fit(fit::Args),
    Presets(presets::Args),
    Completions(generate::CompletionsArgs),
    Man(generate::ManArgs),
}

impl clap::Subcommand for Subcommand {
    fn augment_subcommands(command: Command) -> Command {
        command.subcommands([
            Command::new("run")
                .about("Retry a command")
                .defer(|run| run::Args::augment_args(run).mut_args(run::told)),
            later::<plan::Args>(
                "plan",
                "Show what a policy does: every delay, and for how long at worst",
            ),
            later::<drill::Args>(
                "drill",
                "Show on this machine how retries turn a short fault into a long storm, and what \
                 prevents it",
            ),
            later::<storm::Args>(
                "storm",
                "Simulate what a policy does to a service, before it does it",
            ),
            later::<check::Args>(
                "check",
                "Check what configuration files of other systems say about retrying",
            ),
            later::<fit::Args>(
                "fit",
                "Fit a scenario to an access log: what the service can do, and when it is called",
            ),
            later::<presets::Args>(
                "presets",
                "List the presets: the defaults of well-known systems",
            ),
            later::<generate::CompletionsArgs>("completions", "Print the completions of a shell"),
            later::<generate::ManArgs>("man", "Print the manual, one page per command"),
        ])
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        Self::augment_subcommands(Command::default())
            .find_subcommand(name)
            .is_some()
    }
}

/// The command line with `run` as its only command. Its help would lack the defaults, which take time to make.
pub fn run_alone() -> Command {
    let run = Command::new("run").defer(run::Args::augment_args);
    Command::new("becalm")
        .disable_help_subcommand(true)
        .subcommand(run)
}

/// A subcommand of this name, whose flags are built when it is asked for.
fn later<A: Args>(name: &'static str, about: &'static str) -> Command {
    Command::new(name).about(about).defer(A::augment_args)
}

impl FromArgMatches for Subcommand {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let (name, given) = matches
            .subcommand()
            .ok_or_else(|| Error::new(ErrorKind::MissingSubcommand))?;
        Ok(match name {
            "run" => Self::Run(Box::new(read(given)?)),
            "plan" => Self::Plan(Box::new(read(given)?)),
            "drill" => Self::Drill(Box::new(read(given)?)),
            "storm" => Self::Storm(read(given)?),
            "check" => Self::Check(read(given)?),
            "fit" => Self::Fit(read(given)?),
            "presets" => Self::Presets(read(given)?),
            "completions" => Self::Completions(read(given)?),
            "man" => Self::Man(read(given)?),
            _ => return Err(Error::new(ErrorKind::InvalidSubcommand)),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn read<A: FromArgMatches>(given: &ArgMatches) -> Result<A, Error> {
    A::from_arg_matches(given)
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::Cli;

    #[test]
    fn r15_a_run_builds_the_flags_of_no_other_subcommand() {
        let mut cli = Cli::command();
        let run = ["becalm", "run", "--", "true"];
        cli.try_get_matches_from_mut(run).unwrap();
        let built = cli
            .get_subcommands()
            .filter(|it| it.get_arguments().count() > 0);
        let built: Vec<_> = built.map(Command::get_name).collect();
        assert_eq!(built, ["run", "help"]);
    }

    #[test]
    fn r15_a_run_alone_is_read_as_it_is_beside_the_others() {
        for arguments in [
            &["--", "true", "--help"][..],
            &[
                "-q",
                "--attempts",
                "3",
                "--base=2s",
                "--stdin",
                "null",
                "sh",
                "-c",
                "exit 1",
            ],
            &["--retry-on", "7,28", "--breaker", "consecutive:5", "run"],
            &["--max-waiting", "none", "--seed", "7", "help"],
        ] {
            let line = ["becalm", "run"].iter().chain(arguments);
            let line: Vec<_> = line.map(std::ffi::OsString::from).collect();
            let alone = crate::read(run_alone(), line.clone()).unwrap();
            let beside = crate::read(Cli::command(), line).unwrap();
            assert_eq!(format!("{alone:?}"), format!("{beside:?}"));
        }
        let mut alone = run_alone();
        let run = ["becalm", "run", "--", "true"];
        alone.try_get_matches_from_mut(run).unwrap();
        let built: Vec<_> = alone.get_subcommands().map(Command::get_name).collect();
        assert_eq!(built, ["run"]);
    }

    #[test]
    fn every_subcommand_is_read_and_says_of_itself_what_the_list_says() {
        let told = |cli: &Command| -> Vec<_> {
            let ours = cli.get_subcommands().filter(|it| it.get_name() != "help");
            ours.map(|it| {
                (
                    it.get_name().to_owned(),
                    it.get_about().map(ToString::to_string),
                )
            })
            .collect()
        };
        let listed = Cli::command();
        let mut built = Cli::command();
        built.build();
        assert_eq!(told(&listed), told(&built));
        for (name, arguments) in [
            ("run", &["true"][..]),
            ("plan", &[]),
            ("drill", &[]),
            ("storm", &["--list"]),
            ("check", &["x.yaml"]),
            ("fit", &["access.log"]),
            ("presets", &[]),
            ("completions", &["bash"]),
            ("man", &[]),
        ] {
            let line = ["becalm", name]
                .into_iter()
                .chain(arguments.iter().copied());
            assert!(Cli::try_parse_from(line).is_ok(), "{name}");
        }
        assert_eq!(told(&listed).len(), 9);
    }
}
