//! What will a policy do to a call that always fails, before it does it?
//!
//! Exact bounds and means, not samples: of every wait of a call that fails transiently each time,
//! without hints, and that neither the budget nor the deadline stops. The bounds are those of the
//! very interval from which the call draws, so a plan cannot drift from what is shipped. The
//! rounding to a timer's tick, which moves a delay by less than a tick, is not part of it.

mod decorrelated;
mod delays;

use core::iter::FusedIterator;
use core::time::Duration;

use crate::delay::DelayRule;
use crate::jitter::Jitter;
use crate::policy::Policy;

use decorrelated::Means;

/// What is known of one retry's delay in advance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// Which retry, from 1: the retry n is attempt n + 1.
    pub retry: u32,
    /// What the delay is drawn below (or around): `min(cap, growth)`. Under the decorrelated
    /// jitters, which look at the previous delay instead, the largest that
    /// `min(cap, 3 x previous)` can be.
    pub ceiling: Duration,
    /// The shortest delay that can be drawn.
    pub least: Duration,
    /// The mean of the delay over all that can be drawn, in this retry and those before (precision:
    /// see [`Policy::schedule`]).
    pub mean: Duration,
    /// The longest delay that can be drawn.
    pub most: Duration,
}

struct Schedule {
    jitter: Jitter,
    rule: DelayRule,
    /// Attempts that are still to come.
    left: u32,
    /// Retries so far.
    passed: u32,
    /// The shortest and the longest previous delay, as the draw sees it.
    shortest: Option<u64>,
    longest: Option<u64>,
    means: Option<Means>,
}

impl Policy {
    /// The exact plan of a call that fails every time: per retry ceiling, least, mean and most.
    ///
    /// `least` and `most` are exact. `mean` is the middle of the interval, exact to half a nanosecond,
    /// under every jitter but the decorrelated ones. There it depends on all draws before: until the
    /// first retry that can reach the cap it is `E[n] = (base + 3 E[n - 1]) / 2`, exact; from there on
    /// it is computed by quadrature for a continuous delay, without sampling. The relative error
    /// of that is below a tenth of a nanosecond over the base: 10^-9 for 100 ms.
    ///
    /// Endless for [`Policy::UNLIMITED`]: take as many steps as you want. No policy panics, valid
    /// or not.
    ///
    /// ```
    /// use becalm::Policy;
    /// use std::time::Duration;
    ///
    /// let worst: Duration = Policy::default().schedule().map(|step| step.most).sum();
    /// assert_eq!(worst, Duration::from_millis(100 + 200 + 400));
    /// ```
    pub fn schedule(&self) -> impl FusedIterator<Item = Step> + use<> {
        let rule = DelayRule::of(self);
        Schedule {
            jitter: self.jitter,
            left: self.attempts,
            passed: 0,
            shortest: None,
            longest: None,
            means: Means::of(self.jitter, &rule),
            rule,
        }
    }
}

impl Iterator for Schedule {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if self.left != Policy::UNLIMITED {
            self.left = self.left.checked_sub(1).filter(|left| *left > 0)?;
        }
        let least = self.kept(self.interval(self.shortest).0);
        let most = self.kept(self.interval(self.longest).1);
        let (ceiling, mean) = match &mut self.means {
            Some(means) => (most, means.next().clamp(least, most)),
            None => (self.rule.ceiling(self.passed, false), least.midpoint(most)),
        };
        (self.shortest, self.longest) = (Some(least), Some(most));
        self.passed = self.passed.saturating_add(1);
        Some(Step {
            retry: self.passed,
            ceiling: Duration::from_nanos(ceiling),
            least: Duration::from_nanos(least),
            mean: Duration::from_nanos(mean),
            most: Duration::from_nanos(most),
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match usize::try_from(self.left.saturating_sub(1)) {
            Ok(left) if self.left != Policy::UNLIMITED => (left, Some(left)),
            _ => (usize::MAX, None),
        }
    }
}

impl FusedIterator for Schedule {}

impl Schedule {
    /// The interval of the next draw after this previous delay.
    fn interval(&self, previous: Option<u64>) -> (u64, u64) {
        let bounds = self.rule.bounds(self.passed, false, previous);
        self.jitter.interval(bounds)
    }

