//! How does the ceiling grow from one retry to the next?

use alloc::sync::Arc;
use core::fmt;
use core::time::Duration;

use crate::duration::nanos;

/// The growth of the ceiling: `ceiling(n) = min(cap, growth(n))` for the n-th retry, n from 0.
///
/// All arithmetic saturates; no attempt number, base or multiplier panics.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub enum Backoff {
    /// `base`, every time.
    Fixed,
    /// `base x (n + 1)`.
    Linear,
    /// `base x multiplier^n`. The default: it is the only growth that bounds the total rate of a
    /// fleet whose size is unknown.
    #[default]
    Exponential,
    /// `base x 1, 1, 2, 3, 5, 8, ...`
    Fibonacci,
    /// The ceiling that a function returns for n, from 0 ([`Backoff::custom`]). Cannot be serialised.
    Custom(Custom),
}

/// A growth that is code, and may hold what it looks at. Clones of it are equal, and no other is.
#[derive(Clone)]
pub struct Custom(Arc<dyn Fn(u32) -> Duration + Send + Sync>);

impl PartialEq for Custom {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("..")
    }
}

impl Backoff {
    /// The growth that this function returns for n, from 0. It may hold what it looks at, and is
    /// asked once for each retry, by whichever thread makes it.
    ///
    /// ```
    /// use becalm::Backoff;
    /// use core::time::Duration;
    ///
    /// let table = vec![Duration::from_millis(50), Duration::from_secs(2)];
    /// let backoff = Backoff::custom(move |n| table[(n as usize).min(1)]);
    /// assert_eq!(backoff, backoff.clone());
    /// ```
    pub fn custom(ceiling: impl Fn(u32) -> Duration + Send + Sync + 'static) -> Self {
        Self::Custom(Custom(Arc::new(ceiling)))
    }

    /// The ceiling of the n-th retry in nanoseconds, n from 0, before the cap.
    pub(crate) fn growth(&self, base: u64, multiplier: f64, n: u32) -> u64 {
        match self {
            Self::Fixed => base,
            Self::Linear => base.saturating_mul(u64::from(n).saturating_add(1)),
            Self::Exponential => scale(base, power(multiplier, n)),
            Self::Fibonacci => base.saturating_mul(fibonacci(n)),
            Self::Custom(Custom(ceiling)) => nanos(ceiling(n)),
        }
    }
}

/// `base x factor`, rounded down, saturating.
///
/// Only IEEE multiplication is used, which every platform rounds alike, so a seed gives the same
/// delays everywhere (the platform's `powf` would not).
pub(crate) fn scale(base: u64, factor: f64) -> u64 {
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
    #[expect(clippy::cast_sign_loss)]
    let scaled = (base as f64 * factor) as u64; // float to integer casts saturate; NaN is 0
    if factor.is_nan() { u64::MAX } else { scaled }
}

/// `multiplier^n` by repeated squaring.
fn power(multiplier: f64, n: u32) -> f64 {
    let (mut result, mut square, mut left) = (1.0_f64, multiplier, n);
    while left > 0 {
        if left & 1 == 1 {
            result *= square;
        }
        square *= square;
        left >>= 1;
    }
    result
}

/// 1, 1, 2, 3, 5, ... for n from 0, saturating.
fn fibonacci(n: u32) -> u64 {
    let (mut this, mut next) = (1_u64, 1_u64);
    for _ in 0..n {
        if this == u64::MAX {
            break;
        }
        (this, next) = (next, this.saturating_add(next));
    }
    this
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;
    use proptest::prelude::*;

    fn first(backoff: &Backoff, multiplier: f64) -> [u64; 6] {
        core::array::from_fn(|n| backoff.growth(100, multiplier, u32::try_from(n).unwrap()))
    }

    #[test]
    fn the_first_ceilings_are_the_textbook_ones() {
        assert_eq!(first(&Backoff::Fixed, 2.0), [100; 6]);
        assert_eq!(first(&Backoff::Linear, 2.0), [100, 200, 300, 400, 500, 600]);
        assert_eq!(
            first(&Backoff::Exponential, 2.0),
            [100, 200, 400, 800, 1600, 3200]
        );
        assert_eq!(
            first(&Backoff::Exponential, 1.5),
            [100, 150, 225, 337, 506, 759]
        );
        assert_eq!(
            first(&Backoff::Fibonacci, 2.0),
            [100, 100, 200, 300, 500, 800]
        );
        let custom = Backoff::custom(|n| Duration::from_nanos(u64::from(n) + 7));
        assert_eq!(first(&custom, 2.0), [7, 8, 9, 10, 11, 12]);
    }

    #[test]
    fn c12_a_custom_growth_holds_what_it_looks_at_and_equals_its_clones_alone() {
        let table = alloc::vec![7, 40, 9];
        let held = move |n| Duration::from_nanos(table.get(n as usize).copied().unwrap_or(1));
        let policy = Policy::custom(held.clone());
        assert_eq!(first(&policy.backoff, 2.0), [7, 40, 9, 1, 1, 1]);
        assert_eq!(policy, policy.clone());
        assert_ne!(policy, Policy::custom(held));
    }

    proptest! {
        #[test]
        fn every_growth_saturates_and_never_shrinks(base: u64, multiplier in 1.0_f64..1e9, n: u32) {
            for backoff in [Backoff::Fixed, Backoff::Linear, Backoff::Exponential, Backoff::Fibonacci] {
                let here = backoff.growth(base, multiplier, n);
                let next = backoff.growth(base, multiplier, n.saturating_add(1));
                prop_assert!(here <= next, "{backoff}: {here} then {next}");
                // a u64 beyond 2^53 loses its last bits in an f64, one part in 2^53
                prop_assert!(here >= base - (base >> 52));
            }
        }

        #[test]
        fn no_factor_panics(base: u64, multiplier: f64, n: u32) {
            let _ = Backoff::Exponential.growth(base, multiplier, n);
        }
    }
}
