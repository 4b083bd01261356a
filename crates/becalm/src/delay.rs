//! How long is the next wait? Growth, jitter and the timer's tick, in nanoseconds.

use crate::backoff::Backoff;
use crate::duration::nanos;
use crate::jitter::{Bounds, Jitter};
use crate::policy::Policy;
use crate::rng::{Random, uniform};

/// Ceilings kept ready: a default policy needs three.
const LADDER: usize = 16;

/// The part of a policy that computes delays, in nanoseconds.
#[derive(Debug, Clone)]
pub(crate) struct DelayRule {
    backoff: Backoff,
    jitter: Jitter,
    base: u64,
    throttled_base: u64,
    multiplier: f64,
    pub cap: u64,
    pub floor: u64,
    /// None for a custom growth, which is asked only for retries that come: it may be a table of
    /// just those.
    ladder: Option<[u64; LADDER]>,
}

impl DelayRule {
    pub fn of(policy: &Policy) -> Self {
        let (base, cap) = (nanos(policy.base), nanos(policy.cap));
        let (backoff, multiplier) = (&policy.backoff, policy.multiplier);
        let ceiling = |step| backoff.growth(base, multiplier, step).min(cap);
        let ladder = || core::array::from_fn(|step| u32::try_from(step).map_or(cap, ceiling));
        Self {
            backoff: backoff.clone(),
            jitter: policy.jitter,
            base,
            throttled_base: policy.throttled_base.map_or(base, nanos),
            multiplier,
            cap,
            floor: nanos(policy.floor),
            ladder: (!matches!(policy.backoff, Backoff::Custom(_))).then(ladder),
        }
    }

    /// The base after a failure of this kind.
    fn base(&self, throttled: bool) -> u64 {
        if throttled {
            self.throttled_base
        } else {
            self.base
        }
    }

    /// `min(cap, growth(step))`, step from 0.
    #[inline]
    pub fn ceiling(&self, step: u32, throttled: bool) -> u64 {
        if let Some(ladder) = &self.ladder {
            if !throttled || self.throttled_base == self.base {
                if let Some(ready) = ladder.get(step as usize) {
                    return *ready;
                }
                // A growth that has reached the cap stays there.
                if ladder[LADDER - 1] == self.cap {
                    return self.cap;
                }
            }
        }
        self.backoff
            .growth(self.base(throttled), self.multiplier, step)
            .min(self.cap)
    }

    /// What a draw for this step looks at; `previous` is the call's last computed delay.
    #[inline]
    pub fn bounds(&self, step: u32, throttled: bool, previous: Option<u64>) -> Bounds {
        let base = self.base(throttled);
        Bounds {
            base,
            floor: self.floor,
            cap: self.cap,
            ceiling: self.ceiling(step, throttled),
            // Where the base has risen above it, the draw starts anew.
            previous: previous.map_or(base, |previous| previous.max(base)),
        }
    }

    /// A computed delay, before it meets the timer's tick.
    #[inline]
    pub fn draw<R: Random + ?Sized>(
        &self,
        step: u32,
        throttled: bool,
        previous: Option<u64>,
        random: &mut R,
    ) -> u64 {
        self.jitter
            .draw(self.bounds(step, throttled, previous), random)
    }
}

