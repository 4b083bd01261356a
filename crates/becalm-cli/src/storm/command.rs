//! What does the command line of `becalm storm` look like? The catalogue says.
//!
//! Each scenario is a subcommand whose flags are the scenario's parameters, so help, completions
//! and the manual know them all. A flag of the policy always means the policy: no scenario has a
//! parameter of such a name.

use std::ffi::OsString;

use becalm_sim::catalogue::{self, ENTRIES, Entry, Kind, Parameter, Parameters};
use clap::builder::{PossibleValuesParser, ValueParser};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, Error, FromArgMatches, Id};

use super::beginning::{SEED, flags_of_the_policy};
use super::flags::{CatalogueFlags, StudyFlags, TuneFlags};
use super::list::Form;
use super::subject::Named;
use super::{scenario_name, subject};
use crate::policy_flags::{PolicyFlags, told_default};

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
    Study(Box<Question>, StudyFlags),
    /// Search for a policy.
    Tune(Box<Question>, TuneFlags),
}

/// A scenario, its parameters, and the policy of the flags.
#[derive(Debug)]
pub struct Question {
    pub named: Named,
    pub policy: PolicyFlags,
    /// Whether any flag of the policy was given.
    pub policy_is_given: bool,
}

impl clap::Args for Args {
    fn augment_args(command: Command) -> Command {
        let command = CatalogueFlags::augment_args(command)
            .about("Simulate what a policy does to a service, before it does it")
            .long_about(LONG_ABOUT)
            .override_usage(USAGE)
            .after_long_help(AFTER_HELP)
            .subcommand_value_name("SCENARIO")
            .subcommand_help_heading("Scenarios")
            .args_conflicts_with_subcommands(true)
            .allow_external_subcommands(true)
            .arg_required_else_help(true);
        command
            .subcommands(ENTRIES.iter().map(|entry| scenario::<StudyFlags>(entry)))
            .subcommand(tune())
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Args {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let is_given =
            |id: &Id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
        let request = match matches.subcommand() {
            // The parser takes it for the name of a stranger, and would read nothing behind it.
            Some((name, _)) if matches.ids().any(is_given) => {
                let sentence = format!(
                    "{name} stands behind a flag; write the flags behind the scenario (becalm \
                     storm {name} ..), or names right behind --check or --list (becalm storm \
                     --check {name} ..)"
                );
                return Err(refusal(ErrorKind::ArgumentConflict, &sentence));
            }
            Some((TUNE, given)) => match given.subcommand() {
                Some((name, given)) => {
                    let (question, flags) = Question::read(name, given)?;
                    Request::Tune(Box::new(question), flags)
                }
                None => {
                    return Err(refusal(
                        ErrorKind::MissingSubcommand,
                        "name a scenario to tune",
                    ));
                }
            },
            Some((name, given)) => {
                let (question, flags) = Question::read(name, given)?;
                Request::Study(Box::new(question), flags)
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
        None => Err(refusal(
            ErrorKind::MissingSubcommand,
            "name a scenario, or --list or --check",
        )),
    }
}

/// The parser's error with this sentence.
fn refusal(kind: ErrorKind, sentence: &str) -> Error {
    Error::raw(kind, format!("{sentence}\n"))
        .format(&mut Command::new("storm").override_usage(USAGE))
}

const USAGE: &str = "becalm storm SCENARIO [OPTIONS]
       becalm storm FILE.toml [OPTIONS]
       becalm storm tune SCENARIO|FILE.toml [OPTIONS]
       becalm storm --list [NAME]...
       becalm storm --check [NAME]...";

impl Question {
    /// The scenario of this name, or of this file, with the flags behind it.
    fn read<F: clap::Args>(name: &str, given: &ArgMatches) -> Result<(Self, F), Error> {
        let Some(entry) = catalogue::find(name) else {
            return Self::of_file(name, given);
        };
        let mut parameters = Parameters::of(entry.parameters);
        for parameter in entry.parameters {
            let source = given.value_source(parameter.name);
            let value = given.get_one::<String>(parameter.name);
            if let Some(value) = value.filter(|_| source == Some(ValueSource::CommandLine)) {
                let set = parameters.set(parameter.name, value);
                set.map_err(|invalid| refusal(ErrorKind::InvalidValue, &invalid.to_string()))?;
            }
        }
        Self::new(Named::Entry(entry, parameters), given)
    }

    /// `given` holds the arguments behind the name, unread: clap knows no subcommand of that name.
    fn of_file<F: clap::Args>(name: &str, given: &ArgMatches) -> Result<(Self, F), Error> {
        if !subject::is_file(name) {
            let unknown = scenario_name::unknown(name);
            return Err(refusal(
                ErrorKind::InvalidSubcommand,
                &format!("{unknown} (a scenario of your own is a file whose name ends in .toml)"),
            ));
        }
        let arguments = given.get_many::<OsString>("").unwrap_or_default();
        let given = own::<F>(name).try_get_matches_from(arguments)?;
        Self::new(Named::File(name.into()), &given)
    }

    fn new<F: clap::Args>(named: Named, given: &ArgMatches) -> Result<(Self, F), Error> {
        let question = Self {
            named,
            policy: PolicyFlags::from_arg_matches(given)?,
            policy_is_given: policy_is_given(given),
        };
        Ok((question, F::from_arg_matches(given)?))
    }
}

fn policy_is_given(given: &ArgMatches) -> bool {
    let flags = flags_of_the_policy();
    let ids = flags
        .iter()
        .map(|flag| flag.get_id().as_str())
        .filter(|id| *id != SEED);
    ids.map(|id| given.value_source(id))
        .any(|source| source == Some(ValueSource::CommandLine))
}

/// The subcommand that searches for a policy, in scenarios that have a world to search in.
fn tune() -> Command {
    // Those without a verdict are understood all the same, to be told what to do instead.
    let all = ENTRIES
        .iter()
        .map(|entry| scenario::<TuneFlags>(entry).hide(!entry.is_judged()));
    Command::new(TUNE)
        .about("Search for the policy that suits a scenario: the best trade-offs, and one of them")
        .long_about(
            "Search for the policy that suits a scenario: the best trade-offs, and one of them\n\n\
             Tries policies in a scenario of the catalogue or of your own, and drops those under which \
             the service stays down. Of the others it shows those that no other beats in load on the \
             service, in calls that fail and in latency, and recommends one, with its reasons, as a \
             policy file. Where services call each other it changes one of their policies, several or \
             all, and says which; with --at that one alone. If fresh runs show nothing for a change, \
             the answer is to keep yours. The policy flags describe the policy that it is compared with.",
        )
        .override_usage("becalm storm tune SCENARIO [OPTIONS]\n       becalm storm tune FILE.toml [OPTIONS]")
        .subcommand_value_name("SCENARIO")
        .subcommand_help_heading("Scenarios")
        .arg_required_else_help(true)
        .allow_external_subcommands(true)
        .subcommands(all)
}

const TUNE: &str = "tune";

/// The subcommand of a scenario.
fn scenario<F: clap::Args>(entry: &'static Entry) -> Command {
    let sources: Vec<String> = entry.sources.iter().map(super::list::source).collect();
    let after = format!(
        "Sources:\n  {}\n\nExample:\n  becalm storm {} --report storm.html",
        sources.join("\n  "),
        entry.name
    );
    let parameters = entry.parameters.iter().map(flag);
    with_policy_and::<F>(Command::new(entry.name).args(parameters))
        .about(entry.title)
        .long_about(format!(
            "{}\n\n{}\n\n{}\n\nThe policy flags start from the scenario's own policy.",
            entry.title, entry.question, entry.answer
        ))
        .after_help(after)
}

/// The command of a scenario of one's own.
fn own<F: clap::Args>(path: &str) -> Command {
    with_policy_and::<F>(Command::new("own"))
        .bin_name(format!("becalm storm {path}"))
        .no_binary_name(true)
        .about("Study a scenario of your own")
        .long_about(
            "Study a scenario of your own\n\nThe policy flags start from the policy of its first \
             clients. Each policy that is compared is given to all clients; \"own\" is the file as it \
             stands. Each policy of the file has a name: --compare, --sweep and --at say \
             how one is reached. A verdict of metastable or vulnerable ends with the smallest change \
             that was found to make it stable.",
        )
}

fn with_policy_and<F: clap::Args>(command: Command) -> Command {
    // Here the scenario says what the defaults are.
    let flags = flags_of_the_policy().into_iter();
    let flags = flags.map(|flag| told_default(flag, None));
    let command = F::augment_args(command).args(flags);
    command.mut_arg(SEED, |seed| {
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
        Kind::Count | Kind::Places => ("COUNT", check.into()),
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
  becalm storm my-service.toml --policy mine.toml --compare yours --strict
  becalm storm my-service.toml --sweep base=50ms..1s,attempts=2..5
  becalm storm tune my-service.toml --out tuned.toml

The JSON document of a study: schema, becalm (version), command, scenario, question, answer, seed, \
runs, events, asked (name, value), figures, contenders (name, policy, verdict (stable, vulnerable, \
too-short, metastable, overloaded, or null), evidence, figures (id, title, unit, value or null, low and high of \
the 95 % interval or null), charts), of tune also recommended (policy file, verdict, given_verdict, reasons, lines), where a policy \
is metastable or vulnerable remedy (of, sentence, lines (section, line), compare), and charts (id, title, x, y, kind, ...). Of --list: schema, \
becalm, scenarios (name, title, question, answer, sources, parameters, contenders). Of --check: \
schema, becalm, quick, seeds, passed, scenarios (name, passed, comparisons (what, expected, got, one \
for each seed, tolerance, holds)). Names and units are stable; new ones may be added. Each figure and \
each chart is defined in docs/figures.md of becalm's repository.

Exit code: 0; 1 when --check fails, or with --strict when a policy (of tune the recommended one) leaves its \
service metastable or overloaded, or the runs are too short to say; 2 for a refused command line.";

#[cfg(test)]
mod tests {
    use clap::Args as _;

    use super::*;

    #[test]
    fn no_scenario_takes_a_name_away_from_another_flag() {
        let command = with_policy_and::<TuneFlags>(
            Command::new("tune").args(
                StudyFlags::augment_args(Command::new("study"))
                    .get_arguments()
                    .filter(|it| ["compare", "sweep", "quick"].contains(&it.get_id().as_str())),
            ),
        );
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
    fn no_default_is_told_that_the_scenario_may_not_have() {
        let mut command = own::<StudyFlags>("a.toml");
        let help = command.render_long_help().to_string();
        assert!(
            !help.contains("[default: 4]") && !help.contains("[default: none]"),
            "{help}"
        );
        assert!(help.contains("[default: 1]"), "the seed has one: {help}");
        assert!(
            help.contains("ratio:0.1,burst:10,floor:1"),
            "the rest is kept: {help}"
        );
    }

    #[test]
    fn a_policy_is_given_where_a_flag_says_something_of_it() {
        for (words, is_given) in [
            ("storm herd", false),
            ("storm herd --seed 3 --clients 10", false),
            ("storm herd --base 1s", true),
            ("storm own.toml --quick", false),
            ("storm own.toml --attempts 4", true),
        ] {
            let command = Args::augment_args(Command::new("storm"));
            let given = command.try_get_matches_from(words.split(' ')).unwrap();
            let Request::Study(question, _) = Args::from_arg_matches(&given).unwrap().request
            else {
                panic!("{words} is a study")
            };
            assert_eq!(question.policy_is_given, is_given, "{words}");
        }
    }

    #[test]
    fn the_command_is_sound() {
        Args::augment_args(Command::new("storm")).debug_assert();
    }
}
