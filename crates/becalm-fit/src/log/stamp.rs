//! When was it, as a log writes it?

use super::number::{SECOND, micros, whole_number};
use super::unit::Unit;

/// A moment of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Microseconds since the Unix epoch.
    pub micros: i64,
}

/// The first second of the year 2200: nobody's log, but somebody's milliseconds.
const LATEST: u64 = 7_258_118_400;
/// A second of the year 2001: what is earlier as milliseconds is later as seconds.
const EARLIEST: u64 = 1_000_000_000;

impl Stamp {
    /// Seconds since the epoch (`1700000000.123`), RFC 3339 (`2026-11-23T11:02:31.123Z`, also with a space for the `T`, and
    /// without a zone, or with ` UTC` as zone, in UTC), or the common log format with its relatives (`23/Nov/2026:11:02:31 +0000`,
    /// `23/Nov/2026:11:02:31.123`), with brackets around it or not.
    pub fn read(text: &[u8]) -> Option<Self> {
        let bare = text.strip_prefix(b"[").and_then(|it| it.strip_suffix(b"]"));
        let text = bare.unwrap_or(text);
        match (text.get(2), text.get(4)) {
            (Some(b'/'), _) => common(text),
            (_, Some(b'-')) => rfc3339(text),
            _ => {
                let micros = micros(text, SECOND)?;
                Self::of(micros, 0)
            }
        }
    }

    /// Digits in a unit of this many microseconds.
    pub fn in_unit(text: &[u8], unit: u64) -> Option<Self> {
        Self::of(micros(text, unit)?, 0)
    }

    /// Microseconds since the epoch.
    pub fn of_micros(micros: u64) -> Option<Self> {
        Self::of(micros, 0)
    }

    /// Seconds, milliseconds, microseconds or nanoseconds since the epoch, and this century leaves one of them.
    pub fn by_size(text: &[u8]) -> Option<Self> {
        let end = text.iter().position(|byte| *byte == b'.');
        let whole = whole_number(&text[..end.unwrap_or(text.len())])?;
        let units = [
            (1, Unit::Seconds),
            (1_000, Unit::Millis),
            (1_000_000, Unit::Micros),
            (1_000_000_000, Unit::Nanos),
        ];
        let of_size = |(each, _): &(u64, Unit)| (EARLIEST..LATEST).contains(&(whole / each));
        let (_, unit) = units.into_iter().find(of_size)?;
        Self::of(unit.micros(text)?, 0)
    }

    /// The one of these two, both of one moment, that tells more of it; the other one, if both tell as much.
    pub const fn finer(self, other: Self) -> Self {
        if self.step() < other.step() {
            self
        } else {
            other
        }
    }

    /// In what steps it may have been told, in microseconds.
    const fn step(self) -> i64 {
        match self.micros {
            micros if micros % 1_000_000 == 0 => 1_000_000,
            micros if micros % 1_000 == 0 => 1_000,
            _ => 1,
        }
    }

    fn of(micros: u64, zone: i64) -> Option<Self> {
        if micros >= LATEST * SECOND {
            return None;
        }
        let micros = i64::try_from(micros).ok()?.checked_sub(zone * 1_000_000)?;
        Some(Self { micros })
    }
}

/// How many bytes this moment takes at least, where a space may stand inside of it.
pub fn inner_space(text: &[u8]) -> usize {
    if let [b'[', text @ ..] = text {
        return inner_space(text);
    }
    let has_zone = text.get(2) == Some(&b'/')
        && text.get(20) == Some(&b' ')
        && matches!(text.get(21), Some(b'+' | b'-'));
    if has_zone {
        return 26;
    }
    if text.get(4) == Some(&b'-') && text.get(10) == Some(&b' ') {
        return 19;
    }
    0
}

/// `23/Nov/2026:11:02:31`, and then a zone, a fraction or nothing.
fn common(text: &[u8]) -> Option<Stamp> {
    if text.len() < 20 || [text[6], text[11], text[14], text[17]] != *b"/:::" {
        return None;
    }
    let month = MONTHS.iter().position(|name| **name == text[3..6])?;
    let date = days(
        whole_number(&text[7..11])?,
        u64::try_from(month).ok()? + 1,
        whole_number(&text[..2])?,
    )?;
    let clock = clock(&text[12..20])?;
    let (fraction, rest) = fraction(&text[20..])?;
    let zone = match rest {
        [] => 0,
        [b' ', rest @ ..] => zone(rest)?,
        _ => return None,
    };
    Stamp::of((date * 86_400 + clock) * SECOND + fraction, zone)
}