/// Rounds a delay to a whole number of timer ticks, up or down at random so that its mean is kept
/// and a window narrower than a tick is still spread; never below `low` and never above `high`.
///
/// Where the window starts or ends between two ticks, so that only one of the two lies in it, the
/// delay goes there or one tick further in, at the odds of its distance from that end: the window
/// is moved to the tick, by less than one, instead of piling up on it. Where fewer than two ticks
/// lie in the window, the delay stays as it was drawn.
#[inline(always)]
#[allow(clippy::inline_always, reason = "see `call::landing::follow`")]
pub(crate) fn round_to_tick<R: Random + ?Sized>(
    delay: u64,
    low: u64,
    high: u64,
    tick: u64,
    random: &mut R,
) -> u64 {
    if tick <= 1 || delay % tick == 0 {
        return delay;
    }
    let past = delay % tick;
    let down = delay - past;
    let up = down.checked_add(tick).filter(|up| *up <= high);
    let mut odds = |of: u64| uniform(random, 0, tick - 1) < of;
    match (down >= low, up) {
        (true, Some(up)) if odds(past) => up,
        (true, Some(_)) => down,
        (false, Some(up)) if high - up >= tick => up + if odds(delay - low) { tick } else { 0 },
        (true, None) if down - low >= tick => down - if odds(high - delay) { tick } else { 0 },
        _ => delay,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SplitMix64;
    use core::time::Duration;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// Least and greatest delay of a step.
    fn ends(rule: &DelayRule, step: u32, throttled: bool, previous: Option<u64>) -> (u64, u64) {
        let draw = |bits: u64| rule.draw(step, throttled, previous, &mut || bits) / MS;
        (draw(0), draw(u64::MAX))
    }

    #[test]
    fn the_ladder_holds_what_the_growth_computes() {
        for policy in [
            Policy::exponential(ms(100)).multiplier(1.7),
            Policy::linear(ms(100)),
            Policy::fibonacci(ms(100)),
            Policy::fixed(ms(100)),
        ] {
            let policy = policy.attempts(Policy::UNLIMITED).cap(ms(5000));
            let rule = DelayRule::of(&policy);
            for step in (0..40).chain([u32::MAX - 1, u32::MAX]) {
                let computed = policy.backoff.growth(100 * MS, 1.7, step).min(5000 * MS);
                assert_eq!(rule.ceiling(step, false), computed, "{:?}", policy.backoff);
            }
        }
    }

    #[test]
    fn a_custom_growth_is_asked_only_for_retries_that_come() {
        let table = |n: u32| ms([1, 2, 5][n as usize]);
        let rule = DelayRule::of(&Policy::custom(table).attempts(4));
        let ceilings = [0, 1, 2].map(|step| rule.ceiling(step, false) / MS);
        assert_eq!(ceilings, [1, 2, 5]);
    }

    #[test]
    fn a_throttled_failure_grows_from_its_own_base() {
        let policy = Policy::exponential(ms(50)).throttled_base(ms(1000));
        let rule = DelayRule::of(&policy);
        let ceilings = |throttled| [0, 1, 2].map(|step| rule.ceiling(step, throttled) / MS);
        assert_eq!(ceilings(false), [50, 100, 200]);
        assert_eq!(ceilings(true), [1000, 2000, 4000]);
        assert_eq!(ends(&rule, 1, true, None), (0, 2000));
    }

    #[test]
    fn decorrelated_starts_at_the_base_and_triples_the_previous_delay() {
        let rule = DelayRule::of(&Policy::exponential(ms(100)).jitter(Jitter::Decorrelated));
        assert_eq!(ends(&rule, 0, false, None), (100, 300));
        assert_eq!(
            ends(&rule, 7, false, None),
            (100, 300),
            "the step plays no part"
        );
        assert_eq!(ends(&rule, 1, false, Some(250 * MS)), (100, 750));
        assert_eq!(ends(&rule, 1, false, Some(19_000 * MS)), (100, 20_000));
    }

    #[test]
    fn decorrelated_is_still_spread_when_a_throttled_base_is_above_the_previous_delay() {
        let policy = Policy::exponential(ms(100)).throttled_base(ms(1000));
        let rule = DelayRule::of(&policy.jitter(Jitter::Decorrelated));
        assert_eq!(ends(&rule, 1, true, Some(150 * MS)), (1000, 3000));
    }

    /// The rounded values for all draws of a source that gives equal parts of the unit interval.
    fn rounded(delay: u64, (low, high): (u64, u64), tick: u64) -> Vec<u64> {
        let part = |of: u64| u64::MAX / 1000 * of + u64::MAX / 2000;
        (0..1000)
            .map(|of| round_to_tick(delay, low, high, tick, &mut || part(of)))
            .collect()
    }

    fn share(values: &[u64], of: u64) -> usize {
        values.iter().filter(|value| **value == of).count()
    }

    #[test]
    fn a_delay_between_two_ticks_goes_to_either_with_the_odds_that_keep_its_mean() {
        let values = rounded(1300, (0, 10_000), 1000);
        assert_eq!((share(&values, 1000), share(&values, 2000)), (700, 300));
        assert!(rounded(2000, (0, 10_000), 1000).iter().all(|v| *v == 2000));
    }

    #[test]
    fn a_window_that_starts_between_two_ticks_is_moved_up_to_one_and_stays_spread() {
        // From 400 on, 1 tick is the first: 700 is 300 into the window.
        let values = rounded(700, (400, 10_000), 1000);
        assert_eq!((share(&values, 1000), share(&values, 2000)), (700, 300));
        assert!(rounded(400, (400, 10_000), 1000).iter().all(|v| *v == 1000));
    }

    #[test]
    fn a_window_that_ends_between_two_ticks_is_moved_down_to_one_and_stays_spread() {
        let values = rounded(9300, (0, 9400), 1000);
        assert_eq!((share(&values, 9000), share(&values, 8000)), (900, 100));
    }

    #[test]
    fn a_window_with_fewer_than_two_ticks_in_it_is_left_as_it_was_drawn() {
        // A cap, or a floor and a cap, that a coarse timer cannot tell apart.
        for (delay, window) in [(300, (0, 900)), (1300, (400, 1900)), (1300, (1200, 1400))] {
            assert!(rounded(delay, window, 1000).iter().all(|v| *v == delay));
        }
        let (delay, tick) = (u64::MAX - 7, u64::MAX - 9); // the next tick is beyond the last instant
        assert!(
            rounded(delay, (0, u64::MAX), tick)
                .iter()
                .all(|v| *v == tick || *v == 0)
        );
    }

    proptest! {
        #[test]
        fn rounding_never_leaves_the_window_and_moves_less_than_two_ticks(
            ends in any::<[u64; 3]>(), to_the_end: bool, tick: u64, seed: u64,
        ) {
            let mut ordered = ends;
            if to_the_end {
                ordered[0] = u64::MAX;
            }
            ordered.sort_unstable();
            let [low, delay, high] = ordered;
            let rounded = round_to_tick(delay, low, high, tick, &mut SplitMix64::new(seed));
            prop_assert!(low <= rounded && rounded <= high);
            prop_assert!(rounded.abs_diff(delay) < tick.saturating_mul(2).max(1));
            prop_assert!(rounded == delay || rounded % tick == 0);
        }

        #[test]
        fn a_small_window_behaves_like_a_large_one(
            low in 0..50_u64, width in 0..50_u64, part in 0..50_u64, tick in 0..30_u64, bits: u64,
        ) {
            let (delay, high) = (low + part.min(width), low + width);
            let rounded = round_to_tick(delay, low, high, tick, &mut || bits);
            prop_assert!(low <= rounded && rounded <= high);
            prop_assert!(rounded.abs_diff(delay) < (tick * 2).max(1));
            prop_assert!(rounded == delay || rounded % tick == 0);
        }
    }
}
