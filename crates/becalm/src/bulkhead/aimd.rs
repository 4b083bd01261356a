//! How does a limit follow calls that are dropped?

use core::time::Duration;

use super::Sample;
use super::learned::{Learned, within};

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

impl Aimd {
    /// The state after a call has ended while `in_flight` calls, itself included, were running.
    ///
    /// With less than half of the limit in use nothing grows: an unused limit is no evidence.
    pub(super) fn step(&self, mut state: Learned, sample: Sample, in_flight: u32) -> Learned {
        let is_slow = self.slow.is_some_and(|slow| sample.took >= slow);
        if sample.is_dropped() || is_slow {
            if sample.began() >= state.since {
                state.limit = within(state.limit * self.backoff, self.min, self.max);
                state.since = sample.now.after(Duration::from_nanos(1));
            }
        } else if f64::from(in_flight) * 2.0 >= state.limit {
            state.limit = within(state.limit + 1.0 / state.limit, self.min, self.max);
        }
        state
    }
}

#[cfg(test)]
mod tests {
    use super::super::Outcome;
    use super::super::learned::whole;
    use super::*;
    use crate::time::Instant;

    fn start(aimd: Aimd) -> Learned {
        Learned::start(aimd.initial)
    }

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
        let mut state = start(aimd);
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
        assert_eq!(aimd.step(start(aimd), sample, 9), start(aimd));
        assert!(aimd.step(start(aimd), sample, 10).limit > 20.0);
    }

    #[test]
    fn drops_of_one_round_trip_are_answered_once() {
        let aimd = Aimd::default();
        let mut state = start(aimd);
        for at in 100..110 {
            state = aimd.step(state, ended(at, 50, Outcome::Dropped), 20);
        }
        assert_eq!(whole(state.limit), 18);
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
        let quick = aimd.step(start(aimd), ended(100, 49, Outcome::Completed), 20);
        let slow = aimd.step(start(aimd), ended(100, 50, Outcome::Completed), 20);
        assert!(quick.limit > 20.0 && whole(slow.limit) == 18);
    }
}
