//! Which second does an HTTP date mean?
//!
//! The three forms that a recipient must accept (RFC 9110 section 5.6.7), case-sensitive and in
//! GMT only. Own code instead of a crate because the century of a two-digit year depends on the
//! caller's clock, a leap second is legal, and the core has no standard library.

use core::time::Duration;

const SHORT_WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const LONG_WEEKDAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
const DAYS_IN_MONTH: [u64; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const SECONDS_IN_DAY: u64 = 86_400;
/// The mean length of a year, 365.2425 days.
const SECONDS_IN_YEAR: u64 = 31_556_952;
/// The last year that four digits can write.
const LAST_YEAR: u64 = 9999;

/// The time since the Unix epoch of an HTTP date: IMF-fixdate, RFC 850 or asctime.
///
/// `now`, also since the Unix epoch, gives the century of RFC 850's two-digit year: the latest
/// one that is not more than 50 years ahead. A date before 1970 reads as 1970. Second 60 is the
/// first of the next minute. The name of the weekday must be one, but need not be the right one:
/// the grammar does not ask for it, and the rest of the date is unambiguous. Text that is none of
/// the three forms, or a day that does not exist, is `None`.
///
/// ```
/// use core::time::Duration;
/// let date = becalm::hint::http_date("Sun, 06 Nov 1994 08:49:37 GMT", Duration::ZERO);
/// assert_eq!(date, Some(Duration::from_secs(784_111_777)));
/// ```
pub fn http_date(text: &str, now: Duration) -> Option<Duration> {
    let date = Civil::from_imf_fixdate(text)
        .or_else(|| Civil::from_rfc_850(text, now.as_secs()))
        .or_else(|| Civil::from_asctime(text))?;
    date.unix_seconds().map(Duration::from_secs)
}

/// A date and time of the calendar, its fields in range; the month may be too short for the day.
#[derive(Clone, Copy)]
struct Civil {
    year: u64,
    /// From 0.
    month: usize,
    /// 1 to 31.
    day: u64,
    /// Up to 86 400: a leap second.
    second_of_day: u64,
}

impl Civil {
    /// `Sun, 06 Nov 1994 08:49:37 GMT`
    fn from_imf_fixdate(text: &str) -> Option<Self> {
        let (weekday, rest) = text.split_once(", ")?;
        let [day, month, year, time, zone] = split(rest, ' ')?;
        let known = SHORT_WEEKDAYS.contains(&weekday) && zone == "GMT";
        known.then_some(Self {
            year: number(year, 4)?,
            month: month_index(month)?,
            day: day_of_month(day, 2)?,
            second_of_day: second_of_day(time)?,
        })
    }

    /// `Sunday, 06-Nov-94 08:49:37 GMT`
    fn from_rfc_850(text: &str, now: u64) -> Option<Self> {
        let (weekday, rest) = text.split_once(", ")?;
        let [date, time, zone] = split(rest, ' ')?;
        let [day, month, year] = split(date, '-')?;
        if !LONG_WEEKDAYS.contains(&weekday) || zone != "GMT" {
            return None;
        }
        let in_century = Self {
            year: number(year, 2)?,
            month: month_index(month)?,
            day: day_of_month(day, 2)?,
            second_of_day: second_of_day(time)?,
        };
        Some(in_century.in_century_of(now))
    }

    /// `Sun Nov  6 08:49:37 1994`
    fn from_asctime(text: &str) -> Option<Self> {
        let weekday = text.get(..4)?.strip_suffix(' ')?;
        let month = text.get(4..8)?.strip_suffix(' ')?;
        let day = text.get(8..11)?.strip_suffix(' ')?;
        let [time, year] = split(text.get(11..)?, ' ')?;
        SHORT_WEEKDAYS.contains(&weekday).then_some(Self {
            year: number(year, 4)?,
            month: month_index(month)?,
            day: match day.strip_prefix(' ') {
                Some(digit) => day_of_month(digit, 1)?,
                None => day_of_month(day, 2)?,
            },
            second_of_day: second_of_day(time)?,
        })
    }

    /// The same date in the latest century that puts it at most 50 years after `now`.
    fn in_century_of(self, now: u64) -> Self {
        let this_year = (1970 + now / SECONDS_IN_YEAR).min(LAST_YEAR);
        let latest = this_year + 51;
        let mut year = latest - (latest - self.year) % 100;
        let fifty_years_before = |year| Self {
            year: year - 50,
            ..self
        };
        // The mean year is a day off at most, so one step back is enough.
        if fifty_years_before(year).seconds() > now {
            year -= 100;
        }
        Self { year, ..self }
    }

    /// Seconds since the Unix epoch, 0 before it; `None` if the month has no such day.
    fn unix_seconds(self) -> Option<u64> {
        let leap_day = u64::from(self.month == 1 && is_leap(self.year));
        let days = DAYS_IN_MONTH[self.month] + leap_day;
        (self.day <= days).then(|| self.seconds())
    }

    /// Seconds since the Unix epoch, 0 before it, in the proleptic Gregorian calendar.
    fn seconds(self) -> u64 {
        if self.year < 1970 {
            return 0;
        }
        let leap_days_before = |year: u64| {
            let past = year - 1;
            past / 4 - past / 100 + past / 400
        };
        let leap_days = leap_days_before(self.year) - leap_days_before(1970)
            + u64::from(self.month > 1 && is_leap(self.year));
        let days_of_year = DAYS_IN_MONTH[..self.month].iter().sum::<u64>() + self.day - 1;
        let days = (self.year - 1970) * 365 + leap_days + days_of_year;
        days * SECONDS_IN_DAY + self.second_of_day
    }
}

const fn is_leap(year: u64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// `08:49:37`, where `hh:mm:60` is a leap second.
fn second_of_day(text: &str) -> Option<u64> {
    let [hour, minute, second] = split(text, ':')?;
    let (hour, minute, second) = (number(hour, 2)?, number(minute, 2)?, number(second, 2)?);
    (hour < 24 && minute < 60 && second <= 60).then_some((hour * 60 + minute) * 60 + second)
}

fn day_of_month(text: &str, digits: usize) -> Option<u64> {
    number(text, digits).filter(|day| (1..=31).contains(day))
}

fn month_index(text: &str) -> Option<usize> {
    MONTHS.iter().position(|month| *month == text)
}

/// Exactly this many decimal digits.
fn number(text: &str, digits: usize) -> Option<u64> {
    let all_digits = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| text.parse().ok())?
}

/// Exactly `N` parts.
fn split<const N: usize>(text: &str, separator: char) -> Option<[&str; N]> {
    let mut parts = text.split(separator);
    let mut found = [""; N];
    for slot in &mut found {
        *slot = parts.next()?;
    }
    parts.next().is_none().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::String;
    use proptest::prelude::*;
    use std::time::{SystemTime, UNIX_EPOCH};

    /// 2026-11-20 00:00:00 GMT.
    const NOW: Duration = Duration::from_secs(1_795_132_800);

    fn seconds(text: &str) -> Option<u64> {
        http_date(text, NOW).map(|date| date.as_secs())
    }

    fn by_httpdate(text: &str) -> Option<u64> {
        let date: SystemTime = httpdate::parse_http_date(text).ok()?;
        Some(date.duration_since(UNIX_EPOCH).ok()?.as_secs())
    }

    #[test]
    fn the_three_forms_of_rfc_9110_name_the_same_second() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(seconds(text), Some(784_111_777), "{text}");
        }
    }

    #[test]
    fn a_two_digit_year_is_never_more_than_fifty_years_ahead() {
        let year_of = |two_digits: &str, now: u64| {
            let date = format!("Friday, 20-Nov-{two_digits} 00:00:00 GMT");
            let seconds = http_date(&date, Duration::from_secs(now))?.as_secs();
            Some(1970 + seconds / SECONDS_IN_YEAR)
        };
        let now = NOW.as_secs();
        assert_eq!(year_of("26", now), Some(2026));
        assert_eq!(year_of("76", now), Some(2076), "exactly 50 years ahead");
        assert_eq!(year_of("76", now - 1), Some(1976), "a second more");
        assert_eq!(year_of("77", now), Some(1977));
        let end_of_century = 4_102_444_799; // 2099-12-31 23:59:59
        assert_eq!(year_of("05", end_of_century), Some(2105));
        assert_eq!(year_of("99", end_of_century), Some(2099));
        // On the first of January the mean year lags behind the calendar.
        let new_year = Duration::from_secs(365 * SECONDS_IN_DAY);
        let fifty_years_on = http_date("Friday, 01-Jan-21 00:00:00 GMT", new_year);
        assert_eq!(fifty_years_on, Some(Duration::from_secs(1_609_459_200)));
    }

    #[test]
    fn a_leap_second_is_the_first_of_the_next_minute() {
        let after = seconds("Sun, 01 Jan 2017 00:00:00 GMT");
        assert_eq!(seconds("Sat, 31 Dec 2016 23:59:60 GMT"), after);
        assert_eq!(seconds("Saturday, 31-Dec-16 23:59:60 GMT"), after);
        assert_eq!(seconds("Sat Dec 31 23:59:60 2016"), after);
    }

    #[test]
    fn before_1970_is_1970_and_year_9999_is_the_end() {
        assert_eq!(seconds("Wed, 31 Dec 1969 23:59:59 GMT"), Some(0));
        assert_eq!(seconds("Sat, 01 Jan 0000 00:00:00 GMT"), Some(0));
        assert_eq!(
            seconds("Fri, 31 Dec 9999 23:59:59 GMT"),
            Some(253_402_300_799)
        );
    }

    #[test]
    fn what_the_grammar_excludes_is_no_date() {
        for text in [
            "",
            "soon",
            "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun, 06 Nov 1994 08:49:37 gmt",
            "sun, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 +0000",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 94 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 06 Nov 1994 08:60:37 GMT",
            "Sun, 06 Nov 1994 08:49:61 GMT",
            "Sun, 06 Nov 1994 8:49:37 GMT",
            "Sun,  06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 GMT GMT",
            "Sun, 00 Nov 1994 08:49:37 GMT",
            "Sun, 31 Nov 1994 08:49:37 GMT",
            "Wed, 29 Feb 2023 00:00:00 GMT",
            "Mon, 29 Feb 2100 00:00:00 GMT",
            "Sun, +6 Nov 1994 08:49:37 GMT",
            "Sun, 06-Nov-94 08:49:37 GMT",
            "Sunday, 06-Nov-1994 08:49:37 GMT",
            "Sunday, 00-Nov-94 08:49:37 GMT",
            "Sunday, 06 Nov 94 08:49:37 GMT",
            "Sun Nov 6 08:49:37 1994",
            "Sun Nov  6 08:49:37 1994 GMT",
            "Sun Nov  0 08:49:37 1994",
            "Sunday Nov  6 08:49:37 1994",
            "Sun Nov  é 08:49:37 1994",
            "1994-11-06T08:49:37Z",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
        assert!(seconds("Tue, 29 Feb 2000 00:00:00 GMT").is_some());
    }

    /// The three forms of a second, as another implementation computes its calendar fields.
    fn three_forms(unix_seconds: u64) -> [String; 3] {
        let imf = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(unix_seconds));
        let [short, day, month, year, time, _] = split(&imf, ' ').unwrap();
        let short = short.trim_end_matches(',');
        let long = LONG_WEEKDAYS
            .iter()
            .find(|long| long.starts_with(short))
            .unwrap();
        let padded_day = format!("{:>2}", day.trim_start_matches('0'));
        [
            imf.clone(),
            format!("{long}, {day}-{month}-{} {time} GMT", &year[2..]),
            format!("{short} {month} {padded_day} {time} {year}"),
        ]
    }

    proptest! {
        #[test]
        fn every_second_up_to_9999_is_read_back(unix_seconds in 0..=253_402_300_799_u64) {
            let [imf, rfc_850, asctime] = three_forms(unix_seconds);
            prop_assert_eq!(seconds(&imf), Some(unix_seconds));
            prop_assert_eq!(seconds(&asctime), Some(unix_seconds));
            let there_and_then = http_date(&rfc_850, Duration::from_secs(unix_seconds));
            prop_assert_eq!(there_and_then, Some(Duration::from_secs(unix_seconds)));
        }

        /// They differ by intent in leap seconds, wrong weekdays, years before 1970 and the
        /// century of the two-digit years 70 to 76.
        #[test]
        fn httpdate_reads_the_same_letters_and_digits_alike(
            unix_seconds in 0..=253_402_300_799_u64,
            form in 0..3_usize,
            at in 0..40_usize,
            byte in proptest::sample::select(b"0123456789GMTadeijnuy".as_slice()),
        ) {
            let mut text = three_forms(unix_seconds)[form].clone().into_bytes();
            if let Some(slot) = text.get_mut(at).filter(|slot| slot.is_ascii_alphanumeric()) {
                *slot = byte;
            }
            let text = String::from_utf8(text).unwrap();
            let (ours, theirs) = (seconds(&text), by_httpdate(&text));
            let in_other_century = form == 1 && ["70", "71", "72", "73", "74", "75", "76"]
                .iter()
                .any(|year| text.contains(&format!("-{year} ")));
            match (ours, theirs) {
                _ if in_other_century => {}
                (Some(0), None) => {}
                (Some(seconds), None) => {
                    let right_weekday = &three_forms(seconds)[0][..3];
                    prop_assert!(text.contains(":60") || !text.starts_with(right_weekday), "{text}");
                }
                _ => prop_assert_eq!(ours, theirs, "{}", text),
            }
        }

        #[test]
        fn no_text_and_no_clock_panics(text in "\\PC*", now: u64) {
            let _ = http_date(&text, Duration::from_secs(now));
        }

        #[test]
        fn no_rfc_850_date_is_more_than_fifty_years_ahead(
            now in 0..=253_402_300_799_u64,
            unix_seconds in 0..=253_402_300_799_u64,
        ) {
            let [_, rfc_850, _] = three_forms(unix_seconds);
            // None: the 29th of February of a century without one.
            if let Some(date) = http_date(&rfc_850, Duration::from_secs(now)) {
                let fifty_years = 50 * 365 + 13;
                prop_assert!(date.as_secs() <= now + fifty_years * SECONDS_IN_DAY);
                let fifty_years_back = now.saturating_sub((50 * 365 + 14) * SECONDS_IN_DAY);
                prop_assert!(date.as_secs() >= fifty_years_back, "the latest that qualifies");
            }
        }
    }
}
