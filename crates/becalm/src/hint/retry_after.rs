//! How long does a `Retry-After` header, or a similar one, ask to wait?
//!
//! Each function reads one field value. What breaks its grammar is `None`: the hint is ignored
//! and the delay is computed as if none had come. A number too large for any clock is
//! [`Duration::MAX`], so the call stops with [`HintTooLong`](crate::StopReason::HintTooLong)
//! instead of retrying early.

use core::time::Duration;

use super::http_date::{http_date, is_digits};
use crate::time::UnixTime;

/// Reads `Retry-After` (RFC 9110 section 10.2.3): whole seconds, or an HTTP date.
///
/// A date is counted from `now`: the response's own `Date` if it has one, so that the two clocks
/// need not agree, otherwise the wall clock. A date in the past is zero; [`http_date`] says which
/// forms are read. Seconds carry neither sign nor fraction; spaces and tabs around the value are
/// not part of it.
///
/// ```
/// use becalm::{hint::retry_after, time::UnixTime};
/// use core::time::Duration;
///
/// let now = UnixTime::from_epoch(Duration::from_secs(784_111_770));
/// assert_eq!(retry_after("120", now), Some(Duration::from_secs(120)));
/// assert_eq!(retry_after("Sun, 06 Nov 1994 08:49:37 GMT", now), Some(Duration::from_secs(7)));
/// assert_eq!(retry_after("1.5", now), None);
/// ```
pub fn retry_after(text: &str, now: impl Into<UnixTime>) -> Option<Duration> {
    let text = without_whitespace(text);
    whole_number(text, Duration::from_secs).or_else(|| {
        let now = now.into();
        http_date(text, now).map(|date| date.since(now))
    })
}

/// Reads `retry-after-ms` and `x-ms-retry-after-ms` (OpenAI, Azure): milliseconds, with or without a
/// decimal fraction.
///
/// Digits below a nanosecond round up: never early.
///
/// ```
/// use becalm::hint::retry_after_ms;
/// use core::time::Duration;
/// assert_eq!(retry_after_ms("20.5"), Some(Duration::from_micros(20_500)));
/// assert_eq!(retry_after_ms("-1"), None);
/// ```
pub fn retry_after_ms(text: &str) -> Option<Duration> {
    decimal(without_whitespace(text), Duration::from_millis)
}

/// Reads `x-amz-retry-after` (AWS): whole milliseconds.
///
/// ```
/// use becalm::hint::amz_retry_after;
/// use core::time::Duration;
/// assert_eq!(amz_retry_after("1500"), Some(Duration::from_millis(1500)));
/// assert_eq!(amz_retry_after("1.5"), None);
/// ```
pub fn amz_retry_after(text: &str) -> Option<Duration> {
    whole_number(without_whitespace(text), Duration::from_millis)
}

/// Without the optional whitespace that may stand around a field value (RFC 9110 section 5.5).
pub(super) fn without_whitespace(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

/// `1*DIGIT` of this unit; the longest duration where `u64` cannot hold the number.
pub(super) fn whole_number(text: &str, unit: fn(u64) -> Duration) -> Option<Duration> {
    is_digits(text).then(|| text.parse().map_or(Duration::MAX, unit))
}

/// A number with or without a decimal fraction, as a time, rounded up to a nanosecond.
pub(super) fn decimal(text: &str, unit: fn(u64) -> Duration) -> Option<Duration> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let whole = whole_number(whole, unit)?;
    if !is_digits(fraction) {
        return None;
    }
    let mut place = unit(1);
    let mut below = false;
    let mut total = whole;
    for digit in fraction.bytes().map(|byte| u32::from(byte - b'0')) {
        place /= 10;
        total = total.saturating_add(place * digit);
        below |= place.is_zero() && digit > 0;
    }
    Some(total.saturating_add(Duration::from_nanos(u64::from(below))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Sun, 06 Nov 1994 08:49:30.25 GMT.
    const NOW: UnixTime = UnixTime::from_epoch(Duration::new(784_111_770, 250_000_000));

    #[test]
    fn seconds_and_the_three_dates_are_read() {
        for (text, millis) in [
            ("120", 120_000),
            ("0", 0),
            ("007", 7_000),
            (" 5\t", 5_000),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 6_750),
            ("Sunday, 06-Nov-94 08:49:37 GMT", 6_750),
            ("Sun Nov  6 08:49:37 1994", 6_750),
        ] {
            let delay = Duration::from_millis(millis);
            assert_eq!(retry_after(text, NOW), Some(delay), "{text:?}");
        }
    }

    #[test]
    fn a_date_in_the_past_is_zero() {
        let past = retry_after("Sun, 06 Nov 1994 08:49:29 GMT", NOW);
        assert_eq!(past, Some(Duration::ZERO));
    }

    #[test]
    fn garbage_is_ignored() {
        for text in [
            "", " ", "1.5", "-1", "+5", "1e3", "soon", "5s", "5, 10", "0x10", "5\n", "١",
        ] {
            assert_eq!(retry_after(text, NOW), None, "{text:?}");
        }
        for text in [
            "", ".5", "5.", "1.2.3", "-1", "+5", "1e3", "inf", "NaN", "1,5",
        ] {
            assert_eq!(retry_after_ms(text), None, "{text:?}");
            assert_eq!(amz_retry_after(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_number_that_no_clock_holds_saturates() {
        let huge = "1000000000000000000000000000000";
        assert_eq!(retry_after(huge, NOW), Some(Duration::MAX));
        assert_eq!(retry_after_ms(huge), Some(Duration::MAX));
        assert_eq!(
            retry_after_ms("1000000000000000000000.5"),
            Some(Duration::MAX)
        );
        assert_eq!(amz_retry_after(huge), Some(Duration::MAX));
        let largest = Duration::from_secs(u64::MAX);
        assert_eq!(retry_after("18446744073709551615", NOW), Some(largest));
        assert_eq!(
            retry_after("18446744073709551616", NOW),
            Some(Duration::MAX)
        );
    }

    #[test]
    fn a_fraction_of_a_millisecond_is_kept_and_rounds_up() {
        for (text, nanos) in [
            ("1500", 1_500_000_000),
            ("0.25", 250_000),
            ("1.000001", 1_000_001),
            ("1.0000010", 1_000_001),
            ("1.0000001", 1_000_001),
            ("0.99999999", 1_000_000),
            ("0.00000000000000000000000000001", 1),
            ("1.00000000000000000000000000000", 1_000_000),
        ] {
            assert_eq!(
                retry_after_ms(text),
                Some(Duration::from_nanos(nanos)),
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn every_number_of_seconds_means_itself(seconds: u64) {
            let text = alloc::format!("{seconds}");
            prop_assert_eq!(retry_after(&text, NOW), Some(Duration::from_secs(seconds)));
            prop_assert_eq!(amz_retry_after(&text), Some(Duration::from_millis(seconds)));
            prop_assert_eq!(retry_after_ms(&text), Some(Duration::from_millis(seconds)));
        }

        #[test]
        fn no_text_panics(text in ".*", now: u64) {
            let _ = retry_after(&text, UnixTime::from_epoch(Duration::from_secs(now)));
            let _ = retry_after_ms(&text);
            let _ = amz_retry_after(&text);
        }
    }
}
