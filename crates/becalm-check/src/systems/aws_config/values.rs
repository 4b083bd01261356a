//! How does botocore read the values of a profile?
//!
//! `botocore/args.py`, `config.py` and `session.py`: what it does not understand ends the making of a client.

use becalm::Policy;
use becalm::support::nearest;

use super::ini::Entry;
use super::mode::{Generation, MODES, Mode};
use super::profiles::Profile;
use crate::code;
use crate::reading::Reading;
use crate::template;

/// What the value of a name is.
pub enum Said<T> {
    Is(T),
    /// A placeholder, of which there is a finding.
    Unknown(String),
    /// There is a finding.
    Refused,
}

/// All `defaults_mode`s but `legacy` have the mode `standard`; `None` where botocore refuses the value.
pub fn default_mode(
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
            let remedy = nearest(text, known).map_or_else(
                || format!("the modes are legacy, {}", known.join(", ")),
                |meant| format!("did you mean `{meant}`?"),
            );
            reading.find(entry.span, code::REFUSED, sentence, remedy);
            None
        }
    }
}

pub fn mode(reading: &mut Reading<'_>, entry: &Entry) -> Said<Mode> {
    let text = entry.text().unwrap_or_default();
    if let Some(mode) = Mode::by_name(&text) {
        return Said::Is(mode);
    }
    if template::is_placeholder(&text) {
        return unknown(reading, entry, text, "a retry mode");
    }
    let meant = nearest(&text.to_lowercase(), MODES);
    let remedy = meant.map_or_else(
        || format!("the modes are {}", MODES.join(", ")),
        |meant| format!("write `retry_mode = {meant}`"),
    );
    let sentence = format!("botocore makes no client with a retry_mode of `{text}`");
    reading.find(entry.span, code::REFUSED, sentence, remedy);
    Said::Refused
}

pub fn attempts(reading: &mut Reading<'_>, entry: &Entry) -> Said<u32> {
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
