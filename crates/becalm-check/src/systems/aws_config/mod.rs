//! What does `~/.aws/config` say about retrying?
//!
//! `retry_mode` and `max_attempts` of each profile, as Python's botocore reads them (`botocore/configprovider.py`,
//! `args.py`, `config.py`); run with 1.44.5 and 1.43.127. The AWS CLI and boto3 stand on it.

mod ini;
mod mode;
mod profiles;

use becalm::Policy;

use crate::code;
use crate::document::{Document, Span};
use crate::mapping::{Draft, Origin};
use crate::reading::Reading;
use crate::system::{Evidence, Form, System};
use crate::template;
use ini::{Entry, sections};
use mode::{Generation, MODES, Mode};
use profiles::{Profile, profiles};

pub(super) const AWS_CONFIG: System = System {
    name: "aws-config",
    title: "AWS SDK",
    versions: &["botocore-1.44", "botocore-1.43"],
    evidence: Evidence::Run,
    form: Form::Text,
    recognises,
    read,
};

/// A section as the AWS tools write it, with one of their names.
fn recognises(document: &Document<'_>) -> bool {
    let heads = ["[default]", "[profile ", "[sso-session ", "[services "];
    let names = [
        "region",
        "output",
        "retry_mode",
        "max_attempts",
        "defaults_mode",
        "aws_",
        "sso_",
        "role_arn",
        "source_profile",
        "credential_",
        "cli_",
        "endpoint_url",
        "s3",
    ];
    if document.file.to_ascii_lowercase().ends_with(".toml") {
        return false;
    }
    let mut lines = document.text.lines();
    let is_credentials = document.file.ends_with("credentials");
    let is_head = |line: &str| {
        let head = line.trim_start();
        heads.iter().any(|it| head.starts_with(it)) || is_credentials && head.starts_with('[')
    };
    lines.any(is_head)
        && lines.any(|line| {
            let name = line
                .split_once(['=', ':'])
                .map(|(name, _)| name.trim().to_lowercase());
            name.is_some_and(|name| names.iter().any(|it| name.starts_with(it)))
        })
}

const KEYS: &[&str] = &[
    "attempts",
    "base",
    "throttled_base",
    "cap",
    "jitter",
    "hint",
    "budget",
    "rate",
    "attempt_timeout",
    "retry_on",
];

fn read(reading: &mut Reading<'_>) {
    let sections = match sections(reading.document.text) {
        Ok(sections) => sections,
        Err(unreadable) => {
            let sentence = format!(
                "botocore refuses the whole file: {}, which Python's configparser does not read",
                unreadable.sentence
            );
            reading.find(unreadable.span, code::REFUSED, sentence, "");
            return;
        }
    };
    let profiles = profiles(reading, &sections);
    for profile in profiles.iter().filter(|it| it.says().is_some()) {
        of_profile(reading, profile);
    }
    if profiles.iter().all(|it| it.says().is_none()) {
        if let Some(default) = profiles.iter().find(|it| it.name == "default") {
            of_profile(reading, default);
        }
    }
}

fn of_profile(reading: &mut Reading<'_>, profile: &Profile<'_>) {
    let generation = match reading.version {
        "botocore-1.43" => Generation::V2,
        _ => Generation::Of2026,
    };
    let Some(default) = default_mode(reading, profile, generation) else {
        return;
    };
    let said = profile.mode().map(|entry| mode(reading, entry));
    let mode = match said {
        None | Some(Said::Unknown(_)) => default,
        Some(Said::Is(mode)) => mode,
        Some(Said::Refused) => return,
    };
    let policy = mode.policy(generation);
    let most = profile.attempts().map(|entry| attempts(reading, entry));
    let mut draft = Draft::of(policy, keys(mode));
    match (most, profile.attempts()) {
        (Some(Said::Refused), _) => return,
        (Some(Said::Is(most)), Some(entry)) => {
            draft.policy.attempts = most;
            draft.origin("attempts", Origin::Line(entry.span));
        }
        (Some(Said::Unknown(text)), Some(entry)) => {
            draft.origin("attempts", Origin::Unknown(entry.span, text));
        }
        _ => {}
    }
    if let (Some(entry), Some(Said::Is(_))) = (profile.mode(), &said) {
        let all = KEYS.iter().filter(|it| **it != "attempts");
        for key in all.filter(|it| keys(mode).contains(it)) {
            let how = format!("mode {}", MODES[mode as usize]);
            draft.origin(key, Origin::Derived(entry.span, how));
        }
    }
    mode.lose(&mut draft, generation);
    if profile.name != "default" && (profile.mode().is_none() || profile.attempts().is_none()) {
        draft.lose(
            "[default]",
            "a profile inherits nothing from it",
            Some(profile.section.span),
        );
    }
    let name = format!("profile {}", profile.name);
    if let Some(span) = profile.says() {
        overridden(reading, span, &name, generation);
    }
    let span = profile.says().unwrap_or(profile.section.span);
    reading.map(draft, name, Vec::new(), span);
}

