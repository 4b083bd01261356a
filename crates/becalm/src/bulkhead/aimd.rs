//! How does a limit follow calls that are dropped?

use core::time::Duration;

use super::Sample;
use crate::time::Instant;

/// Additive increase, multiplicative decrease: the limit grows by one for each limit's worth of
/// calls that complete, and is multiplied by `backoff` when one is dropped.
///
/// For a dependency that sheds what it cannot serve. The rule is TCP's (Chiu and Jain 1989; RFC
/// 5681, section 3.1), the default figures are those of Netflix's concurrency-limits 0.5
/// (`AIMDLimit`), with two differences that TCP makes too. Growth is by one for each round trip,
/// not for each call, which doubles the limit in a round trip. And drops of calls that began
/// before a decrease are not counted again: they tell of the old limit.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Aimd {
    /// The limit to begin with, in calls at once. From `min` to `max`. Default 20.
    pub initial: u32,
    /// The lowest limit. From 1. Default 1, so that it can always learn that all is well again.
    pub min: u32,
    /// The highest limit. To 1 000 000. Default 200.
    pub max: u32,
    /// What is left of the limit after a drop. From 0.1 to 0.99. Default 0.9.
    pub backoff: f64,
    /// A call that takes as long as this counts as dropped. Above zero. Default `None`: what is
    /// slow for one dependency is normal for another.
    pub slow: Option<Duration>,
}

impl Default for Aimd {
    fn default() -> Self {
        Self {
            initial: 20,
            min: 1,
            max: 200,
            backoff: 0.9,
            slow: None,
        }
    }
}

/// What a limit by [`Aimd`] remembers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AimdState {
    pub(super) limit: f64,
    /// A drop of a call that began earlier has been answered.
    pub(super) since: Instant,
}

impl AimdState {
    /// Calls that may run at once.
    pub fn limit(&self) -> u32 {
        whole(self.limit)
    }
}

impl Aimd {
    /// The state before the first call.
    pub fn start(&self) -> AimdState {
        AimdState {
            limit: f64::from(self.initial),
            since: Instant::ZERO,
        }
    }

    /// The state that goes on under this configuration: what was learned, within its bounds.
    pub(super) fn resume(&self, state: AimdState) -> AimdState {
        let limit = within(state.limit, self.min, self.max);
        AimdState { limit, ..state }
    }

    /// The state after a call has ended while `in_flight` calls, itself included, were running.
    ///
    /// With less than half of the limit in use nothing grows: an unused limit is no evidence.
    #[must_use]
    pub fn step(&self, state: AimdState, sample: Sample, in_flight: u32) -> AimdState {
        let AimdState { limit, since } = state;
        let is_slow = self.slow.is_some_and(|slow| sample.took >= slow);
        if sample.is_dropped() || is_slow {
            if sample.began() < since {
                return state;
            }
            return AimdState {
                limit: within(limit * self.backoff, self.min, self.max),
                since: sample.now.after(Duration::from_nanos(1)),
            };
        }
        if f64::from(in_flight) * 2.0 < limit {
            return state;
        }
        let limit = within(limit + 1.0 / limit, self.min, self.max);
        AimdState { limit, since }
    }
}

/// Brought into the bounds of a limit, whatever they are.
pub(super) fn within(limit: f64, min: u32, max: u32) -> f64 {
    limit.min(f64::from(max)).max(f64::from(min)).max(1.0)
}

/// Whole calls.
pub(super) fn whole(limit: f64) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let whole = limit as u32;
    whole
}

#[cfg(test)]
mod tests {
    use super::super::Outcome;
    use super::*;

    fn ended(at_millis: u64, took_millis: u64, outcome: Outcome) -> Sample {
        Sample {
            took: Duration::from_millis(took_millis),
            now: Instant::ZERO.after(Duration::from_millis(at_millis)),
            outcome,
        }
    }

    #[test]
    fn it_grows_by_one_in_a_round_trip_of_a_full_limit() {
        let aimd = Aimd::default();
        let mut state = aimd.start();
        for _ in 0..20 {
            state = aimd.step(state, ended(10, 10, Outcome::Completed), 20);
        }
        // 20 steps of 1/limit, the limit growing meanwhile.
        assert!((20.97..21.0).contains(&state.limit), "{}", state.limit);
    }

    #[test]
    fn an_unused_limit_does_not_grow() {
        let aimd = Aimd::default();
        let sample = ended(10, 10, Outcome::Completed);
        assert_eq!(aimd.step(aimd.start(), sample, 9), aimd.start());
        assert!(aimd.step(aimd.start(), sample, 10).limit > 20.0);
    }

    #[test]
    fn drops_of_one_round_trip_are_answered_once() {
        let aimd = Aimd::default();
        let mut state = aimd.start();
        for at in 100..110 {
            state = aimd.step(state, ended(at, 50, Outcome::Dropped), 20);
        }
        assert_eq!(state.limit(), 18);
        // One that began after the decrease at 100 ms.
        let state = aimd.step(state, ended(120, 19, Outcome::Dropped), 20);
        assert!((state.limit - 16.2).abs() < 1e-9);
    }

    #[test]
    fn a_slow_call_counts_as_dropped() {
        let aimd = Aimd {
            slow: Some(Duration::from_millis(50)),
            ..Aimd::default()
        };
        let quick = aimd.step(aimd.start(), ended(100, 49, Outcome::Completed), 20);
        let slow = aimd.step(aimd.start(), ended(100, 50, Outcome::Completed), 20);
        assert!(quick.limit > 20.0 && slow.limit() == 18);
    }
}
