//! How is a duration written by a human, and read back?
//!
//! `"300us"`, `"250ms"`, `"1.5s"`, `"2m"`, `"1h"`, `"1m30s"`: the same grammar in flags, policy
//! files and messages.

use crate::reasons::reasons;
use core::time::Duration;

reasons! {
    /// Why a text is not a duration.
    InvalidDuration;
    /// The text holds no number.
    Empty: "the duration is empty; write a number and a unit, such as 250ms";
    /// A number has no unit behind it.
    MissingUnit: "the duration has no unit; write 250ms, 1.5s or 2m";
    /// The unit is none of `ns`, `us`, `ms`, `s`, `m`, `h`, `d`.
    UnknownUnit: "the unit is not one of ns, us, ms, s, m, h, d";
    /// Something that is not a decimal number stands where a number must.
    NotANumber: "the duration does not start with a number; write 250ms, 1.5s or 2m";
    /// The value is beyond what a [`Duration`] of `u64` nanoseconds holds (about 584 years).
    TooLong: "the duration is too long; the longest is about 584 years";
}

/// Reads a duration such as `"250ms"`, `"1.5s"` or `"1m30s"`.
///
/// A bare `"0"` needs no unit. Digits below a nanosecond are dropped.
///
/// # Errors
///
/// [`InvalidDuration`] says what is wrong and what to write instead.
///
/// ```
/// use core::time::Duration;
/// assert_eq!(becalm::duration::parse("1.5s"), Ok(Duration::from_millis(1500)));
/// assert!(becalm::duration::parse("90").is_err());
/// ```
pub fn parse(text: &str) -> Result<Duration, InvalidDuration> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(InvalidDuration::Empty);
    }
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    let mut nanos: u128 = 0;
    while !rest.is_empty() {
        let (part, behind) = parse_part(rest)?;
        nanos = nanos.saturating_add(part);
        rest = behind.trim_start();
    }
    u64::try_from(nanos)
        .map(Duration::from_nanos)
        .map_err(|_| InvalidDuration::TooLong)
}

/// One number with its unit, in nanoseconds, and the text behind it.
fn parse_part(text: &str) -> Result<(u128, &str), InvalidDuration> {
    let number_end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, behind) = text.split_at(number_end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return Err(InvalidDuration::NotANumber);
    }
    let behind = behind.trim_start();
    let unit_end = behind
        .find(|c: char| c.is_ascii_digit() || c == '.' || c.is_whitespace())
        .unwrap_or(behind.len());
    let (unit, rest) = behind.split_at(unit_end);
    let scale: u128 = match unit {
        "" => return Err(InvalidDuration::MissingUnit),
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" | "min" => 60 * 1_000_000_000,
        "h" => 3_600 * 1_000_000_000,
        "d" => 86_400 * 1_000_000_000,
        _ => return Err(InvalidDuration::UnknownUnit),
    };
    let whole: u64 = match whole {
        "" => 0,
        digits => digits.parse().map_err(|_| InvalidDuration::TooLong)?,
    };
    let mut nanos = u128::from(whole) * scale;
    let mut place = scale;
    for digit in fraction.bytes() {
        place /= 10;
        nanos += u128::from(digit - b'0') * place;
    }
    Ok((nanos, rest))
}

/// Nanoseconds of a duration, saturating at `u64::MAX` (about 584 years).
#[doc(hidden)]
pub fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::human::Human;
    use alloc::string::ToString;
    use proptest::prelude::*;

    #[test]
    fn reads_what_the_command_line_documents() {
        for (text, nanos) in [
            ("300us", 300_000),
            ("250ms", 250_000_000),
            ("1.5s", 1_500_000_000),
            ("2m", 120_000_000_000),
            ("1m30s", 90_000_000_000),
            (".5s", 500_000_000),
            ("0", 0),
            ("1 h", 3_600_000_000_000),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn refuses_with_a_reason() {
        for (text, reason) in [
            ("", InvalidDuration::Empty),
            ("90", InvalidDuration::MissingUnit),
            ("90x", InvalidDuration::UnknownUnit),
            ("-1s", InvalidDuration::NotANumber),
            ("1.2.3s", InvalidDuration::NotANumber),
            ("soon", InvalidDuration::NotANumber),
            ("99999999999999999999s", InvalidDuration::TooLong),
            ("600000d", InvalidDuration::TooLong),
        ] {
            assert_eq!(parse(text), Err(reason), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_displayed_is_read_back(nanos: u64) {
            let duration = Duration::from_nanos(nanos);
            prop_assert_eq!(parse(&Human(duration).to_string()), Ok(duration));
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = parse(&text);
        }
    }
}
