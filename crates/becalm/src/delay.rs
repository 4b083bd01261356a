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
    ladder: [u64; LADDER],
    /// From the end of the ladder on, every ceiling is the cap.
    levels_off: bool,
}

impl DelayRule {
    pub fn of(policy: &Policy) -> Self {
        let base = nanos(policy.base);
        let mut rule = Self {
            backoff: policy.backoff,
            jitter: policy.jitter,
            base,
            throttled_base: policy.throttled_base.map_or(base, nanos),
            multiplier: policy.multiplier,
            cap: nanos(policy.cap),
            floor: nanos(policy.floor),
            ladder: [0; LADDER],
            levels_off: false,
        };
        for (step, rung) in (0..).zip(&mut rule.ladder) {
            *rung = policy
                .backoff
                .growth(base, policy.multiplier, step)
                .min(rule.cap);
        }
        // What a custom function does next is its own affair.
        let grows = !matches!(policy.backoff, Backoff::Custom(_));
        rule.levels_off = grows && rule.ladder[LADDER - 1] == rule.cap;
        rule
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
        if !throttled || self.throttled_base == self.base {
            if let Some(ready) = self.ladder.get(step as usize) {
                return *ready;
            }
            if self.levels_off {
                return self.cap;
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
            previous: previous.unwrap_or(base),
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
/// Where no whole number of ticks lies between them, the delay stays as it was drawn.
#[inline]
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
    let up = down.saturating_add(tick);
    match (down >= low, up <= high) {
        (true, true) if uniform(random, 0, tick - 1) < past => up,
        (true, _) => down,
        (false, true) => up,
        (false, false) => delay,
    }
}
