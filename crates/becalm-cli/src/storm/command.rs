//! What does the command line of `becalm storm` look like? The catalogue says.
//!
//! Each scenario is a subcommand whose flags are the scenario's parameters, so help, completions
//! and the manual know them all. A flag of the policy always means the policy: no scenario has a
//! parameter of such a name.

use becalm_sim::catalogue::{ENTRIES, Entry, Kind, Parameter, Parameters};
use clap::builder::{PossibleValuesParser, ValueParser};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args as _, Command, Error, FromArgMatches};

use super::flags::{CatalogueFlags, StudyFlags};
use super::scenario_name;
use crate::policy_flags::PolicyFlags;

/// What is asked of `becalm storm`.
#[derive(Debug)]
pub struct Args {
    pub request: Request,
}

/// What is to be done.
#[derive(Debug)]
pub enum Request {
    /// Tell what there is: all scenarios, or all about these.
    List(Vec<&'static Entry>, Form),
    /// Compare the simulator with the right answers.
    Check(CatalogueFlags),
    /// Study a scenario.
    Study(Box<StudyRequest>),
}

/// For whom it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Text,
    Json,
}

/// A scenario, its parameters and policies.
#[derive(Debug)]
pub struct StudyRequest {
    pub entry: &'static Entry,
    pub parameters: Parameters,
    pub policy: PolicyFlags,
    /// Whether any flag of the policy was given.
    pub policy_is_given: bool,
    pub flags: StudyFlags,
}

