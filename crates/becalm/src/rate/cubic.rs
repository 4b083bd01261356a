//! What rate may be tried at this time after a throttle?
//!
//! The window function of TCP CUBIC (Ha, Rhee, Xu: *CUBIC: A New TCP-Friendly High-Speed TCP
//! Variant*, 2008; RFC 9438) on requests per second, with the constants of the AWS SDKs' retry
//! specification (botocore 1.20 `retries/throttling.py`, aws-smithy-runtime 1.16
//! `client_rate_limiter.rs`): W(t) = C (t - K)^3 + `W_max`, K = cbrt(`W_max` (1 - beta) / C).

use crate::time::Instant;

/// The share of the rate that a throttle leaves.
const BETA: f64 = 0.7;
/// How fast the rate grows: requests per second, per second cubed.
const SCALE: f64 = 0.4;

/// The last throttle, from which the curve starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cubic {
    /// Requests per second when it came.
    pub w_max: f64,
    pub throttled_at: Instant,
}

impl Cubic {
    /// A throttle came at this rate; what rate it leaves.
    pub fn throttled(rate: f64, now: Instant) -> (Self, f64) {
        let cubic = Self {
            w_max: rate,
            throttled_at: now,
        };
        (cubic, rate * BETA)
    }

    /// The rate that may be tried now.
    pub fn rate(self, now: Instant) -> f64 {
        let elapsed = now.since(self.throttled_at).as_secs_f64();
        let behind = elapsed - self.plateau();
        SCALE * (behind * behind * behind) + self.w_max
    }

    /// K: the seconds after which the curve is back at `W_max`.
    fn plateau(self) -> f64 {
        cube_root(self.w_max * (1.0 - BETA) / SCALE)
    }
}

/// The cube root of a number from 0 up, by Newton's iteration: `f64::cbrt` is the platform's, and
/// not the same everywhere.
fn cube_root(x: f64) -> f64 {
    /// Two thirds of the exponent's bias: with it a third of the bits is a root to within 6 %.
    const BIAS: u64 = (1023 - 1023 / 3) << 52;
    if x <= 0.0 {
        return 0.0;
    }
    let mut root = f64::from_bits(x.to_bits() / 3 + BIAS);
    // Each step squares the error: 6 %, 4e-3, 2e-5, 2e-10, below the last bit.
    for _ in 0..5 {
        root -= (root - x / (root * root)) / 3.0;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;
    use proptest::prelude::*;

    fn at(seconds: f64) -> Instant {
        Instant::ZERO.after(Duration::from_secs_f64(seconds))
    }

    fn near(actual: f64, expected: f64) {
        assert!(
            (actual / expected - 1.0).abs() < 1e-12,
            "{actual} instead of {expected}"
        );
    }

    /// botocore 1.20, `tests/unit/retries/test_throttling.py`.
    #[test]
    fn the_plateau_is_the_published_one() {
        for (w_max, plateau) in [
            (10.0, 1.957_433_820_584_431_7),
            (8.0, 1.817_120_592_832_139_7),
        ] {
            near(Cubic::throttled(w_max, at(1.0)).0.plateau(), plateau);
        }
    }

    /// `Cubic success #1` of the AWS retry specification, as in aws-smithy-runtime 1.16
    /// (`test_calculated_rate_with_successes`) and smithy-kotlin 1.5.
    #[test]
    fn the_rate_grows_along_the_published_curve() {
        let cubic = Cubic {
            w_max: 10.0,
            throttled_at: at(5.0),
        };
        for (time, rate) in [
            (5.0, 7.0),
            (6.0, 9.648_936_009_66),
            (7.0, 10.000_030_849_917_364),
            (8.0, 10.453_284_520_772_092),
            (9.0, 13.408_697_022_224_185),
            (10.0, 21.266_268_354_273_64),
            (11.0, 36.425_998_516_920_465),
        ] {
            near(cubic.rate(at(time)), rate);
        }
    }

    /// `Cubic success #2` of the AWS retry specification, as in smithy-kotlin 1.5. (In
    /// aws-smithy-runtime's port the rate *after* a throttle becomes `W_max`; in its limiter, as
    /// here, it is the rate before.)
    #[test]
    fn two_throttles_cut_it_twice() {
        let mut cubic = Cubic {
            w_max: 10.0,
            throttled_at: at(5.0),
        };
        let mut rate = 0.0;
        for (time, throttle, expected) in [
            (5.0, false, 7.0),
            (6.0, false, 9.648_936_009_66),
            (7.0, true, 6.754_255_206_761_999),
            (8.0, true, 4.727_978_644_733_399),
            (9.0, false, 6.606_547_753_887_045),
            (10.0, false, 6.763_279_816_944_947),
            (11.0, false, 7.598_174_833_907_107),
            (12.0, false, 11.511_232_804_773_524),
        ] {
            if throttle {
                (cubic, rate) = Cubic::throttled(rate, at(time));
            } else {
                rate = cubic.rate(at(time));
            }
            near(rate, expected);
        }
    }

    #[test]
    fn cubes_have_their_roots_at_every_size() {
        assert!(cube_root(0.0).abs() < f64::MIN_POSITIVE);
        for root in [1e-6, 0.1, 1.0, 2.0, 3.0, 1e3, 1.234_567e5, 1e9] {
            near(cube_root(root * root * root), root);
        }
    }

    proptest! {
        #[test]
        fn a_root_cubed_is_the_number(x in 1e-30..1e30_f64) {
            let root = cube_root(x);
            prop_assert!((root * root * root / x - 1.0).abs() < 1e-14);
        }

        #[test]
        fn at_the_throttle_the_curve_starts_from_what_the_throttle_left(
            rate in 1e-6..1e9_f64, nanos: u64,
        ) {
            let now = Instant::from_nanos(nanos);
            let (cubic, left) = Cubic::throttled(rate, now);
            prop_assert!((cubic.rate(now) / left - 1.0).abs() < 1e-12);
        }
    }
}
