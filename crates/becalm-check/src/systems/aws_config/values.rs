//! How does botocore read the values of a profile?
//!
//! `botocore/args.py`, `config.py` and `session.py`: what it does not understand ends the making of a client.

use becalm::Policy;

use super::ini::Entry;
use super::mode::{Generation, MODES, Mode};
use super::profiles::Profile;
use crate::code;
use crate::meant::nearest;
use crate::reading::{Later, Reading};
use crate::template;

/// What the value of a name is.
pub enum Said<T> {
    Is(T),
    /// A placeholder, of which there is a finding.
    Unknown(String),
    /// Nothing comes of the profile; there is a finding.
    Refused,
}

/// All `defaults_mode`s but `legacy` have the mode `standard`; `None` where botocore refuses the value, or what it makes of it is not known here.
pub fn default_mode(
    reading: &mut Reading<'_>,
    profile: &Profile<'_>,
    generation: Generation,
) -> Option<Mode> {
    let default = Mode::default_of(generation);
    let Some(entry) = profile.defaults() else {
        return Some(default);
    };
    if !entry.below.is_empty() {
        corner::<Mode>(reading, entry);
        return None;
    }
    let known = ["standard", "in-region", "cross-region", "mobile", "auto"];
    match &*entry.value.to_lowercase() {
        "legacy" => Some(default),
        text if known.contains(&text) => Some(Mode::Standard),
        text if template::is_placeholder(text) => Some(default),
        text => {
            let sentence = format!("botocore makes no client with a defaults_mode of `{text}`");
            let remedy = Later(|| {
                nearest(text, known).map_or_else(
                    || format!("the modes are legacy, {}", known.join(", ")),
                    |meant| format!("did you mean `{meant}`?"),
                )
            });
            reading.find(entry.span, code::REFUSED, sentence, remedy);
            None
        }
    }
}

pub fn mode(reading: &mut Reading<'_>, entry: &Entry) -> Said<Mode> {
    let text = entry.value.clone();
    if !entry.below.is_empty() {
        return corner(reading, entry);
    }
    if let Some(mode) = Mode::by_name(&text) {
        return Said::Is(mode);
    }
    if template::is_placeholder(&text) {
        return unknown(reading, entry, text, "a retry mode");
    }
    let remedy = Later(|| {
        nearest(&text.to_lowercase(), MODES).map_or_else(
            || format!("the modes are {}", MODES.join(", ")),
            |meant| format!("write `retry_mode = {meant}`"),
        )
    });
    let sentence = format!("botocore makes no client with a retry_mode of `{text}`");
    reading.find(entry.span, code::REFUSED, sentence, remedy);
    Said::Refused
}

pub fn attempts(reading: &mut Reading<'_>, entry: &Entry) -> Said<u32> {
    let text = entry.value.clone();
    let number = number(&text);
    // Python reads `+3` and `1_0` as numbers, too.
    let is_corner = |it: char| it.is_ascii_digit() || "+_".contains(it);
    if !entry.below.is_empty()
        || number.is_none() && !text.is_empty() && text.chars().all(is_corner)
    {
        return corner(reading, entry);
    }
    match number {
        Some(most) if most > 0 => Said::Is(most),
        None if template::is_placeholder(&text) => {
            unknown(reading, entry, text, "a number of attempts")
        }
        _ => {
            let sentence = format!(
                "botocore makes no client with max_attempts of `{text}`: it wants a whole number of at least 1, the first attempt included"
            );
            let remedy = if number.is_some() || text.starts_with('-') {
                "write 1 to switch retries off"
            } else {
                "write the number alone: what stands behind it is no comment"
            };
            reading.find(entry.span, code::REFUSED, sentence, remedy);
            Said::Refused
        }
    }
}

/// A whole number, of digits alone; one that is too large is the largest.
fn number(text: &str) -> Option<u32> {
    let is_plain = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let most = Policy::UNLIMITED - 1;
    is_plain.then(|| text.parse().map_or(most, |it: u32| it.min(most)))
}

/// A value of a form whose meaning is not known here.
fn corner<T>(reading: &mut Reading<'_>, entry: &Entry) -> Said<T> {
    let name = &entry.name;
    let sentence = format!("what botocore makes of this value of `{name}` is not known here");
    let remedy = "write it plainly, on one line";
    reading.find(entry.span, code::NOT_KNOWN, sentence, remedy);
    Said::Refused
}

fn unknown<T>(reading: &mut Reading<'_>, entry: &Entry, text: String, form: &str) -> Said<T> {
    reading.told_text(Some(&text), entry.span, form, |_| None::<T>);
    Said::Unknown(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_its_digits() {
        for (text, read) in [
            ("3", Some(3)),
            ("03", Some(3)),
            ("0", Some(0)),
            ("99999999999999999999", Some(Policy::UNLIMITED - 1)),
            ("", None),
            ("+3", None),
            ("1_0", None),
            ("-3", None),
            ("3.0", None),
        ] {
            assert_eq!(number(text), read, "{text}");
        }
    }
}