impl clap::Args for Args {
    fn augment_args(command: Command) -> Command {
        let command = CatalogueFlags::augment_args(command)
            .about("Simulate what a policy does to a service, before it does it")
            .long_about(LONG_ABOUT)
            .after_long_help(AFTER_HELP)
            .subcommand_value_name("SCENARIO")
            .subcommand_help_heading("Scenarios")
            .args_conflicts_with_subcommands(true)
            .arg_required_else_help(true);
        ENTRIES.iter().fold(command, |command, entry| {
            command.subcommand(scenario(entry))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Args {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let request = match matches.subcommand() {
            Some((name, given)) => {
                let entry = scenario_name::by_name(name)
                    .map_err(|sentence| Error::raw(ErrorKind::InvalidSubcommand, sentence))?;
                Request::Study(Box::new(StudyRequest::new(entry, given)?))
            }
            None => of_the_catalogue(CatalogueFlags::from_arg_matches(matches)?)?,
        };
        Ok(Self { request })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn of_the_catalogue(flags: CatalogueFlags) -> Result<Request, Error> {
    let form = if flags.json { Form::Json } else { Form::Text };
    if flags.check.is_some() {
        return Ok(Request::Check(flags));
    }
    match flags.list {
        Some(names) => Ok(Request::List(names, form)),
        None => Err(Error::raw(
            ErrorKind::MissingSubcommand,
            "name a scenario, or --list or --check\n",
        )),
    }
}

impl StudyRequest {
    fn new(entry: &'static Entry, given: &ArgMatches) -> Result<Self, Error> {
        let mut parameters = Parameters::of(entry.parameters);
        for parameter in entry.parameters {
            if let Some(value) = given.get_one::<String>(parameter.name) {
                let set = parameters.set(parameter.name, value);
                set.map_err(|invalid| Error::raw(ErrorKind::InvalidValue, invalid))?;
            }
        }
        Ok(Self {
            entry,
            parameters,
            policy: PolicyFlags::from_arg_matches(given)?,
            policy_is_given: policy_is_given(given),
            flags: StudyFlags::from_arg_matches(given)?,
        })
    }
}

/// The names of the policy flags, without dashes at their fronts.
pub fn policy_flags() -> Vec<String> {
    let command = PolicyFlags::augment_args(Command::new("policy"));
    let names = command.get_arguments().filter_map(Arg::get_long);
    names
        .filter(|name| *name != SEED)
        .map(str::to_owned)
        .collect()
}

/// A flag of the policy that says nothing about the policy: here it is the study's.
const SEED: &str = "seed";

fn policy_is_given(given: &ArgMatches) -> bool {
    let command = PolicyFlags::augment_args(Command::new("policy"));
    command
        .get_arguments()
        .map(|argument| argument.get_id().as_str())
        .filter(|id| *id != SEED)
        .any(|id| given.value_source(id) == Some(ValueSource::CommandLine))
}

/// The subcommand of a scenario.
fn scenario(entry: &'static Entry) -> Command {
    let sources: Vec<String> = entry.sources.iter().map(super::list::source).collect();
    let after = format!(
        "Sources:\n  {}\n\nExample:\n  becalm storm {} --report storm.html",
        sources.join("\n  "),
        entry.name
    );
    let command = Command::new(entry.name)
        .about(entry.title)
        .long_about(format!(
            "{}\n\n{}\n\n{}",
            entry.title, entry.question, entry.answer
        ))
        .after_help(after);
    let command = entry
        .parameters
        .iter()
        .fold(command, |command, parameter| command.arg(flag(parameter)));
    with_policy_and_study(command)
}

fn with_policy_and_study(command: Command) -> Command {
    PolicyFlags::augment_args(StudyFlags::augment_args(command)).mut_arg(SEED, |seed| {
        seed.help("The seed of the first run [default: 1]")
            .long_help(
                "The seed of the first run [default: 1]\n\nThe same seed gives the same figures, to \
                 the last byte; another one gives another sample.",
            )
            .help_heading("The study")
    })
}

/// The flag of a parameter.
fn flag(parameter: &'static Parameter) -> Arg {
    let check = |text: &str| match parameter.check(text) {
        Ok(()) => Ok(text.to_owned()),
        Err(invalid) => Err(invalid.sentence),
    };
    let (value_name, parser): (_, ValueParser) = match parameter.kind {
        Kind::Count => ("COUNT", check.into()),
        Kind::Number => ("NUMBER", check.into()),
        Kind::Share => ("SHARE", check.into()),
        Kind::Duration => ("DURATION", check.into()),
        Kind::Choice(choices) => ("CHOICE", PossibleValuesParser::new(choices).into()),
        _ => ("VALUE", check.into()),
    };
    Arg::new(parameter.name)
        .long(parameter.name)
        .help(parameter.help)
        .value_name(value_name)
        .value_parser(parser)
        .default_value(parameter.default)
        .help_heading("Scenario")
}

const LONG_ABOUT: &str = "\
Simulate what a policy does to a service, before it does it

The simulator runs the very code that ships (attempts, delays, budgets, breakers, throttles, hedges) \
on virtual time, against services that queue, time out and collapse. Each scenario of the catalogue \
asks one question, has its parameters as flags, and a right answer that --check compares with.";

const AFTER_HELP: &str = "\
Each scenario tells its flags: becalm storm NAME --help.

Examples:
  becalm storm --list
  becalm storm --list herd
  becalm storm --check --quick
  becalm storm herd --clients 10000 --compare none,equal,full,decorrelated
  becalm storm herd --base 1s --cap 30s --report herd.html --csv herd

The JSON document of a study: schema, becalm (version), command, scenario, question, answer, seed, \
runs, events, asked (name, value), figures, contenders (name, policy, verdict (stable, vulnerable, \
metastable, overloaded, or null), evidence, figures (id, title, unit, value or null, low and high of \
the 95 % interval or null), charts) and charts (id, title, x, y, kind, ...). Of --list: schema, \
becalm, scenarios (name, title, question, answer, sources, parameters, contenders). Of --check: \
schema, becalm, quick, seeds, passed, scenarios (name, passed, comparisons (what, expected, got, one \
for each seed, tolerance, holds)). Names and units are stable; new ones may be added.

Exit code: 0; 1 when --check fails, or with --strict when a policy leaves its service metastable; 2 \
for a refused command line.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_scenario_takes_a_name_away_from_another_flag() {
        let command = with_policy_and_study(Command::new("study"));
        let mut taken: Vec<&str> = command.get_arguments().filter_map(Arg::get_long).collect();
        taken.extend(["help", "version", "list", "check", "quick", "seeds", "out"]);
        assert!(taken.contains(&"attempts") && taken.contains(&"compare"));
        for entry in ENTRIES {
            for parameter in entry.parameters {
                assert!(
                    !taken.contains(&parameter.name),
                    "{}: --{}",
                    entry.name,
                    parameter.name
                );
            }
        }
    }

    #[test]
    fn the_command_is_sound() {
        Args::augment_args(Command::new("storm")).debug_assert();
    }
}
