//! How long is it, in which unit?
//!
//! No unit is guessed: a number says none, and somebody else says it, or the text has it behind the number.

use super::number::{MILLISECOND, SECOND, micros};

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// `s`
    Seconds,
    /// Seconds of a program that never writes them without a decimal point: without one, it was told to write another unit.
    DecimalSeconds,
    /// `ms`
    Millis,
    /// `us`
    Micros,
    /// `ns`
    Nanos,
}

impl Unit {
    /// The unit of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "s" => Some(Self::Seconds),
            "ms" => Some(Self::Millis),
            "us" | "µs" | "μs" => Some(Self::Micros),
            "ns" => Some(Self::Nanos),
            _ => None,
        }
    }

    /// Its name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Seconds | Self::DecimalSeconds => "s",
            Self::Millis => "ms",
            Self::Micros => "us",
            Self::Nanos => "ns",
        }
    }

    /// Microseconds of a decimal number in this unit; further digits are cut off.
    pub(super) fn micros(self, text: &[u8]) -> Option<u64> {
        match self {
            Self::DecimalSeconds if !has_point(text) => None,
            Self::Seconds | Self::DecimalSeconds => micros(text, SECOND),
            Self::Millis => micros(text, MILLISECOND),
            Self::Micros => micros(text, 1),
            Self::Nanos => micros(text, 1).map(|nanos| nanos / 1_000),
        }
    }
}

/// Whether it has a decimal point, or is nothing, which is nothing in any unit.
pub fn has_point(text: &[u8]) -> bool {
    text == b"0" || text.contains(&b'.')
}

/// Microseconds of a text that says its units itself: `0.012s`, `17ms`, `1m2.5s`, as Go and protocol buffers write them,
/// `00:00:00.012` of .NET, and `PT0.012S` of ISO 8601.
pub fn with_units(text: &str) -> Option<u64> {
    let text = text.trim();
    if let Some(parts) = text.strip_prefix("PT") {
        return with_letters(parts);
    }
    if text.contains(':') {
        return as_clock(text);
    }
    let mut sum = 0_u64;
    let mut rest = text;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|it: char| !it.is_ascii_digit() && it != '.')?;
        let (number, behind) = rest.split_at(digits);
        let unit = behind.find(|it: char| it.is_ascii_digit());
        let (unit, behind) = behind.split_at(unit.unwrap_or(behind.len()));
        let each = match unit.trim() {
            "h" => micros(number.as_bytes(), 3_600 * SECOND),
            "m" => micros(number.as_bytes(), 60 * SECOND),
            name => Unit::named(name)?.micros(number.as_bytes()),
        };
        sum = sum.checked_add(each.filter(|_| !number.is_empty())?)?;
        rest = behind;
    }
    Some(sum)
}

/// `1H2M3.5S`
fn with_letters(text: &str) -> Option<u64> {
    let parts = text.split_inclusive(|it: char| !it.is_ascii_digit() && it != '.');
    let each = parts.map(|part| {
        let (number, unit) = [("H", 3_600), ("M", 60), ("S", 1)]
            .into_iter()
            .find_map(|(letter, seconds)| Some((part.strip_suffix(letter)?, seconds)))?;
        micros(number.as_bytes(), unit * SECOND)
    });
    let sum = each.reduce(|sum, more| sum?.checked_add(more?));
    sum.flatten()
}

/// `1:02:03.5`
fn as_clock(text: &str) -> Option<u64> {
    let mut parts = text.split(':');
    let mut sum = 0_u64;
    for seconds in [3_600, 60, 1] {
        let part = parts.next().filter(|it| !it.is_empty())?;
        if seconds > 1 && part.contains('.') {
            return None;
        }
        sum = sum.checked_add(micros(part.as_bytes(), seconds * SECOND)?)?;
    }
    parts.next().is_none().then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_unit_that_somebody_says() {
        for (name, text, micros) in [
            ("s", "0.017", Some(17_000)),
            ("ms", "17", Some(17_000)),
            ("us", "17000.9", Some(17_000)),
            ("ns", "17000999", Some(17_000)),
            ("ns", "", None),
        ] {
            let unit = Unit::named(name).expect("a unit");
            assert_eq!(unit.micros(text.as_bytes()), micros, "{text} {name}");
        }
        assert_eq!(Unit::named("sec"), None);
        let decimal = ["0.017", "17", "0"].map(|it| Unit::DecimalSeconds.micros(it.as_bytes()));
        assert_eq!(decimal, [Some(17_000), None, Some(0)]);
    }

    #[test]
    fn a_text_may_say_its_units_itself() {
        for (text, micros) in [
            ("0.017s", Some(17_000)),
            ("17ms", Some(17_000)),
            ("17 ms", Some(17_000)),
            ("17µs", Some(17)),
            ("1m2.5s", Some(62_500_000)),
            ("1h0m0.5s", Some(3_600_500_000)),
            ("00:00:00.0123", Some(12_300)),
            ("1:02:03.5", Some(3_723_500_000)),
            ("PT0.012S", Some(12_000)),
            ("PT1H2M3.5S", Some(3_723_500_000)),
            ("00:00", None),
            ("0.5:00:00", None),
            ("1:00:00:00", None),
            ("0:00:-1", None),
            ("::1", None),
            ("PT", None),
            ("PT5", None),
            ("PT1S2", None),
            ("PT5MS", None),
            ("PT5µ", None),
            ("17", None),
            ("", None),
            ("ms", None),
            ("17 parsecs", None),
            ("-1s", None),
        ] {
            assert_eq!(with_units(text), micros, "{text}");
        }
    }
}
