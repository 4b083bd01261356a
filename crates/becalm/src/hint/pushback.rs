//! What does a gRPC server's pushback say?

use core::time::Duration;

use super::Hint;
use super::retry_after::without_whitespace;

/// Reads the values of `grpc-retry-pushback-ms` in the trailers of a failed call (gRPC proposal A6).
///
/// One signed 32-bit number of milliseconds: from 0 up it is the exact delay of the next attempt,
/// 0 meaning now; below 0 it means "do not retry". A value that cannot be read, or several
/// values, mean that too: the server took the trouble to push back, and becalm does not guess
/// how far. No value is no hint.
///
/// ```
/// use becalm::hint::{Hint, pushback};
/// use core::time::Duration;
///
/// assert_eq!(pushback(["250"]), Some(Hint::Exactly(Duration::from_millis(250))));
/// assert_eq!(pushback(["-1"]), Some(Hint::Stop));
/// assert_eq!(pushback(["0", "0"]), Some(Hint::Stop));
/// assert_eq!(pushback::<&str>([]), None);
/// ```
pub fn pushback<V: AsRef<[u8]>>(values: impl IntoIterator<Item = V>) -> Option<Hint> {
    let mut values = values.into_iter();
    let value = values.next()?;
    let delay = match values.next() {
        None => milliseconds(value.as_ref()),
        Some(_) => None,
    };
    Some(delay.map_or(Hint::Stop, Hint::Exactly))
}

fn milliseconds(value: &[u8]) -> Option<Duration> {
    let text = core::str::from_utf8(value).ok()?;
    let millis: i32 = without_whitespace(text).parse().ok()?;
    u64::try_from(millis).ok().map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn from_zero_up_it_is_the_exact_delay() {
        for (text, millis) in [
            ("0", 0),
            ("-0", 0),
            ("007", 7),
            (" 5 ", 5),
            ("2147483647", 2_147_483_647),
        ] {
            let delay = Duration::from_millis(millis);
            assert_eq!(pushback([text]), Some(Hint::Exactly(delay)), "{text:?}");
        }
    }

    #[test]
    fn negative_unreadable_or_several_mean_stop() {
        for text in [
            "-1",
            "-2147483648",
            "2147483648",
            "99999999999",
            "1.5",
            "",
            "soon",
            "5ms",
        ] {
            assert_eq!(pushback([text]), Some(Hint::Stop), "{text:?}");
        }
        assert_eq!(pushback([b"\xff"]), Some(Hint::Stop));
        assert_eq!(pushback(["5", "5"]), Some(Hint::Stop));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_delay_within_32_bits_or_a_stop(value: alloc::vec::Vec<u8>) {
            match pushback([value]) {
                Some(Hint::Exactly(delay)) => {
                    prop_assert!(delay <= Duration::from_millis(i32::MAX as u64));
                }
                other => prop_assert_eq!(other, Some(Hint::Stop)),
            }
        }
    }
}
