//! How is a fraction kept in a word?

/// One, in millionths.
pub const MILLION: u64 = 1_000_000;

/// Millionths, rounded to the nearest, so that 0.3 is exactly 300 000. Never below 0 or above 10^14.
pub fn millionths(number: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let millionths = (number * 1e6 + 0.5) as u64;
    millionths.min(100_000_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0.000249 x 10^6 is a little less than 249 in binary.
    #[test]
    fn a_share_is_kept_to_the_millionth_that_was_written() {
        for share in 1..=MILLION {
            #[expect(clippy::cast_precision_loss, reason = "at most a million")]
            let written = share as f64 / 1e6;
            assert_eq!(millionths(written), share);
        }
    }
}
