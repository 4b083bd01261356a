//! What does a policy of `--compare` start from, and what changes it?

use std::path::PathBuf;

use becalm::{Jitter, Policy, preset::Preset};
use clap::{Arg, Args as _, Command, Parser};

use super::nearest::did_you_mean;
use crate::policy_flags::PolicyFlags;

/// The scenario's own policy as it stands.
pub const OWN: &str = "own";
/// The policy of becalm's defaults.
pub const DEFAULT: &str = "default";
/// The policy of the flags as it stands.
pub const YOURS: &str = "yours";

/// What the policy of one place starts from.
pub struct Beginning<'a> {
    /// The scenario's own.
    pub own: &'a Policy,
    /// That as the flags change it.
    pub yours: Policy,
}

impl Beginning<'_> {
    /// What it starts from, with its settings.
    pub fn policy(&self, parts: &[&str], text: &str) -> Result<Policy, String> {
        let mut parts = parts.iter().copied().peekable();
        let begun = parts.next_if(|part| !part.contains('='));
        let begun = begun.map_or_else(|| Ok(self.yours.clone()), |begun| self.begin(begun))?;
        let settings: Vec<&str> = parts.collect();
        if settings.is_empty() {
            return Ok(begun);
        }
        set(&settings, begun).map_err(|sentence| format!("--compare `{text}`: {sentence}"))
    }

    /// What a policy starts from.
    fn begin(&self, text: &str) -> Result<Policy, String> {
        if is_path(text) {
            return file(text);
        }
        if let Ok(jitter) = text.parse::<Jitter>() {
            return validated(self.yours.clone().jitter(jitter), text);
        }
        match (text, Preset::by_name(text)) {
            (OWN, _) => Ok(self.own.clone()),
            (DEFAULT, _) => Ok(Policy::default()),
            (YOURS, _) => Ok(self.yours.clone()),
            (_, Ok(preset)) => Ok(preset.policy()),
            _ => Err(unknown(text)),
        }
    }
}

fn unknown(text: &str) -> String {
    let mut known = words();
    known.extend(Preset::all().map(|preset| preset.name().to_owned()));
    let meant = did_you_mean(text, known.iter().map(String::as_str));
    let remedy = if meant.is_empty() {
        "; write a jitter such as full, a preset (\"becalm presets\" lists them), a file such as \
         mine.toml, or settings such as \"attempts=3;budget=none\""
    } else {
        &meant
    };
    let quotes = if text.ends_with('-') {
        "; put quotes around a name with `->`, or the shell takes `>` for itself"
    } else {
        ""
    };
    format!("--compare: there is no policy `{text}`{remedy}{quotes}")
}

/// What a policy may start from in one word, beside the presets.
pub fn words() -> Vec<String> {
    let jitters = Jitter::SAMPLES.iter().map(Jitter::to_string);
    let jitters = jitters.filter(|text| !text.contains(':'));
    jitters
        .chain([DEFAULT, OWN, YOURS].map(str::to_owned))
        .collect()
}

pub fn is_path(text: &str) -> bool {
    let ends = |end: &str| text.to_ascii_lowercase().ends_with(end);
    (text.contains('/') && !text.contains('=')) || ends(".toml") || ends(".json")
}

fn file(path: &str) -> Result<Policy, String> {
    let refused = |error: String| format!("--compare: policy file {path}: {error}");
    if path.to_ascii_lowercase().ends_with(".json") {
        let text = std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
        return serde_json::from_str(&text).map_err(|error| refused(error.to_string()));
    }
    PolicyFlags::of_file(PathBuf::from(path))
        .policy()
        .map_err(|sentence| format!("--compare: {sentence}"))
}

fn validated(policy: Policy, text: &str) -> Result<Policy, String> {
    match policy.validate() {
        Ok(()) => Ok(policy),
        Err(invalid) => Err(format!("--compare `{text}`: {invalid}")),
    }
}

/// Settings are read as the flags of the same names are.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Settings {
    #[command(flatten)]
    flags: PolicyFlags,
}

fn set(settings: &[&str], start: Policy) -> Result<Policy, String> {
    let known = policy_flags();
    let mut arguments = Vec::new();
    for setting in settings {
        let Some((name, value)) = setting.split_once('=') else {
            return Err(format!(
                "`{setting}` is no setting; write one as attempts=3"
            ));
        };
        let name = name.trim().replace('_', "-");
        if !known.contains(&name) {
            let known = known.iter().map(String::as_str);
            let meant = did_you_mean(&name, known);
            let remedy = if meant.is_empty() {
                "; settings are named as the policy flags are, and parts stand within them: \
                 attempts=3, budget=ratio:0.1,burst:10"
            } else {
                &meant
            };
            return Err(format!("there is no setting `{name}`{remedy}"));
        }
        arguments.push(format!("--{name}={}", value.trim()));
    }
    let flags = Settings::try_parse_from(arguments)
        .map_err(|error| sentence(&error))?
        .flags;
    flags.policy_from(start)
}

/// The first paragraph of what the parser says, without its mark.
fn sentence(error: &clap::Error) -> String {
    let text = error.to_string();
    let first = text.split("\n\n").next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    first.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The names of the policy flags, without dashes at their fronts.
pub fn policy_flags() -> Vec<String> {
    let flags = flags_of_the_policy();
    let names = flags.iter().filter_map(Arg::get_long);
    names
        .filter(|name| *name != SEED)
        .map(str::to_owned)
        .collect()
}

/// A flag of the policy that says nothing about the policy: here it is the study's.
pub const SEED: &str = "seed";

pub fn flags_of_the_policy() -> Vec<Arg> {
    let command = PolicyFlags::augment_args(Command::new("policy"));
    command.get_arguments().cloned().collect()
}
