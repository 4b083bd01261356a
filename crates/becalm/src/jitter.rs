//! From which interval is a delay drawn?
//!
//! Every draw is from an interval that already lies between floor and cap: nothing is clamped
//! after the draw (but in [`Jitter::DecorrelatedClamped`], which is kept for comparison), so the
//! delays of many clients stay spread even when all of them have reached the cap.

use core::time::Duration;

use crate::backoff::scale;
use crate::duration::nanos;
use crate::rng::{Random, uniform};

/// How a delay is drawn around the ceiling c.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub enum Jitter {
    /// c itself. Clients that failed together retry together; linted.
    None,
    /// U(0, c): the widest spread, the least load on the server (Brooker: *Exponential Backoff
    /// and Jitter*, AWS 2015). The default.
    #[default]
    Full,
    /// U(c/2, c): never near zero, half the spread.
    Equal,
    /// U(base, min(cap, 3 x previous)), the previous delay starting at base. The ceiling plays no
    /// part.
    Decorrelated,
    /// min(cap, U(base, 3 x previous)): the form of 2015, clamped after the draw, so that delays
    /// pile up on the cap. For comparison; linted.
    DecorrelatedClamped,
    /// U(c(1 - f), min(cap, c(1 + f))), 0 < f <= 1.
    Proportional(f64),
    /// s + U(0, d) with s = min(c, cap - d), 0 < d <= cap: the jitter stays whole at the cap.
    Additive(Duration),
}

/// Without a sample, a variant does not compile.
macro_rules! samples {
    ($($variant:ident $(($parameter:expr))?,)*) => {
        impl Jitter {
            /// One of each variant, with a usual parameter, in the order of their declaration.
            pub const SAMPLES: &'static [Self] = &[$(Self::$variant $(($parameter))?,)*];
        }

        const _: fn(Jitter) = |jitter| match jitter {
            $(Jitter::$variant { .. } => {})*
        };
    };
}

samples! {
    None,
    Full,
    Equal,
    Decorrelated,
    DecorrelatedClamped,
    Proportional(0.25),
    Additive(Duration::from_millis(100)),
}

/// What a draw looks at, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub base: u64,
    pub floor: u64,
    pub cap: u64,
    /// At most `cap`.
    pub ceiling: u64,
    /// The last computed delay of the call; `base` before the first.
    pub previous: u64,
}

impl Jitter {
    /// Whether it looks at the delay before, and not at the ceiling: then the growth of the policy
    /// (`backoff`, `multiplier`) plays no part.
    #[must_use]
    pub const fn is_decorrelated(self) -> bool {
        matches!(self, Self::Decorrelated | Self::DecorrelatedClamped)
    }

    /// The interval from which the delay is drawn, both ends included, before any clamp.
    #[inline]
    pub(crate) fn interval(self, at: Bounds) -> (u64, u64) {
        let Bounds {
            base,
            floor,
            cap,
            ceiling,
            previous,
        } = at;
        let tripled = previous.saturating_mul(3);
        // What plays the ceiling's part.
        let reach = match self {
            Self::Decorrelated => tripled.min(cap),
            _ => ceiling,
        };
        let (low, high) = match self {
            Self::None => (ceiling, ceiling),
            Self::DecorrelatedClamped => (base, tripled),
            // Above a floor that leaves no interval, the draw is spread as widely as below it.
            _ if floor > 0 && reach <= floor => (floor, cap.min(floor.saturating_add(reach))),
            Self::Decorrelated => (base, reach),
            Self::Full => (0, ceiling),
            Self::Equal => (ceiling.div_ceil(2), ceiling),
            Self::Proportional(share) => {
                let swing = scale(ceiling, share).min(ceiling);
                (ceiling - swing, cap.min(ceiling.saturating_add(swing)))
            }
            Self::Additive(width) => {
                let width = nanos(width);
                let start = ceiling.min(cap.saturating_sub(width));
                (start, cap.min(start.saturating_add(width)))
            }
        };
        let low = low.max(floor);
        (low, high.max(low))
    }

