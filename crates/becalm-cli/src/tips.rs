//! What did a user mean who typed what another tool, or a shell, would have understood?

use becalm::support::nearest;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::drill;

/// Words of other tools, and what they are here.
const WORDS: [(&[&str], &str); 4] = [
    (
        &["--timeout", "-t"],
        "--attempt-timeout bounds one attempt, --deadline all of them together",
    ),
    (
        &[
            "--retries",
            "--max-retries",
            "--retry",
            "--tries",
            "--max-attempts",
            "-n",
            "-r",
        ],
        "--attempts counts all attempts, the first included: --attempts 4 is three retries",
    ),
    (
        &[
            "--delay",
            "--wait",
            "--sleep",
            "--interval",
            "-d",
            "-s",
            "-w",
        ],
        "--base is the first wait; with --backoff fixed --jitter none it is every wait",
    ),
    (
        &["--max-delay", "--max-wait", "--max-interval"],
        "--cap is the longest wait",
    ),
];

/// The refusal, with a tip that fits in place of clap's: that would make a command of the flag, or names
/// one that only looks a little like it.
pub fn added(mut refusal: clap::Error) -> clap::Error {
    let tip = match refusal.kind() {
        ErrorKind::UnknownArgument => named(&refusal, ContextKind::InvalidArg).and_then(flag),
        ErrorKind::InvalidSubcommand if is_of_drill(&refusal) => drills(&refusal),
        ErrorKind::InvalidSubcommand => named(&refusal, ContextKind::InvalidSubcommand)
            .map(|name| format!("to retry a command, write 'becalm run -- {name} ..'")),
        _ => None,
    };
    let is_wrong = tip.is_some() || !is_near(&refusal);
    if is_wrong && refusal.remove(ContextKind::SuggestedArg).is_some() {
        // It is made with the flag that was suggested.
        refusal.remove(ContextKind::Usage);
    }
    if let Some(tip) = tip {
        let tips = ContextValue::StyledStrs(vec![tip.into()]);
        refusal.insert(ContextKind::Suggested, tips);
    }
    refusal
}

/// Whether the flag that clap suggests is the one that was probably meant.
fn is_near(refusal: &clap::Error) -> bool {
    let given = named(refusal, ContextKind::InvalidArg);
    let suggested = named(refusal, ContextKind::SuggestedArg);
    given
        .zip(suggested)
        .is_some_and(|(given, suggested)| nearest(given, [suggested]).is_some())
}

/// Below a subcommand it is no command that was meant. Which drills there are, unless clap names one that was probably meant.
fn drills(refusal: &clap::Error) -> Option<String> {
    let is_near = refusal.get(ContextKind::SuggestedSubcommand).is_some();
    let there_are = || drill::names().join("', '");
    (!is_near).then(|| format!("there are '{}'", there_are()))
}

fn is_of_drill(refusal: &clap::Error) -> bool {
    let usage = refusal.get(ContextKind::Usage).map(ToString::to_string);
    usage.is_some_and(|usage| usage.contains("becalm drill"))
}

fn named(refusal: &clap::Error, kind: ContextKind) -> Option<&str> {
    match refusal.get(kind)? {
        ContextValue::String(name) => Some(name),
        _ => None,
    }
}

fn flag(name: &str) -> Option<String> {
    let (_, tip) = WORDS.iter().find(|(words, _)| words.contains(&name))?;
    Some((*tip).to_owned())
}
