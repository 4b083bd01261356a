//! What do the headers of an attempt tell the server? How many came before it, and how long it may take.

use std::time::Duration;

use becalm::Attempt;
use http::{HeaderMap, HeaderName, HeaderValue};

static PREVIOUS: HeaderName = HeaderName::from_static("grpc-previous-rpc-attempts");
static TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

/// Writes both, in place of what is there: the caller's own time limit is part of the call's deadline, and a count that
/// came with an incoming call is of another layer.
pub(super) fn write(headers: &mut HeaderMap, attempt: Attempt) {
    match attempt.number() - 1 {
        0 => headers.remove(&PREVIOUS), // absent on the first (gRFC A6)
        previous => headers.insert(&PREVIOUS, previous.into()),
    };
    if let Some(limit) = attempt.timeout() {
        headers.insert(&TIMEOUT, timeout(limit));
    }
}

/// As gRPC over HTTP/2 writes a `Timeout`: at most 8 digits, in the finest unit in which they suffice; never more than
/// the limit.
fn timeout(limit: Duration) -> HeaderValue {
    let seconds = limit.as_secs().into();
    let units = [
        (limit.as_nanos(), 'n'),
        (limit.as_micros(), 'u'),
        (limit.as_millis(), 'm'),
        (seconds, 'S'),
        (seconds / 60, 'M'),
        (seconds / 3600, 'H'),
    ];
    let fits = |(count, _): &(u128, char)| *count < 100_000_000;
    let (count, unit) = units.into_iter().find(fits).unwrap_or((99_999_999, 'H'));
    HeaderValue::try_from(format!("{count}{unit}")).unwrap_or(HeaderValue::from_static("0n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_has_8_digits_at_most_and_is_never_more_than_the_limit() {
        for (limit, expected) in [
            (Duration::from_nanos(1), "1n"),
            (Duration::from_nanos(99_999_999), "99999999n"),
            (Duration::from_nanos(100_000_999), "100000u"),
            (Duration::from_secs(2), "2000000u"),
            (Duration::from_secs(100), "100000m"),
            (Duration::from_millis(100_000_999), "100000S"),
            (Duration::from_secs(100_000_059), "1666667M"),
            (Duration::from_secs(u32::MAX.into()), "71582788M"),
            (Duration::MAX, "99999999H"),
        ] {
            let value = timeout(limit);
            assert_eq!(value, expected);
            let headers = HeaderMap::from_iter([(TIMEOUT.clone(), value)]);
            let read = becalm::http::grpc_timeout(&headers).expect("it is in the grammar");
            assert!(read <= limit);
        }
    }
}
