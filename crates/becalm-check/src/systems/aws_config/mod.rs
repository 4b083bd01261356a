//! What does `~/.aws/config` say about retrying?
//!
//! `retry_mode` and `max_attempts` of each profile, as Python's botocore reads them (`botocore/configprovider.py`,
//! `args.py`, `config.py`); run with 1.44.5 and 1.43.127. The AWS CLI and boto3 stand on it.

mod ini;
mod mode;
mod profiles;
mod values;

use std::cell::LazyCell;

use crate::code;
use crate::document::{Document, Span};
use crate::evidence::Evidence;
use crate::list::list;
use crate::mapping::{Draft, Origin};
use crate::reading::Reading;
use crate::system::{Follows, Form, Schema, System};
use ini::sections;
use mode::{Generation, MODES, Mode};
use profiles::{Credentials, Profile, profiles};
use values::Said;

pub(super) const AWS_CONFIG: System = System {
    name: "aws-config",
    title: "AWS SDK",
    versions: &["botocore-1.44", "botocore-1.43"],
    evidence: Evidence::Run,
    form: Form::Text,
    remedies: REMEDIES,
    fewer: Some("lower `max_attempts`"),
    elsewhere: &["hints-clamped", "no-deadline", "no-total-time"],
    follows: Follows::All,
    schema: Schema::OPEN,
};

/// What helps against a lint, by its code.
const REMEDIES: &[(&str, &str)] = &[
    (
        "no-budget",
        "set `retry_mode = standard`, which has a quota",
    ),
    (
        "hints-ignored",
        "set `retry_mode = standard` with botocore 1.44, which heeds x-amz-retry-after",
    ),
    (
        "hints-clamped",
        "nothing to set: the SDKs bound what x-amz-retry-after asks for",
    ),
    (
        "no-deadline",
        "lower `max_attempts`, and pass a shorter `read_timeout` in code: nothing bounds a whole call",
    ),
    (
        "rate-waits-forever",
        "set `retry_mode = standard`, or bound the call in code",
    ),
    (
        "repeats-non-idempotent",
        "pass a client token where the operation has one; a client for the others gets `total_max_attempts: 1` in code",
    ),
    (
        "repeats-what-may-be-done",
        "pass a client token where the operation has one; a client for the others gets `total_max_attempts: 1` in code",
    ),
];

/// A section as the AWS tools write it, with one of their names.
pub(super) fn recognises(document: &Document<'_>) -> bool {
    let heads = ["[default]", "[profile ", "[sso-session ", "[services "];
    let names = list!(
        "region output retry_mode max_attempts defaults_mode aws_ sso_ role_arn source_profile \
         credential_ cli_ endpoint_url s3"
    );
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

const KEYS: &[&str] =
    list!("attempts base throttled_base cap jitter hint budget rate attempt_timeout retry_on");

pub(super) fn read(reading: &mut Reading<'_>) {
    let sections = match sections(reading.document.text) {
        Ok(sections) => sections,
        Err(unreadable) => {
            let what = unreadable.sentence;
            let (code, sentence) = if unreadable.is_refused {
                let why = "which Python's configparser does not read";
                (
                    code::REFUSED,
                    format!("botocore refuses the whole file: {what}, {why}"),
                )
            } else {
                let why = "what botocore makes of the file is not known here";
                (code::NOT_KNOWN, format!("{what}: {why}"))
            };
            reading.find(unreadable.span, code, sentence, "");
            return;
        }
    };
    let profiles = profiles(reading, &sections);
    let credentials = Credentials::beside(&reading.document);
    let mut spoken: Vec<_> = profiles.iter().filter(|it| it.says().is_some()).collect();
    spoken.retain(|it| !it.is_overridden(reading, &credentials));
    for profile in spoken {
        of_profile(reading, profile);
    }
    let by_name = LazyCell::new(|| profiles.iter().map(|it| (it.name, it.section)).collect());
    let is_lent = |it: &&Profile<'_>| it.section.get("source_profile").is_some();
    for profile in profiles.iter().filter(is_lent) {
        profile.borrows(reading, &by_name);
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
    let Some(default) = values::default_mode(reading, profile, generation) else {
        return;
    };
    let said = profile.mode().map(|entry| values::mode(reading, entry));
    let mode = match said {
        None | Some(Said::Unknown(_)) => default,
        Some(Said::Is(mode)) => mode,
        Some(Said::Refused) => return,
    };
    let policy = mode.policy(generation);
    let most = profile
        .attempts()
        .map(|entry| values::attempts(reading, entry));
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
        let why = "a profile inherits nothing from it";
        draft.lose("[default]", why, Some(profile.section.span));
    }
    let name = format!("profile {}", profile.name);
    if let Some(span) = profile.says() {
        overridden(reading, span, &name, generation);
    }
    let span = profile.says().unwrap_or(profile.section.span);
    reading.map(draft, name, Vec::new(), span);
}

/// Which of the keys the mode has.
fn keys(mode: Mode) -> &'static [&'static str] {
    match mode {
        Mode::Legacy => list!("attempts base cap jitter hint budget attempt_timeout retry_on"),
        Mode::Standard => {
            list!("attempts base throttled_base cap jitter hint budget attempt_timeout retry_on")
        }
        Mode::Adaptive => KEYS,
    }
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