/// `2026-11-23T11:02:31.123+01:00`
fn rfc3339(text: &[u8]) -> Option<Stamp> {
    if text.len() < 19
        || text[7] != b'-'
        || !matches!(text[10], b'T' | b't' | b' ')
        || [text[13], text[16]] != *b"::"
    {
        return None;
    }
    let date = days(
        whole_number(&text[..4])?,
        whole_number(&text[5..7])?,
        whole_number(&text[8..10])?,
    )?;
    let clock = clock(&text[11..19])?;
    let (fraction, rest) = fraction(&text[19..])?;
    let zone = match rest {
        [] | b"Z" | b"z" => 0,
        rest => zone(rest.strip_prefix(b" ").unwrap_or(rest))?,
    };
    Stamp::of((date * 86_400 + clock) * SECOND + fraction, zone)
}

/// `11:02:31` as seconds; a leap second is one.
fn clock(text: &[u8]) -> Option<u64> {
    let (hours, minutes, seconds) = (
        whole_number(&text[..2])?,
        whole_number(&text[3..5])?,
        whole_number(&text[6..8])?,
    );
    let is_clock = hours < 24 && minutes < 60 && seconds <= 60;
    is_clock.then(|| hours * 3600 + minutes * 60 + seconds)
}

/// Microseconds of `.123` or `,123`, and what stands behind them.
fn fraction(text: &[u8]) -> Option<(u64, &[u8])> {
    let Some((b'.' | b',', digits)) = text.split_first() else {
        return Some((0, text));
    };
    let end = digits.iter().position(|byte| !byte.is_ascii_digit());
    let (digits, rest) = digits.split_at(end.unwrap_or(digits.len()));
    let kept = &digits[..digits.len().min(6)];
    let missing = u32::try_from(6 - kept.len()).ok()?;
    let is_fraction = !digits.is_empty();
    is_fraction.then_some(())?;
    Some((whole_number(kept)? * 10_u64.pow(missing), rest))
}

/// Seconds of `+0100`, `+01:00`, `Z` or `UTC`.
fn zone(text: &[u8]) -> Option<i64> {
    let (sign, hours, minutes) = match text {
        b"Z" | b"z" | b"UTC" | b"GMT" => return Some(0),
        [sign, hours @ .., b':', tens, ones] if hours.len() == 2 => (sign, hours, [*tens, *ones]),
        [sign, hours @ .., tens, ones] if hours.len() == 2 => (sign, hours, [*tens, *ones]),
        _ => return None,
    };
    let seconds = i64::try_from(whole_number(hours)? * 3600 + whole_number(&minutes)? * 60).ok()?;
    match sign {
        b'+' => Some(seconds),
        b'-' => Some(-seconds),
        _ => None,
    }
}

/// Days since the epoch, by the Gregorian calendar (H. Hinnant, "chrono-compatible low-level date algorithms", `days_from_civil`).
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1970..2200).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year / 400, year % 400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let of_era = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    Some(era * 146_097 + of_era - 719_468)
}

const MONTHS: [&[u8; 3]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ways_to_write_one_moment() {
        // 2026-11-23 11:02:31 UTC.
        const MOMENT: i64 = 1_795_431_751;
        for (text, micros) in [
            ("1795431751", 0),
            ("1795431751.000", 0),
            ("1795431751.123", 123_000),
            ("2026-11-23T11:02:31Z", 0),
            ("2026-11-23T11:02:31.123Z", 123_000),
            ("2026-11-23 11:02:31,123", 123_000),
            ("2026-11-23 11:02:31.123 UTC", 123_000),
            ("2026-11-23T12:02:31.123456789+01:00", 123_456),
            ("2026-11-23T06:02:31.5-0500", 500_000),
            ("23/Nov/2026:11:02:31 +0000", 0),
            ("[23/Nov/2026:12:32:31 +0130]", 0),
            ("23/Nov/2026:11:02:31.655", 655_000),
        ] {
            let expected = Stamp {
                micros: MOMENT * 1_000_000 + micros,
            };
            assert_eq!(Stamp::read(text.as_bytes()), Some(expected), "{text}");
        }
        let leap = Stamp::read(b"2024-02-29T00:00:00Z").unwrap();
        assert_eq!(leap.micros, 1_709_164_800_000_000);
    }

    #[test]
    fn anything_else_is_none() {
        for text in [
            "",
            "-",
            "1795431751123",
            "23/Nov/2026",
            "23/Foo/2026:11:02:31 +0000",
            "23/Nov/2026:25:02:31 +0000",
            "23/Nov/2026:11:02:31+0000",
            "2026-13-23T11:02:31Z",
            "2026-11-23T11:02:31.Z",
            "2026-11-23T11:02:31+1",
            "2026-11-23",
            "1600-11-23T11:02:31Z",
        ] {
            assert_eq!(Stamp::read(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_space_inside_a_moment_is_a_part_of_it() {
        assert_eq!(inner_space(b"23/Nov/2026:11:02:31 +0000 200"), 26);
        assert_eq!(inner_space(b"2026-11-23 11:02:31 200"), 19);
        assert_eq!(inner_space(b"1795431751.123 200"), 0);
    }
}