/// What the value of a name is.
enum Said<T> {
    Is(T),
    /// A placeholder, of which there is a finding.
    Unknown(String),
    /// There is a finding.
    Refused,
}

/// Which of the keys the mode has.
fn keys(mode: Mode) -> &'static [&'static str] {
    match mode {
        Mode::Legacy => &[
            "attempts",
            "base",
            "cap",
            "jitter",
            "hint",
            "budget",
            "attempt_timeout",
            "retry_on",
        ],
        Mode::Standard => &[
            "attempts",
            "base",
            "throttled_base",
            "cap",
            "jitter",
            "hint",
            "budget",
            "attempt_timeout",
            "retry_on",
        ],
        Mode::Adaptive => KEYS,
    }
}

/// All `defaults_mode`s but `legacy` have the mode `standard`; `None` where botocore refuses the value.
fn default_mode(
    reading: &mut Reading<'_>,
    profile: &Profile<'_>,
    generation: Generation,
) -> Option<Mode> {
    let Some(entry) = profile.defaults() else {
        return Some(Mode::default_of(generation));
    };
    let known = ["standard", "in-region", "cross-region", "mobile", "auto"];
    match &*entry.text().unwrap_or_default().to_lowercase() {
        "legacy" => Some(Mode::default_of(generation)),
        text if known.contains(&text) => Some(Mode::Standard),
        text if template::is_placeholder(text) => Some(Mode::default_of(generation)),
        text => {
            let sentence = format!("botocore makes no client with a defaults_mode of `{text}`");
            let remedy = becalm::suggest::nearest(text, known).map_or_else(
                || format!("the modes are legacy, {}", known.join(", ")),
                |meant| format!("did you mean `{meant}`?"),
            );
            reading.find(entry.span, code::REFUSED, sentence, remedy);
            None
        }
    }
}

fn mode(reading: &mut Reading<'_>, entry: &Entry) -> Said<Mode> {
    let text = entry.text().unwrap_or_default();
    if let Some(mode) = Mode::by_name(&text) {
        return Said::Is(mode);
    }
    if template::is_placeholder(&text) {
        return unknown(reading, entry, text, "a retry mode");
    }
    let meant = becalm::suggest::nearest(&text.to_lowercase(), MODES);
    let remedy = meant.map_or_else(
        || format!("the modes are {}", MODES.join(", ")),
        |meant| format!("write `retry_mode = {meant}`"),
    );
    let sentence = format!("botocore makes no client with a retry_mode of `{text}`");
    reading.find(entry.span, code::REFUSED, sentence, remedy);
    Said::Refused
}

fn attempts(reading: &mut Reading<'_>, entry: &Entry) -> Said<u32> {
    let text = entry.text().unwrap_or_default();
    match python_int(&text) {
        Some(most) if most > 0 => Said::Is(most),
        None if template::is_placeholder(&text) => {
            unknown(reading, entry, text, "a number of attempts")
        }
        number => {
            let sentence = format!(
                "botocore makes no client with max_attempts of `{text}`: it wants a whole number of at least 1, the first attempt included"
            );
            let remedy = match number {
                Some(_) => "write 1 to switch retries off",
                None => "write the number alone: what stands behind it is no comment",
            };
            reading.find(entry.span, code::REFUSED, sentence, remedy);
            Said::Refused
        }
    }
}

fn unknown<T>(reading: &mut Reading<'_>, entry: &Entry, text: String, form: &str) -> Said<T> {
    reading.told_text(Some(&text), entry.span, form, |_| None::<T>);
    Said::Unknown(text)
}

/// As Python's `int` reads a text: a sign, and digits with single underscores between them.
fn python_int(text: &str) -> Option<u32> {
    let text = text.trim();
    let is_negative = text.starts_with('-');
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut parts = digits.split('_');
    if !parts.all(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit())) {
        return None;
    }
    if is_negative {
        return Some(0);
    }
    let most = Policy::UNLIMITED - 1;
    let digits = digits.replace('_', "");
    Some(digits.parse().map_or(most, |it: u32| it.min(most)))
}

fn overridden(reading: &mut Reading<'_>, span: Span, name: &str, generation: Generation) {
    let flag = match generation {
        Generation::V2 => ", and AWS_NEW_RETRIES_2026=true brings the figures of botocore 1.44",
        Generation::Of2026 => "",
    };
    let sentence = format!(
        "{name}: AWS_RETRY_MODE and AWS_MAX_ATTEMPTS in the environment override the file, and the Config of a client in code overrides both{flag}"
    );
    reading.find(span, code::OVERRIDDEN, sentence, "");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_python_reads_them() {
        for (text, number) in [
            ("3", Some(3)),
            (" +3 ", Some(3)),
            ("1_0", Some(10)),
            ("-3", Some(0)),
            ("-0", Some(0)),
            ("99999999999999999999", Some(Policy::UNLIMITED - 1)),
            ("", None),
            ("_1", None),
            ("1__0", None),
            ("3 # three", None),
            ("3.0", None),
            ("three", None),
        ] {
            assert_eq!(python_int(text), number, "{text}");
        }
    }
}