    /// What happens to a draw from that interval.
    fn kept(&self, drawn: u64) -> u64 {
        match self.jitter {
            Jitter::DecorrelatedClamped => drawn.min(self.rule.cap),
            _ => drawn,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;
    use crate::backoff::Backoff;
    use crate::rng::SplitMix64;

    fn policy(jitter: Jitter) -> Policy {
        Policy::exponential(Duration::from_millis(100)).jitter(jitter)
    }

    /// Ceiling, least, mean and most in microseconds.
    fn micros(jitter: Jitter) -> Vec<[u128; 4]> {
        let step = |it: Step| [it.ceiling, it.least, it.mean, it.most].map(|it| it.as_micros());
        policy(jitter).attempts(5).schedule().map(step).collect()
    }

    #[test]
    fn the_first_steps_are_the_textbook_ones() {
        assert_eq!(
            micros(Jitter::None),
            [[100_000; 4], [200_000; 4], [400_000; 4], [800_000; 4]]
        );
        assert_eq!(
            micros(Jitter::Full),
            [
                [100_000, 0, 50_000, 100_000],
                [200_000, 0, 100_000, 200_000],
                [400_000, 0, 200_000, 400_000],
                [800_000, 0, 400_000, 800_000],
            ]
        );
        assert_eq!(
            micros(Jitter::Equal),
            [
                [100_000, 50_000, 75_000, 100_000],
                [200_000, 100_000, 150_000, 200_000],
                [400_000, 200_000, 300_000, 400_000],
                [800_000, 400_000, 600_000, 800_000],
            ]
        );
        assert_eq!(
            micros(Jitter::Decorrelated),
            [
                [300_000, 100_000, 200_000, 300_000],
                [900_000, 100_000, 350_000, 900_000],
                [2_700_000, 100_000, 575_000, 2_700_000],
                [8_100_000, 100_000, 912_500, 8_100_000],
            ]
        );
        assert_eq!(
            micros(Jitter::Additive(Duration::from_millis(50)))[3],
            [800_000, 800_000, 825_000, 850_000]
        );
        assert_eq!(
            micros(Jitter::Proportional(0.25))[3],
            [800_000, 600_000, 800_000, 1_000_000]
        );
    }

    #[test]
    fn at_the_cap_the_bounds_stay_apart() {
        let at_cap = |jitter| {
            let policy = policy(jitter).cap(Duration::from_millis(250));
            let step = policy.schedule().nth(2).unwrap();
            (step.least.as_millis(), step.most.as_millis())
        };
        assert_eq!(at_cap(Jitter::Full), (0, 250));
        assert_eq!(at_cap(Jitter::Equal), (125, 250));
        assert_eq!(at_cap(Jitter::Proportional(0.2)), (200, 250));
        assert_eq!(
            at_cap(Jitter::Additive(Duration::from_millis(50))),
            (200, 250)
        );
        assert_eq!(at_cap(Jitter::Decorrelated), (100, 250));
    }

    #[test]
    fn there_is_a_step_for_each_retry_and_no_more() {
        let retries = |attempts| Policy::default().attempts(attempts).schedule();
        assert_eq!(retries(1).count(), 0);
        assert_eq!(retries(0).count(), 0);
        assert_eq!(retries(7).size_hint(), (6, Some(6)));
        assert!((1..7).eq(retries(7).map(|step| step.retry)));
        assert_eq!(retries(Policy::UNLIMITED).take(100).count(), 100);
    }

    /// All delays of many calls, in nanoseconds, retry by retry.
    fn delays(policy: &Policy, calls: u64) -> Vec<Vec<f64>> {
        let mut by_retry = alloc::vec![Vec::new(); policy.attempts as usize - 1];
        for call in 0..calls {
            let random = SplitMix64::new(call.wrapping_mul(0x9e37_79b9));
            for (sample, delay) in by_retry.iter_mut().zip(policy.delays(random)) {
                sample.push(delay.as_secs_f64() * 1e9);
            }
        }
        by_retry
    }

    #[expect(clippy::cast_precision_loss)]
    fn mean_and_variance(sample: &[f64]) -> (f64, f64) {
        let count = sample.len() as f64;
        let mean = sample.iter().sum::<f64>() / count;
        let squares = sample.iter().map(|it| (it - mean) * (it - mean));
        (mean, squares.sum::<f64>() / count)
    }

    /// 40 000 calls: the sampled mean is off by at most 5 standard errors, once in two million.
    #[test]
    fn the_means_are_those_of_many_calls() {
        for jitter in Jitter::SAMPLES.iter().copied() {
            for (floor, cap) in [(0, 20_000), (0, 500), (150, 1_000), (450, 500)] {
                let policy = policy(jitter)
                    .attempts(9)
                    .floor(Duration::from_millis(floor))
                    .cap(Duration::from_millis(cap));
                for (step, sample) in policy.schedule().zip(delays(&policy, 40_000)) {
                    let (mean, variance) = mean_and_variance(&sample);
                    let expected = step.mean.as_secs_f64() * 1e9;
                    let tolerance = 5.0 * (variance / 40_000.0).sqrt() + 1.0;
                    assert!(
                        (mean - expected).abs() <= tolerance,
                        "{jitter}, cap {cap}: {mean}, {step:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_variances_are_the_textbook_ones() {
        for (jitter, share) in [(Jitter::Full, 12.0), (Jitter::Equal, 48.0)] {
            let policy = policy(jitter).attempts(5);
            for (step, sample) in policy.schedule().zip(delays(&policy, 40_000)) {
                let ceiling = step.ceiling.as_secs_f64() * 1e9;
                let (_, variance) = mean_and_variance(&sample);
                let expected = ceiling * ceiling / share;
                assert!(
                    (variance / expected - 1.0).abs() < 0.03,
                    "{jitter}: {variance}, not {expected}"
                );
            }
        }
    }

    fn jitters() -> impl Strategy<Value = Jitter> {
        prop::sample::select(Jitter::SAMPLES)
    }

    fn backoffs() -> impl Strategy<Value = Backoff> {
        prop::sample::select(
            &[
                Backoff::Fixed,
                Backoff::Linear,
                Backoff::Exponential,
                Backoff::Fibonacci,
            ][..],
        )
    }

    proptest! {
        #[test]
        fn every_draw_lies_within_its_step(
            jitter in jitters(), backoff in backoffs(), multiplier in 1.0_f64..10.0,
            base in 1_u64..1 << 40, floor in 0_u64..1 << 40, cap in 1_u64..1 << 42, seed: u64,
        ) {
            let policy = policy(jitter)
                .backoff(backoff)
                .multiplier(multiplier)
                .base(Duration::from_nanos(base))
                .floor(Duration::from_nanos(floor))
                .cap(Duration::from_nanos(cap))
                .attempts(12);
            prop_assume!(policy.validate().is_ok());
            let delays: Vec<Duration> = policy.delays(SplitMix64::new(seed)).collect();
            prop_assert_eq!(policy.schedule().count(), delays.len());
            for (step, delay) in policy.schedule().zip(delays) {
                prop_assert!(step.least <= step.mean && step.mean <= step.most, "{:?}", step);
                prop_assert!(step.least <= delay && delay <= step.most, "{delay:?}, {step:?}");
                prop_assert!(step.most <= policy.cap, "{step:?}");
            }
        }

        /// Also those that would be refused.
        #[test]
        fn no_policy_panics(
            jitter in jitters(), share: f64, multiplier: f64, base: u64, floor: u64, cap: u64,
        ) {
            for jitter in [jitter, Jitter::Proportional(share), Jitter::Additive(Duration::MAX)] {
                let policy = policy(jitter)
                    .multiplier(multiplier)
                    .base(Duration::from_nanos(base))
                    .floor(Duration::from_nanos(floor))
                    .cap(Duration::from_nanos(cap))
                    .attempts(Policy::UNLIMITED);
                for step in policy.schedule().take(70) {
                    prop_assert!(step.least <= step.mean && step.mean <= step.most, "{step:?}");
                }
            }
        }
    }
}
