//! Which second does an HTTP date mean?
//!
//! The three forms that a recipient must accept, and those of mail, for which RFC 9110 section
//! 5.6.7 asks recipients to be robust: who ignores a date that a person can read retries too early.
//!
//! Own code instead of a crate: `httpdate` 1.0 takes a two-digit year from 70 on for the last century,
//! whatever the date is now, knows neither leap seconds nor mail, and needs the standard library. A
//! layer that brought every other form into the one that it reads would leave it a subtraction of
//! dates, the shortest part of this file.

use core::time::Duration;

use crate::time::UnixTime;

const WEEKDAYS: &str = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday";
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
const DAYS_IN_MONTH: [u64; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const SECONDS_IN_DAY: u64 = 86_400;
/// The mean length of a year, 365.2425 days.
const SECONDS_IN_YEAR: u64 = 31_556_952;
/// The last year that four digits can write.
const LAST_YEAR: u64 = 9999;
/// The zones of North America that mail knows by name (RFC 5322 section 4.3), from 4 hours behind UTC
/// on: the standard time of each is the summer time of the next one to the west.
const NAMED_ZONES: [&str; 8] = ["EDT", "EST", "CDT", "CST", "MDT", "MST", "PDT", "PST"];

/// Reads the moment that an HTTP date names: IMF-fixdate, RFC 850, asctime, or a date of mail.
///
/// Read are also a day of one digit, a date without a weekday or without seconds, any case of
/// letters, several blanks, a comment at the end, and the zones of RFC 5322: `UTC`, `+0200`, `EST`
/// (`Mon, 3 Jun 2019 12:00 +0000 (UTC)`). Only asctime may leave the zone out.
///
/// `now` gives the century of a two-digit year: the latest one that is not more than 50 years
/// ahead. A date before 1970 reads as 1970. Second 60 is the first of the next minute. The name of
/// the weekday must be one, but need not be the right one: the grammar does not ask for it, and the
/// rest of the date is unambiguous. Any other text, or a day that does not exist, is `None`.
///
/// ```
/// use becalm::{hint::http_date, time::UnixTime};
/// let date = http_date("Sun, 06 Nov 1994 08:49:37 GMT", UnixTime::EPOCH);
/// assert_eq!(date.map(|date| date.since_epoch().as_secs()), Some(784_111_777));
/// ```
pub fn http_date(text: &str, now: impl Into<UnixTime>) -> Option<UnixTime> {
    let now = now.into().since_epoch().as_secs();
    let date = match text.split_once('(') {
        Some((date, comment)) if comment.trim_ascii_end().ends_with(')') => date,
        Some(_) => return None,
        None => text,
    };
    let mut found = date.split([' ', '\t', ',']).filter(|word| !word.is_empty());
    let words: [&str; 6] = core::array::from_fn(|_| found.next().unwrap_or(""));
    let words = match words {
        _ if found.next().is_some() => return None,
        [weekday, rest @ ..] if is_weekday(weekday) => rest,
        [rest @ .., ""] => rest,
        _ => return None,
    };
    let (day, month, year, time, zone) = match words {
        [day, month, year, time, zone] if !zone.is_empty() => (day, month, year, time, zone),
        [month, day, time, year, ""] if !year.is_empty() => (day, month, year, time, "GMT"),
        [date, time, zone, "", ""] => {
            let (day, rest) = date.split_once('-')?;
            let (month, year) = rest.split_once('-')?;
            (day, month, year, time, zone)
        }
        _ => return None,
    };
    let seconds = Civil::from_words(day, month, year, time, now)?.seconds();
    let utc = seconds.saturating_add_signed(-seconds_ahead_of_utc(zone)?);
    Some(UnixTime::from_epoch(Duration::from_secs(utc)))
}

/// In full, or its first three letters.
fn is_weekday(word: &str) -> bool {
    let is = |name: &str| word.eq_ignore_ascii_case(name) || word.eq_ignore_ascii_case(&name[..3]);
    WEEKDAYS.split(' ').any(is)
}

fn seconds_ahead_of_utc(zone: &str) -> Option<i64> {
    let is = |name: &&str| zone.eq_ignore_ascii_case(name);
    if ["GMT", "UTC", "UT", "Z"].iter().any(is) {
        return Some(0);
    }
    if let Some((place, _)) = (0..).zip(NAMED_ZONES).find(|(_, name)| is(name)) {
        return Some(-3600 * (4 + (place + 1) / 2));
    }
    let (sign, digits) = zone.split_at_checked(1)?;
    let offset = i64::try_from(number(digits, 4)?).ok()?;
    let (hours, minutes) = (offset / 100, offset % 100);
    let ahead = (hours < 24 && minutes < 60).then_some((hours * 60 + minutes) * 60)?;
    match sign {
        "+" => Some(ahead),
        "-" => Some(-ahead),
        _ => None,
    }
}

/// A date and time of the calendar.
#[derive(Clone, Copy)]
struct Civil {
    year: u64,
    /// From 0.
    month: usize,
    day: u64,
    /// Up to 86 400: a leap second.
    second_of_day: u64,
}

impl Civil {
    /// `now` decides on the century of a year of two digits; `None` if there is no such day or time.
    fn from_words(day: &str, month: &str, year: &str, time: &str, now: u64) -> Option<Self> {
        let mut date = Self {
            year: number(year, 2).or_else(|| number(year, 4))?,
            month: MONTHS
                .iter()
                .position(|name| month.eq_ignore_ascii_case(name))?,
            day: number(day, 2).or_else(|| number(day, 1))?,
            second_of_day: second_of_day(time)?,
        };
        if year.len() == 2 {
            date.year = date.year_near(now);
        }
        let is_leap = date.year % 4 == 0 && (date.year % 100 != 0 || date.year % 400 == 0);
        let leap_day = u64::from(date.month == 1 && is_leap);
        let days = DAYS_IN_MONTH[date.month] + leap_day;
        (1..=days).contains(&date.day).then_some(date)
    }

    /// The latest year that ends in these two digits and puts the date at most 50 years after `now`.
    fn year_near(self, now: u64) -> u64 {
        let this_year = (1970 + now / SECONDS_IN_YEAR).min(LAST_YEAR);
        let latest = this_year + 51;
        let year = latest - (latest - self.year) % 100;
        let fifty_years_before = Self {
            year: year - 50,
            ..self
        };
        // The mean year is a day off at most, so one step back is enough.
        if fifty_years_before.seconds() > now {
            year - 100
        } else {
            year
        }
    }

    /// Seconds since the Unix epoch, 0 before it, in the proleptic Gregorian calendar.
    fn seconds(self) -> u64 {
        if self.year < 1970 {
            return 0;
        }
        // Years from March to February, so that the leap day is their last (Hinnant,
        // *chrono-Compatible Low-Level Date Algorithms*).
        let month = (self.month as u64 + 10) % 12;
        let year = self.year - u64::from(month >= 10);
        let days_of_year = (153 * month + 2) / 5 + self.day;
        let days = year * 365 + year / 4 - year / 100 + year / 400 + days_of_year;
        let before_1970 = 719_469;
        (days - before_1970) * SECONDS_IN_DAY + self.second_of_day
    }
}

/// `08:49:37`, where `hh:mm:60` is a leap second, or `08:49`.
fn second_of_day(text: &str) -> Option<u64> {
    let (hour, rest) = text.split_once(':')?;
    let (minute, second) = rest.split_once(':').unwrap_or((rest, "00"));
    let (hour, minute, second) = (number(hour, 2)?, number(minute, 2)?, number(second, 2)?);
    (hour < 24 && minute < 60 && second <= 60).then_some((hour * 60 + minute) * 60 + second)
}

/// Exactly this many decimal digits.
fn number(text: &str, digits: usize) -> Option<u64> {
    (text.len() == digits && is_digits(text)).then(|| text.parse().ok())?
}

/// At least one, and nothing else.
pub(super) fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;
    use proptest::prelude::*;
    use std::time::{SystemTime, UNIX_EPOCH};

    /// 2026-11-20 00:00:00 GMT.
    const NOW: u64 = 1_795_132_800;

    fn at(now: u64, text: &str) -> Option<u64> {
        let date = http_date(text, UnixTime::from_epoch(Duration::from_secs(now)))?;
        Some(date.since_epoch().as_secs())
    }

    fn seconds(text: &str) -> Option<u64> {
        at(NOW, text)
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
            Some(1970 + at(now, &date)? / SECONDS_IN_YEAR)
        };
        let now = NOW;
        assert_eq!(year_of("26", now), Some(2026));
        assert_eq!(year_of("76", now), Some(2076), "exactly 50 years ahead");
        assert_eq!(year_of("76", now - 1), Some(1976), "a second more");
        assert_eq!(year_of("77", now), Some(1977));
        let end_of_century = 4_102_444_799; // 2099-12-31 23:59:59
        assert_eq!(year_of("05", end_of_century), Some(2105));
        assert_eq!(year_of("99", end_of_century), Some(2099));
        // On the first of January the mean year lags behind the calendar.
        let fifty_years_on = at(365 * SECONDS_IN_DAY, "Friday, 01-Jan-21 00:00:00 GMT");
        assert_eq!(fifty_years_on, Some(1_609_459_200));
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

    /// Who ignores a date that a person can read retries too early.
    #[test]
    fn c14_dates_of_mail_and_of_loose_servers_are_read() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun, 06 Nov 1994 08:49:37 gmt",
            "sun, 06 nov 1994 08:49:37 Z",
            "Sun, 06 Nov 1994 08:49:37 +0000",
            "Sun, 06 Nov 1994 08:49:37 -0000 (GMT)",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun,  6 Nov 1994\t08:49:37 UT",
            "6 Nov 1994 08:49:37 GMT",
            "06 Nov 94 08:49:37 GMT",
            "Sun, 06-Nov-94 08:49:37 GMT",
            "Sun, 06-Nov-1994 08:49:37 GMT",
            "Sunday 06 Nov 94 08:49:37 GMT",
            "Sunday Nov 6 08:49:37 1994",
            "Sun, 06 Nov 1994 10:19:37 +0130",
            "Sat, 05 Nov 1994 23:49:37 -0900 (Alaska, a comment)",
            "Sun, 06 Nov 1994 03:49:37 EST",
            "Sun, 06 Nov 1994 01:49:37 pdt",
        ] {
            assert_eq!(seconds(text), Some(784_111_777), "{text}");
        }
        assert_eq!(seconds("Mon, 3 Jun 2019 12:00:00 UTC"), Some(1_559_563_200));
        assert_eq!(
            seconds("Mon, 3 Jun 2019 12:00 +0000 (UTC)"),
            Some(1_559_563_200)
        );
    }

    #[test]
    fn what_names_no_moment_for_certain_is_no_date() {
        for text in [
            "",
            "soon",
            "5, 10",
            "Sun, 06 Nov 1994 08:49:37",
            "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 06 Nov 1994 08:49:37 +01",
            "Sun, 06 Nov 1994 08:49:37 +2400",
            "Sun, 06 Nov 1994 08:49:37 0100",
            "Sun, 06 Nov 1994 08:49:37 GMT+1",
            "Son, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 November 1994 08:49:37 GMT",
            "Sun, 06 Nov 994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 06 Nov 1994 08:60:37 GMT",
            "Sun, 06 Nov 1994 08:49:61 GMT",
            "Sun, 06 Nov 1994 8:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 GMT GMT",
            "Sun, 06 Nov 1994 08:49:37 GMT (UTC",
            "Sun Sun, 06 Nov 1994 08:49:37 GMT",
            "Sun, 00 Nov 1994 08:49:37 GMT",
            "Sun, 31 Nov 1994 08:49:37 GMT",
            "Wed, 29 Feb 2023 00:00:00 GMT",
            "Mon, 29 Feb 2100 00:00:00 GMT",
            "Sun, +6 Nov 1994 08:49:37 GMT",
            "Sunday, 00-Nov-94 08:49:37 GMT",
            "Sunday, 00-Jan-76 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994 GMT",
            "Sun Nov  0 08:49:37 1994",
            "Sun Nov  é 08:49:37 1994",
            "06/11/1994 08:49:37 GMT",
            "1994-11-06T08:49:37Z",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
        assert!(seconds("Tue, 29 Feb 2000 00:00:00 GMT").is_some());
    }

    /// The three forms of a second, as another implementation computes its calendar fields.
    fn three_forms(unix_seconds: u64) -> [String; 3] {
        let imf = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(unix_seconds));
        let [short, day, month, year, time, _] = imf.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{imf}");
        };
        let short = short.trim_end_matches(',');
        let mut weekdays = WEEKDAYS.split(' ');
        let long = weekdays.find(|long| long.starts_with(short)).unwrap();
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
            prop_assert_eq!(at(unix_seconds, &rfc_850), Some(unix_seconds));
        }

        /// But for the century of the two-digit years 70 to 76, where they differ by intent.
        #[test]
        fn what_httpdate_reads_is_read_alike(
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
            if theirs.is_some() && !in_other_century {
                prop_assert_eq!(ours, theirs, "{}", text);
            }
        }

        #[test]
        fn no_text_and_no_clock_panics(text in "\\PC*", now: u64) {
            let _ = at(now, &text);
        }

        #[test]
        fn c14_a_zone_moves_the_moment_by_what_it_says(
            unix_seconds in SECONDS_IN_DAY..253_402_300_799_u64,
            hours in -23..=23_i64,
            minutes in 0..60_i64,
        ) {
            let imf = &three_forms(unix_seconds)[0];
            let sign = if hours < 0 { '-' } else { '+' };
            let zone = format!("{sign}{:02}{minutes:02}", hours.abs());
            let ahead = hours * 3600 + if hours < 0 { -minutes } else { minutes } * 60;
            let there = at(NOW, &imf.replace("GMT", &zone));
            prop_assert_eq!(there, unix_seconds.checked_add_signed(-ahead), "{}", zone);
        }

        #[test]
        fn no_rfc_850_date_is_more_than_fifty_years_ahead(
            now in 0..=253_402_300_799_u64,
            unix_seconds in 0..=253_402_300_799_u64,
        ) {
            let [_, rfc_850, _] = three_forms(unix_seconds);
            // None: the 29th of February of a century without one.
            if let Some(date) = at(now, &rfc_850) {
                let fifty_years = 50 * 365 + 13;
                prop_assert!(date <= now + fifty_years * SECONDS_IN_DAY);
                let fifty_years_back = now.saturating_sub((50 * 365 + 14) * SECONDS_IN_DAY);
                prop_assert!(date >= fifty_years_back, "the latest that qualifies");
            }
        }
    }
}
