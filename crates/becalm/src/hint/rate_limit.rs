//! When does a spent quota come back?
//!
//! A quota is a hint only once nothing of it is left: before that the next attempt may come at any
//! time. Who reads the fields asks for that first.

use alloc::vec::Vec;
use core::time::Duration;

use super::retry_after::{decimal, without_whitespace};
use super::structured::list_parameters;
use crate::time::UnixTime;

/// Seconds from which on a number is a date: 1e9 is September 2001, or a wait of 31 years.
const FIRST_DATE: Duration = Duration::from_secs(1_000_000_000);
/// Seconds from which on a date is in milliseconds: 1e11 is March 1973 so, or the year 5138.
const FIRST_DATE_IN_MILLIS: Duration = Duration::from_secs(100_000_000_000);

/// Reads `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10): how long the spent quotas stay spent.
///
/// The field is a list of quotas with the remaining units `r` and the seconds `t` until they are
/// reset. Of the quotas with `r=0` the longest `t` counts; where none is spent, none says when, or
/// the list breaks its grammar (RFC 9651), it is `None`. Several lines are joined first, with a
/// comma and a space. `Retry-After` takes precedence, as the draft demands.
///
/// ```
/// use becalm::hint::rate_limit;
/// use core::time::Duration;
/// let spent = rate_limit(r#""burst";r=0;t=5, "daily";r=9371;t=40000"#);
/// assert_eq!(spent, Some(Duration::from_secs(5)));
/// assert_eq!(rate_limit(r#""daily";r=9371;t=40000"#), None);
/// ```
pub fn rate_limit(field: impl AsRef<[u8]>) -> Option<Duration> {
    let mut quotas = Vec::new();
    list_parameters(field.as_ref(), |member, key, value| {
        quotas.resize(member + 1, (false, None));
        let (is_spent, reset) = &mut quotas[member];
        match key {
            b"r" => *is_spent = value.whole() == Some(0),
            b"t" => *reset = value.whole().map(Duration::from_secs),
            _ => {}
        }
    })?;
    let spent = quotas.into_iter().filter(|(is_spent, _)| *is_spent);
    spent.filter_map(|(_, reset)| reset).max()
}

/// Reads `x-ratelimit-reset` and its relatives, of a quota of which nothing is left: how long until it is
/// reset.
///
/// One name stands for three things, which the size of the number tells apart: a date in seconds
/// since 1970 (GitHub, Discord with a fraction, X, Okta), the same in milliseconds, or seconds from
/// now on (Envoy, Reddit, the IETF drafts up to 06). A date is counted from `now` as in
/// [`retry_after`](super::retry_after), and one in the past is zero.
///
/// ```
/// use becalm::{hint::rate_limit_reset, time::UnixTime};
/// use core::time::Duration;
/// let now = UnixTime::from_epoch(Duration::from_secs(1_795_132_800));
/// for text in ["1795132830", "1795132830.0", "1795132830000", "30"] {
///     assert_eq!(rate_limit_reset(text, now), Some(Duration::from_secs(30)));
/// }
/// assert_eq!(rate_limit_reset("6m0s", now), None);
/// ```
pub fn rate_limit_reset(text: &str, now: impl Into<UnixTime>) -> Option<Duration> {
    let text = without_whitespace(text);
    let number = decimal(text, Duration::from_secs)?;
    let date = if number < FIRST_DATE {
        return Some(number);
    } else if number < FIRST_DATE_IN_MILLIS {
        number
    } else {
        decimal(text, Duration::from_millis)?
    };
    Some(UnixTime::from_epoch(date).since(now.into()))
}

/// Reads `x-ratelimit-reset-after` (Discord), of a quota of which nothing is left: seconds, with or
/// without a decimal fraction.
///
/// ```
/// use becalm::hint::rate_limit_reset_after;
/// use core::time::Duration;
/// assert_eq!(rate_limit_reset_after("64.57"), Some(Duration::from_millis(64_570)));
/// ```
pub fn rate_limit_reset_after(text: &str) -> Option<Duration> {
    decimal(without_whitespace(text), Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn c14_of_the_spent_quotas_the_one_that_stays_so_longest_counts() {
        for (field, expected) in [
            ("default;r=0;t=30", Some(s(30))),
            ("\"default\";r=0;t=0", Some(s(0))),
            ("\"default\";t=30;r=0;pk=:QUJD:", Some(s(30))),
            ("\"a\";r=0;t=5, \"b\";r=0;t=7,\"c\";r=0;t=6", Some(s(7))),
            ("\"a\";r=0;t=5, \"b\";r=1;t=700", Some(s(5))),
            ("\"a\";r=1;t=5", None),
            ("\"a\";r=0", None),
            ("\"a\";t=5", None),
            ("\"a\";r=0, \"b\";t=5", None),
            ("\"a\";r=-0;t=5", Some(s(5))),
            ("\"a\";r=0;t=-5", None),
            ("\"a\";r=0.0;t=5", None),
            ("\"a\";r=0;t=5, \"b\";r=0;t", Some(s(5))),
            ("\"a\";r=0;t=5 \"b\"", None),
            ("limit=10, remaining=0, reset=7", None),
            ("", None),
        ] {
            assert_eq!(rate_limit(field), expected, "{field}");
        }
    }

    #[test]
    fn c14_a_reset_is_a_date_or_a_time_by_its_size() {
        let now = UnixTime::from_epoch(s(1_795_132_800));
        for (text, expected) in [
            ("0", Some(s(0))),
            ("3600", Some(s(3600))),
            (" 64.57 ", Some(Duration::from_millis(64_570))),
            ("999999999", Some(s(999_999_999))),
            ("1000000000", Some(s(0))),
            ("1795132799", Some(s(0))),
            ("1795132860", Some(s(60))),
            ("1795132860.123", Some(Duration::from_millis(60_123))),
            ("1795132860123", Some(Duration::from_millis(60_123))),
            ("", None),
            ("1s", None),
            ("6m0s", None),
            ("-1", None),
            ("2026-11-20T00:00:00Z", None),
        ] {
            assert_eq!(rate_limit_reset(text, now), expected, "{text}");
        }
        let huge = rate_limit_reset("1000000000000000000000000000000", now);
        assert!(huge > Some(s(1 << 40)), "{huge:?}");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".*", now: u64) {
            let _ = rate_limit(&text);
            let _ = rate_limit_reset(&text, UnixTime::from_epoch(s(now)));
            let _ = rate_limit_reset_after(&text);
        }
    }
}
