//! Which delays does one sampled call draw?

use core::time::Duration;

use crate::delay::DelayRule;
use crate::policy::Policy;
use crate::rng::Random;

impl Policy {
    /// The delays of one sampled call that fails every time without a hint: one fewer than its
    /// attempts, not rounded to any timer's tick. Endless for [`Policy::UNLIMITED`].
    ///
    /// ```
    /// use becalm::{Policy, rng::SplitMix64};
    /// let delays: Vec<_> = Policy::default().delays(SplitMix64::new(7)).collect();
    /// assert_eq!(delays.len(), 3);
    /// ```
    pub fn delays<R: Random>(&self, random: R) -> impl Iterator<Item = Duration> + use<R> {
        Delays {
            rule: DelayRule::of(self),
            left: self.attempts,
            step: 0,
            previous: None,
            random,
        }
    }
}

struct Delays<R> {
    rule: DelayRule,
    left: u32,
    step: u32,
    previous: Option<u64>,
    random: R,
}

impl<R: Random> Iterator for Delays<R> {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        if self.left != Policy::UNLIMITED {
            self.left = self.left.checked_sub(1).filter(|left| *left > 0)?;
        }
        let delay = self
            .rule
            .draw(self.step, false, self.previous, &mut self.random);
        self.step = self.step.saturating_add(1);
        self.previous = Some(delay);
        Some(Duration::from_nanos(delay))
    }
}
