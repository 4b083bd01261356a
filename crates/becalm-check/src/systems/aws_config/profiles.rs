//! Which sections of a file are profiles, and what do they say about retrying?
//!
//! `build_profile_map` of `botocore/configloader.py`.

use std::collections::HashMap;

use super::ini::{Entry, SHARED, Section, sections};
use crate::code;
use crate::document::{Document, Span};
use crate::meant::nearest;
use crate::meant::slip_of;
use crate::reading::{Later, Reading};

/// A profile, which inherits nothing from another.
#[derive(Debug, Clone, Copy)]
pub struct Profile<'s> {
    pub name: &'s str,
    pub section: &'s Section,
}

/// What this is about.
const KEYS: [&str; 3] = ["retry_mode", "max_attempts", "defaults_mode"];

impl<'s> Profile<'s> {
    pub fn mode(&self) -> Option<&'s Entry> {
        self.section.get(KEYS[0])
    }

    pub fn attempts(&self) -> Option<&'s Entry> {
        self.section.get(KEYS[1])
    }

    pub fn defaults(&self) -> Option<&'s Entry> {
        self.section.get(KEYS[2])
    }

    /// Where it says anything about retrying.
    pub fn says(&self) -> Option<Span> {
        let said = [self.mode(), self.attempts(), self.defaults()];
        said.into_iter().flatten().map(|it| it.span).next()
    }
}

impl Profile<'_> {
    /// Tells of what a profile that lends its credentials says of retrying (`assume_role` of `botocore/credentials.py` takes no
    /// other key of it).
    pub fn borrows(&self, reading: &mut Reading<'_>, all: &HashMap<&str, &Section>) {
        let Some(source) = self.section.get("source_profile") else {
            return;
        };
        let lender = all
            .get(&*source.value)
            .map_or(&[][..], |it| &it.entries[..]);
        let mut said = lender
            .iter()
            .filter(|it| KEYS.contains(&&*it.name) && self.section.get(&it.name).is_none());
        if let Some(entry) = said.next() {
            let sentence = format!(
                "`source_profile` takes the credentials of `{}` alone: its `{}` does not hold for `{}`",
                source.value, entry.name, self.name
            );
            let remedy = format!(
                "write `{} = {}` in this profile, if it is meant",
                entry.name, entry.value
            );
            reading.note(source.span, code::KEY_NOT_READ, sentence, remedy);
        }
    }

    /// Whether the credentials among the files say all that it says: `Session.full_config` of botocore takes each key of theirs in
    /// place of that of the config.
    pub fn is_overridden(&self, reading: &mut Reading<'_>, by: &Credentials<'_>) -> bool {
        let Some((file, other)) = by.0.get(self.name) else {
            return false;
        };
        let said = KEYS.iter().filter_map(|key| self.section.get(key));
        let (taken, left): (Vec<_>, Vec<_>) = said.partition(|it| other.get(&it.name).is_some());
        for entry in &taken {
            let sentence = format!(
                "botocore takes `{}` of the profile `{}` from {file}, which overrides this file",
                entry.name, self.name
            );
            reading.find(entry.span, code::OVERRIDDEN, sentence, "keep one of them");
        }
        !taken.is_empty() && left.is_empty()
    }
}

/// The sections of the credentials in the folder of a config by their names, each with its file: of several files the first has it.
pub struct Credentials<'a>(HashMap<String, (&'a str, Section)>);

impl<'a> Credentials<'a> {
    /// Those that stand beside a config; none beside themselves.
    pub fn beside(document: &Document<'a>) -> Self {
        let is_own = |file: &str| file.ends_with("credentials");
        let folder = |file: &'a str| file.rsplit_once(['/', '\\']).map(|it| it.0);
        let mut files: Vec<_> = document.together.iter().collect();
        files.retain(|it| {
            is_own(it.file) && !is_own(document.file) && folder(it.file) == folder(document.file)
        });
        let all = files.into_iter().rev().flat_map(|it| {
            let all = sections(it.text).unwrap_or_default().into_iter();
            all.map(|section| (section.name.clone(), (it.file, section)))
        });
        Self(all.collect())
    }
}

