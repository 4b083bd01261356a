//! `Retry-After` and its kin. Digits are a number, however large; a date is the one that its text
//! shows; the nearer a date, the shorter the wait.
#![no_main]

use std::time::{Duration, UNIX_EPOCH};

use becalm::hint::{amz_retry_after, http_date, retry_after, retry_after_ms};
use libfuzzer_sys::fuzz_target;

/// The first second of the year 10000.
const END_OF_DATES: u64 = 253_402_300_800;

// The clock on the first line, the value behind it.
fuzz_target!(|input: &str| {
    let (clock, text) = input.split_once('\n').unwrap_or(("0", input));
    let clock: u64 = clock.parse().unwrap_or(u64::MAX);
    let now = Duration::from_secs(clock % END_OF_DATES);
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
        assert_eq!(delay, date.map(|date| date.saturating_sub(now)));
        date.inspect(|date| is_what_its_text_shows(*date, value, now));
    }
    if let Some(millis) = retry_after_ms(text) {
        is_rounded_up(millis, value);
    }
    // Any clock at all, only not to panic.
    let _ = retry_after(text, Duration::new(clock, 999_999_999));
});

fn is_what_its_text_shows(date: Duration, text: &str, now: Duration) {
    assert!(date <= Duration::from_secs(END_OF_DATES), "a leap second");
    // A leap second and the years before 1970 show another second than they mean.
    if text.contains(":60") || date.is_zero() {
        return;
    }
    let canonical = httpdate::fmt_http_date(UNIX_EPOCH + date);
    assert_eq!(http_date(&canonical, now), Some(date));
    let (day, month, year, time) = (
        &canonical[5..7],
        &canonical[8..11],
        &canonical[12..16],
        &canonical[17..25],
    );
    let shown = text.split_once(", ").map_or(text, |(_, date)| date);
    let forms = [
        format!("{day} {month} {year} {time} GMT"),
        format!("{day}-{month}-{} {time} GMT", &year[2..]),
        format!("{} {month} {day} {time} {year}", &text[..3]),
        format!(
            "{} {month} {} {time} {year}",
            &text[..3],
            day.replacen('0', " ", 1)
        ),
    ];
    assert!(
        forms.iter().any(|form| form == shown),
        "{text}: {canonical}"
    );
    if shown == forms[1] {
        let fifty_years = Duration::from_secs(86_400 * (50 * 365 + 13));
        assert!(date <= now + fifty_years);
    } else {
        let nearer = retry_after(text, now + Duration::from_secs(1));
        assert!(nearer <= retry_after(text, now));
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