    /// Draws a delay.
    #[inline]
    pub(crate) fn draw<R: Random + ?Sized>(self, at: Bounds, random: &mut R) -> u64 {
        let (low, high) = self.interval(at);
        let drawn = uniform(random, low, high);
        match self {
            Self::DecorrelatedClamped => drawn.min(at.cap),
            _ => drawn,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    /// The common case: base 100, no floor, cap 1000, at a ceiling of 400, the last delay 150.
    const AT: Bounds = Bounds {
        base: 100,
        floor: 0,
        cap: 1000,
        ceiling: 400,
        previous: 150,
    };

    fn additive(nanos: u64) -> Jitter {
        Jitter::Additive(Duration::from_nanos(nanos))
    }

    /// One of each variant with these parameters.
    fn all(share: f64, width: Duration) -> impl Iterator<Item = Jitter> {
        let changed = move |jitter: &Jitter| match jitter {
            Jitter::Proportional(_) => Jitter::Proportional(share),
            Jitter::Additive(_) => Jitter::Additive(width),
            other => *other,
        };
        Jitter::SAMPLES.iter().map(changed)
    }

    /// Least and greatest delay, by the lowest and the highest bits that a source can give.
    fn ends(jitter: Jitter, at: Bounds) -> (u64, u64) {
        (
            jitter.draw(at, &mut || 0),
            jitter.draw(at, &mut || u64::MAX),
        )
    }

    #[test]
    fn the_ends_of_each_interval_are_the_documented_formulas() {
        for jitter in all(0.25, Duration::from_nanos(50)) {
            let expected = match jitter {
                Jitter::None => (400, 400),
                Jitter::Full => (0, 400),
                Jitter::Equal => (200, 400),
                Jitter::Decorrelated | Jitter::DecorrelatedClamped => (100, 450),
                Jitter::Proportional(_) => (300, 500),
                Jitter::Additive(_) => (400, 450),
            };
            assert_eq!(ends(jitter, AT), expected, "{jitter}");
        }
        assert_eq!(ends(Jitter::Proportional(1.0), AT), (0, 800));
    }

    #[test]
    fn at_the_cap_the_interval_ends_there_and_keeps_its_width() {
        let at = Bounds {
            ceiling: 1000,
            previous: 900,
            ..AT
        };
        assert_eq!(ends(Jitter::Full, at), (0, 1000));
        assert_eq!(ends(Jitter::Equal, at), (500, 1000));
        assert_eq!(ends(Jitter::Decorrelated, at), (100, 1000));
        assert_eq!(ends(Jitter::Proportional(0.25), at), (750, 1000));
        assert_eq!(ends(additive(50), at), (950, 1000));
        assert_eq!(ends(additive(1000), at), (0, 1000));
    }

    #[test]
    fn the_clamped_form_piles_up_on_the_cap_as_it_did_in_2015() {
        let at = Bounds {
            previous: 900,
            ..AT
        };
        // U(100, 2700) clamped to 1000: all above the 35th percentile sit on the cap.
        let middle = Jitter::DecorrelatedClamped.draw(at, &mut || u64::MAX / 2);
        assert_eq!(middle, 1000);
        assert_eq!(ends(Jitter::DecorrelatedClamped, at), (100, 1000));
    }

    #[test]
    fn a_floor_raises_the_lower_end() {
        let at = Bounds { floor: 350, ..AT };
        assert_eq!(ends(Jitter::None, at), (400, 400));
        assert_eq!(ends(Jitter::Full, at), (350, 400));
        assert_eq!(ends(Jitter::Equal, at), (350, 400));
        assert_eq!(ends(Jitter::Decorrelated, at), (350, 450));
        assert_eq!(ends(Jitter::Proportional(0.25), at), (350, 500));
        assert_eq!(ends(additive(50), at), (400, 450));
    }

    #[test]
    fn where_the_ceiling_is_at_or_below_the_floor_the_draw_is_spread_above_the_floor() {
        for floor in [400, 500] {
            let at = Bounds { floor, ..AT };
            for jitter in [
                Jitter::Full,
                Jitter::Equal,
                Jitter::Proportional(0.25),
                additive(50),
            ] {
                assert_eq!(ends(jitter, at), (floor, floor + 400), "{jitter}");
            }
            assert_eq!(ends(Jitter::None, at), (floor, floor));
        }
        let near_the_cap = Bounds { floor: 900, ..AT };
        assert_eq!(ends(Jitter::Full, near_the_cap), (900, 1000));
    }

    #[test]
    fn decorrelated_below_its_floor_is_spread_above_the_floor_too() {
        for floor in [450, 500] {
            let at = Bounds { floor, ..AT };
            assert_eq!(ends(Jitter::Decorrelated, at), (floor, floor + 450));
        }
        let near_the_cap = Bounds { floor: 900, ..AT };
        assert_eq!(ends(Jitter::Decorrelated, near_the_cap), (900, 1000));
    }

    #[test]
    fn additive_jitter_stays_whole_on_a_base_of_zero() {
        let at = Bounds { ceiling: 0, ..AT };
        assert_eq!(ends(additive(50), at), (0, 50));
        // The others are shares of the ceiling, and of nothing there is no share.
        for jitter in [Jitter::Full, Jitter::Equal, Jitter::Proportional(1.0)] {
            assert_eq!(ends(jitter, at), (0, 0), "{jitter}");
        }
    }

    /// Every jitter that spreads.
    fn any_spread() -> impl Strategy<Value = Jitter> {
        let spreads = |it: &Jitter| !matches!(it, Jitter::None | Jitter::DecorrelatedClamped);
        (1e-9..=1.0_f64, 1..=1000_u64).prop_flat_map(move |(share, width)| {
            let all = all(share, Duration::from_nanos(width));
            prop::sample::select(all.filter(spreads).collect::<Vec<_>>())
        })
    }

    /// All bounds of a policy that validates with a cap of 1000: small, so that every edge is hit.
    fn any_bounds() -> impl Strategy<Value = Bounds> {
        (1..1000_u64, 0..1000_u64, 0..=1000_u64, 0..=1000_u64).prop_map(
            |(base, floor, ceiling, previous)| Bounds {
                base,
                floor,
                cap: 1000,
                ceiling,
                previous: previous.max(base).max(floor),
            },
        )
    }

    proptest! {
        #[test]
        fn every_interval_lies_between_floor_and_cap(jitter in any_spread(), at in any_bounds()) {
            let (least, most) = ends(jitter, at);
            prop_assert!(at.floor <= least && least <= most && most <= at.cap);
        }

        #[test]
        fn at_the_cap_nothing_but_the_floor_narrows_the_interval(
            jitter in any_spread(),
            at in any_bounds(),
        ) {
            let at = Bounds { ceiling: at.cap, previous: at.cap, ..at };
            let low = match jitter {
                Jitter::Equal => at.cap / 2,
                Jitter::Decorrelated => at.base,
                Jitter::Proportional(share) => at.cap - scale(at.cap, share).min(at.cap),
                Jitter::Additive(width) => at.cap - nanos(width),
                _ => 0,
            };
            prop_assert_eq!(ends(jitter, at), (low.max(at.floor), at.cap));
        }

        #[test]
        fn no_bounds_and_no_parameter_panic(
            base: u64, floor: u64, cap: u64, ceiling: u64, previous: u64, bits: u64,
            share: f64, width: Duration,
        ) {
            let at = Bounds { base, floor, cap, ceiling, previous };
            for jitter in all(share, width) {
                let _ = jitter.draw(at, &mut || bits);
            }
        }

        #[test]
        fn a_jitter_reads_back_what_it_displays(share in 0.0..=1.0_f64, nanos: u64) {
            for jitter in all(share, Duration::from_nanos(nanos)) {
                prop_assert_eq!(jitter.to_string().parse(), Ok(jitter));
            }
        }
    }
}
