//! When were calls recorded, and when are they played?

use std::sync::Arc;
use std::time::Duration;

/// Recorded times of calls, in order, with the speed at which they are played.
///
/// What is played faster is over sooner, and begins again until the recording was to end. It takes no
/// more memory than the recording, however fast.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    times: Arc<[Duration]>,
    played: Option<Played>,
}

/// How a recording is played that is not played as it is.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Played {
    /// Times as fast.
    speed: f64,
    /// When it ends, however fast it is.
    until: Duration,
    /// Calls that are recorded up to then.
    calls: usize,
    /// How long these take at this speed.
    round: Duration,
}

impl Recorded {
    /// The times as they were recorded, at whatever speed they are played.
    pub fn times(&self) -> &[Duration] {
        &self.times
    }

    /// When the call with this index begins, from 0; `None` behind the last.
    #[inline]
    pub fn at(&self, index: usize) -> Option<Duration> {
        match &self.played {
            None => self.times.get(index).copied(),
            Some(played) => played.at(&self.times, index),
        }
    }

    /// When each call begins, in order.
    pub fn iter(&self) -> impl Iterator<Item = Duration> {
        (0..).map_while(|index| self.at(index))
    }

    /// When the last call begins.
    pub fn last(&self) -> Option<Duration> {
        self.at(self.before(Duration::MAX).checked_sub(1)?)
    }

    /// Calls that begin before this time: counted without playing them.
    pub fn before(&self, time: Duration) -> usize {
        let is_before = |index| self.at(index).is_some_and(|at| at < time);
        let (mut low, mut high) = (0, self.most());
        while low < high {
            let middle = low + (high - low) / 2;
            if is_before(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Plays the calls so many times as fast, up to the last of them or to this horizon. A recording of a
    /// single instant stays as it is.
    #[must_use]
    pub(crate) fn faster(&self, factor: f64, horizon: Duration) -> Self {
        let (speed, until) = match &self.played {
            None => (1.0, self.times.last().copied().unwrap_or_default()),
            Some(played) => (played.speed, played.until),
        };
        let played = Played::new(&self.times, speed * factor, until.min(horizon));
        Self {
            times: self.times.clone(),
            played: played.or(self.played),
        }
    }

    /// An index that no call has, nor any later one.
    fn most(&self) -> usize {
        match &self.played {
            None => self.times.len(),
            Some(played) => {
                let rounds = played.until.as_nanos() / played.round.as_nanos().max(1) + 1;
                let rounds = usize::try_from(rounds).unwrap_or(usize::MAX);
                rounds.saturating_mul(played.calls)
            }
        }
    }
}

impl Played {
    fn new(times: &[Duration], speed: f64, until: Duration) -> Option<Self> {
        // No clock has shorter steps.
        let round = scaled(until, 1.0 / speed).max(Duration::from_nanos(1));
        let calls = times.partition_point(|time| *time <= until);
        (!until.is_zero() && calls > 0).then_some(Self {
            speed,
            until,
            calls,
            round,
        })
    }

    fn at(&self, times: &[Duration], index: usize) -> Option<Duration> {
        let rounds = (index / self.calls) as u128;
        let began = self.round.as_nanos().checked_mul(rounds)?;
        let began = Duration::from_nanos(u64::try_from(began).ok()?);
        let time = times.get(index % self.calls)?;
        let at = began.checked_add(scaled(*time, 1.0 / self.speed))?;
        (at <= self.until).then_some(at)
    }
}

impl From<Arc<[Duration]>> for Recorded {
    fn from(times: Arc<[Duration]>) -> Self {
        Self {
            times,
            played: None,
        }
    }
}

impl From<Vec<Duration>> for Recorded {
    fn from(times: Vec<Duration>) -> Self {
        Arc::<[Duration]>::from(times).into()
    }
}

impl<const COUNT: usize> From<[Duration; COUNT]> for Recorded {
    fn from(times: [Duration; COUNT]) -> Self {
        Arc::<[Duration]>::from(times).into()
    }
}

impl FromIterator<Duration> for Recorded {
    fn from_iter<I: IntoIterator<Item = Duration>>(times: I) -> Self {
        Arc::<[Duration]>::from_iter(times).into()
    }
}

/// So many times as long, to the nanosecond below; what cannot be is the longest that can.
pub(crate) fn scaled(duration: Duration, factor: f64) -> Duration {
    Duration::try_from_secs_f64(duration.as_secs_f64() * factor).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds<const COUNT: usize>(seconds: [f64; COUNT]) -> [Duration; COUNT] {
        seconds.map(Duration::from_secs_f64)
    }

    #[test]
    fn s3_a_recording_takes_no_more_memory_however_fast_it_is_played() {
        let recorded = Recorded::from(seconds([1.0, 2.0, 10.0]));
        let fast = recorded.faster(1e9, Duration::MAX);
        assert!(Arc::ptr_eq(&fast.times, &recorded.times));
        // Three in 10 ns, for 10 s.
        let calls = fast.before(Duration::MAX);
        assert_eq!(calls, 3_000_000_000);
        assert_eq!(fast.at(calls - 1), Some(Duration::from_secs(10)));
        assert_eq!(fast.at(calls), None);
    }

    #[test]
    fn s3_no_recording_is_too_fast_to_be_played_faster() {
        let recorded = Recorded::from(seconds([1.0, 2.0, 10.0]));
        let fastest = recorded.faster(1e300, Duration::MAX);
        assert_eq!(fastest.at(2), Some(Duration::ZERO));
        assert_eq!(fastest.at(3), Some(Duration::from_nanos(1)));
    }

    #[test]
    fn what_is_counted_is_what_is_played() {
        let recorded = Recorded::from(seconds([0.0, 1.0, 1.0, 2.5, 10.0]));
        for factor in [0.05, 0.5, 1.0, 1.7, 2.0, 33.3] {
            let played = recorded.faster(factor, Duration::MAX);
            assert!(played.iter().is_sorted(), "{factor}");
            for before in seconds([0.0, 0.1, 1.0, 5.0, 10.0, 11.0]) {
                let counted = played.iter().filter(|at| *at < before).count();
                assert_eq!(played.before(before), counted, "{factor} {before:?}");
            }
        }
    }

    #[test]
    fn twice_as_fast_twice_is_four_times_as_fast() {
        let recorded = Recorded::from(seconds([1.0, 2.0, 10.0]));
        let horizon = Duration::from_secs(20);
        let twice = recorded.faster(2.0, horizon);
        assert_eq!(twice.faster(2.0, horizon), recorded.faster(4.0, horizon));
    }

    #[test]
    fn odd_recordings_and_speeds_are_played_without_a_panic() {
        let empty = Recorded::from([]);
        let instant = Recorded::from([Duration::ZERO]);
        let longest = Recorded::from([Duration::MAX; 2]);
        for recorded in [empty, instant, longest] {
            for factor in [0.0, 1e-300, 1e300, f64::INFINITY, f64::NAN, -1.0] {
                let played = recorded.faster(factor, Duration::MAX);
                let _ = played.at(usize::MAX);
                assert!(played.before(Duration::MAX) <= played.most());
            }
        }
    }
}