/// The profiles of a file, the last of each name; what looks like one and is none becomes a finding.
pub fn profiles<'s>(reading: &mut Reading<'_>, sections: &'s [Section]) -> Vec<Profile<'s>> {
    let is_credentials = reading.document.file.ends_with("credentials");
    let mut profiles: Vec<Profile<'s>> = Vec::new();
    let mut places = HashMap::new();
    let mut shared = sections.iter().filter(|it| it.name == SHARED);
    if let Some(entry) = shared.find_map(said) {
        let sentence = format!(
            "`{}` in `[{SHARED}]` is of each profile that does not say it itself, as Python's configparser has it: what the profiles say is not known here",
            entry.name
        );
        let remedy = "move it to the profiles";
        reading.find(entry.span, code::NOT_KNOWN, sentence, remedy);
        return profiles;
    }
    for section in sections.iter().filter(|it| it.name != SHARED) {
        slips(reading, section);
        let name = match &*section.name {
            name if is_credentials || name == "default" => Some(name),
            name if name.starts_with("profile") => named(name),
            _ => None,
        };
        let Some(name) = name else {
            no_profile(reading, section);
            continue;
        };
        let profile = Profile { name, section };
        let at = *places.entry(name).or_insert(profiles.len());
        let Some(before) = profiles.get_mut(at) else {
            profiles.push(profile);
            continue;
        };
        let sentence = format!(
            "botocore reads the profile `{name}` of `[{}]` in place of this one",
            section.name
        );
        let span = std::mem::replace(before, profile).section.span;
        reading.find(span, code::KEY_NOT_READ, sentence, "keep one of them");
    }
    profiles
}

/// The name behind the word `profile`, as `shlex` takes words apart, of which quotes alone are in use.
fn named(section: &str) -> Option<&str> {
    let (_, name) = section.split_once(char::is_whitespace)?;
    let name = name.trim();
    let quoted = ['"', '\''].iter().find_map(|quote| {
        let inner = name.strip_prefix(*quote)?.strip_suffix(*quote)?;
        Some(inner).filter(|it| !it.contains(*quote))
    });
    let is_word = !name.contains(|it: char| it.is_whitespace() || "\"'\\".contains(it));
    quoted.or_else(|| Some(name).filter(|_| is_word && !name.is_empty()))
}

fn said(section: &Section) -> Option<&Entry> {
    KEYS.iter().find_map(|key| section.get(key))
}

fn no_profile(reading: &mut Reading<'_>, section: &Section) {
    let Some(entry) = said(section) else {
        return;
    };
    let sentence = format!(
        "`[{}]` is no profile, so that `{}` is not read",
        section.name, entry.name
    );
    let is_other = ["sso-session", "services"]
        .iter()
        .any(|it| section.name.starts_with(it));
    let remedy = if is_other || section.name.starts_with("profile") {
        "move it to a profile: `[default]`, or `[profile NAME]` with one name".to_owned()
    } else {
        format!("write `[profile {}]`", section.name)
    };
    reading.find(entry.span, code::KEY_NOT_READ, sentence, remedy);
}

/// Lines that seem to be about retrying, and are not read.
fn slips(reading: &mut Reading<'_>, section: &Section) {
    for entry in &section.entries {
        for (line, span) in &entry.below {
            let name = line.split('=').next().unwrap_or_default().trim();
            if KEYS.contains(&name) {
                let sentence = format!(
                    "`{name}` is indented, and so a part of `{}` above it",
                    entry.name
                );
                let remedy = "begin it at the margin";
                reading.find(*span, code::KEY_NOT_READ, sentence, remedy);
            }
        }
        let is_near = ["retry", "retries", "attempt"]
            .iter()
            .any(|it| entry.name.contains(it));
        let is_near = is_near || slip_of(&entry.name, &KEYS).is_some();
        if is_near && !KEYS.contains(&&*entry.name) {
            let remedy = Later(|| {
                nearest(&entry.name, KEYS).map_or_else(
                    || "the names are `retry_mode` and `max_attempts`".to_owned(),
                    |meant| format!("did you mean `{meant}`?"),
                )
            });
            let sentence = format!("botocore does not read `{}`", entry.name);
            reading.find(entry.span, code::KEY_NOT_READ, sentence, remedy);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_profile_is_one_word() {
        for (section, name) in [
            ("profile batch", Some("batch")),
            ("profile\t batch", Some("batch")),
            ("profile \"my batch\"", Some("my batch")),
            ("profile 'my batch'", Some("my batch")),
            ("profile my batch", None),
            ("profile \"my", None),
            ("profile", None),
            ("profile ", None),
        ] {
            assert_eq!(named(section), name, "{section}");
        }
    }
}
