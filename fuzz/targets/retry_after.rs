//! `Retry-After` and its kin. Digits are a number, however large; a date is the one that its text
//! shows; the nearer a date, the shorter the wait.
#![no_main]

use std::time::{Duration, UNIX_EPOCH};

use becalm::hint::{amz_retry_after, http_date, retry_after, retry_after_ms};
use becalm::time::UnixTime;
use libfuzzer_sys::fuzz_target;

/// The first second of the year 10000.
const END_OF_DATES: u64 = 253_402_300_800;

// The clock on the first line, the value behind it.
fuzz_target!(|input: &str| {
    let (clock, text) = input.split_once('\n').unwrap_or(("0", input));
    let clock: u64 = clock.parse().unwrap_or(u64::MAX);
    let now = at(clock % END_OF_DATES);
    let value = text.trim_matches([' ', '\t']);
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());

    let delay = retry_after(text, now);
    if is_number {
        let seconds = value.parse().map_or(Duration::MAX, Duration::from_secs);
        let millis = value.parse().map_or(Duration::MAX, Duration::from_millis);
        assert_eq!(delay, Some(seconds));
        assert_eq!(amz_retry_after(text), Some(millis));
        assert_eq!(retry_after_ms(text), Some(millis));
    } else {
        assert_eq!(amz_retry_after(text), None);
        let date = http_date(value, now);
        assert_eq!(delay, date.map(|date| date.since(now)));
        date.inspect(|date| is_what_its_text_shows(*date, value, now));
    }
    if let Some(millis) = retry_after_ms(text) {
        is_rounded_up(millis, value);
    }
    // Any clock at all, only not to panic.
    let _ = retry_after(
        text,
        UnixTime::from_epoch(Duration::new(clock, 999_999_999)),
    );
});

fn at(seconds: u64) -> UnixTime {
    UnixTime::from_epoch(Duration::from_secs(seconds))
}

fn is_what_its_text_shows(date: UnixTime, text: &str, now: UnixTime) {
    let fifty_years = Duration::from_secs(86_400 * (50 * 365 + 13));
    let since = date.since_epoch();
    assert!(
        since <= Duration::from_secs(END_OF_DATES) + fifty_years,
        "a leap second, a zone, and the century after the clock's"
    );
    // No reference writes the year 10000, which two digits can mean.
    if since >= Duration::from_secs(END_OF_DATES) {
        return;
    }
    // Other zones, a leap second and the years before 1970 show another second than they mean.
    let shown = text.to_ascii_lowercase();
    if !shown.ends_with(" gmt") || shown.contains(":60") || since.is_zero() {
        return;
    }
    let canonical = httpdate::fmt_http_date(UNIX_EPOCH + since);
    assert_eq!(http_date(&canonical, now), Some(date));
    let canonical = canonical.to_ascii_lowercase();
    let (month, year, time) = (&canonical[8..11], &canonical[12..16], &canonical[17..22]);
    for part in [month, &year[2..], time] {
        assert!(shown.contains(part), "{text}: {canonical}");
    }
    if !shown.contains(year) {
        assert!(since <= now.since_epoch() + fifty_years);
    }
}

/// At most a nanosecond above what the digits say, and never below.
fn is_rounded_up(delay: Duration, text: &str) {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let Ok(millis) = whole.parse().map(Duration::from_millis) else {
        assert_eq!(delay, Duration::MAX);
        return;
    };
    let nanos: u64 = format!("{fraction:0<6.6}").parse().expect("digits");
    let kept = millis + Duration::from_nanos(nanos);
    let is_exact = fraction.bytes().skip(6).all(|digit| digit == b'0');
    assert_eq!(delay, kept + Duration::from_nanos(u64::from(!is_exact)));
}
