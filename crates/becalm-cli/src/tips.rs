//! What did a user mean who typed what another tool, or a shell, would have understood?

use clap::error::{ContextKind, ContextValue, ErrorKind};

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

/// The refusal, with a tip that fits in place of clap's, which would make a command of the flag.
pub fn added(mut refusal: clap::Error) -> clap::Error {
    let tip = match refusal.kind() {
        ErrorKind::UnknownArgument => named(&refusal, ContextKind::InvalidArg).and_then(flag),
        ErrorKind::InvalidSubcommand => named(&refusal, ContextKind::InvalidSubcommand)
            .map(|name| format!("to retry a command, write 'becalm run -- {name} ..'")),
        _ => None,
    };
    if let Some(tip) = tip {
        let tips = ContextValue::StyledStrs(vec![tip.into()]);
        refusal.insert(ContextKind::Suggested, tips);
    }
    refusal
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
