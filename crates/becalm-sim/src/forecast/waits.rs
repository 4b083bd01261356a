//! What will a call do that fails every time, and for how long?

use std::time::Duration;

use becalm::Policy;
use becalm::schedule::Step;
use serde::{Serialize, Serializer};

use super::millis::{Millis, maybe, millis};

/// Three sums or moments of the same thing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// The least that can be drawn.
    #[serde(rename = "min_ms", serialize_with = "millis")]
    pub least: Duration,
    /// The mean of all that can be drawn.
    #[serde(rename = "mean_ms", serialize_with = "millis")]
    pub mean: Duration,
    /// The most that can be drawn.
    #[serde(rename = "max_ms", serialize_with = "millis")]
    pub most: Duration,
}

/// One retry, and all waits up to its start.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Row {
    /// Which retry, from 1.
    pub retry: u32,
    /// Whether the deadline lets it start.
    #[serde(rename = "starts")]
    pub fate: Fate,
    /// What its delay is drawn below.
    #[serde(rename = "ceiling_ms", serialize_with = "millis")]
    pub ceiling: Duration,
    /// Its delay.
    #[serde(flatten)]
    pub delay: Spread,
    /// All delays up to its start.
    #[serde(flatten, serialize_with = "cumulative")]
    pub cumulative: Spread,
}

/// Whether the deadline lets a retry start. A call stops when now + delay >= deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Fate {
    /// No wait that can be drawn passes the deadline.
    #[serde(rename = "yes")]
    Starts,
    /// Some do.
    #[serde(rename = "maybe")]
    MayNotStart,
    /// All do.
    #[serde(rename = "no")]
    Never,
}

/// The retries of a policy, as far as they are listed.
#[derive(Debug, Clone)]
pub struct Forecast {
    /// Every retry that is listed.
    pub rows: Vec<Row>,
    /// Why there are no more.
    pub end: End,
}

/// Why the list ends where it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// These are all retries that the policy allows.
    Complete,
    /// There are more, but so many rows were asked for.
    Rows,
    /// There are more, but the deadline lets none of them start.
    Deadline,
}

/// How many retries are listed at most: as many as are asked for, 20 of unlimited attempts, 1000 of
/// others.
pub fn rows(policy: &Policy, asked: Option<u32>) -> u32 {
    asked.unwrap_or(match policy.attempts {
        Policy::UNLIMITED => 20,
        _ => 1000,
    })
}

impl Forecast {
    /// Lists at most `rows` retries. Of a policy with more than that, those that the deadline may
    /// let start are enough.
    pub fn of(policy: &Policy, rows: Option<u32>) -> Self {
        let bound = self::rows(policy, rows);
        let mut end = if policy.attempts.saturating_sub(1) > bound {
            End::Rows
        } else {
            End::Complete
        };
        let mut cumulative = Spread::default();
        let mut rows = Vec::new();
        for step in policy.schedule().take(bound as usize) {
            let delay = Spread::of(&step);
            cumulative = cumulative.and(delay);
            let fate = fate(policy, step.retry, cumulative);
            if end == End::Rows && fate == Fate::Never {
                end = End::Deadline;
                break;
            }
            rows.push(Row {
                retry: step.retry,
                fate,
                ceiling: step.ceiling,
                delay,
                cumulative,
            });
        }
        Self { rows, end }
    }

    /// All listed waits together, whether or not the deadline lets them happen.
    pub fn total(&self) -> Spread {
        self.rows
            .last()
            .map(|row| row.cumulative)
            .unwrap_or_default()
    }
}

impl Spread {
    const fn of(step: &Step) -> Self {
        Self {
            least: step.least,
            mean: step.mean,
            most: step.most,
        }
    }

    const fn and(self, other: Self) -> Self {
        Self {
            least: self.least.saturating_add(other.least),
            mean: self.mean.saturating_add(other.mean),
            most: self.most.saturating_add(other.most),
        }
    }
}

fn cumulative<S: Serializer>(sum: &Spread, serializer: S) -> Result<S::Ok, S::Error> {
    let names = [
        "cumulative_min_ms",
        "cumulative_mean_ms",
        "cumulative_max_ms",
    ];
    let times = [sum.least, sum.mean, sum.most].map(Millis);
    serializer.collect_map(names.into_iter().zip(times))
}

/// Attempts may fail at once, and take as long as the attempt timeout (without one, nothing is
/// known, and only waits count).
fn fate(policy: &Policy, retry: u32, waits: Spread) -> Fate {
    let attempts = policy
        .attempt_timeout
        .unwrap_or_default()
        .saturating_mul(retry);
    match policy.deadline {
        Some(deadline) if waits.least >= deadline => Fate::Never,
        Some(deadline) if waits.most.saturating_add(attempts) >= deadline => Fate::MayNotStart,
        _ => Fate::Starts,
    }
}

/// What the deadline and the attempt timeout leave of a call, at the longest; none where nothing
/// bounds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Longest {
    /// All waits together.
    #[serde(rename = "waits_ms", serialize_with = "maybe")]
    pub waits: Option<Duration>,
    /// All waits and all attempts.
    #[serde(rename = "call_ms", serialize_with = "maybe")]
    pub call: Option<Duration>,
}

impl Longest {
    /// Of the policy that was forecast.
    pub fn of(policy: &Policy, forecast: &Forecast) -> Self {
        let complete = forecast.end == End::Complete;
        let starts = |row: &&Row| row.fate != Fate::Never;
        let last = forecast.rows.iter().rev().find(starts);
        let waits = last.map(|row| row.cumulative.most).unwrap_or_default();
        let waits = (forecast.end != End::Rows).then_some(waits);
        let attempts = policy
            .attempt_timeout
            .filter(|_| complete)
            .map(|timeout| timeout.saturating_mul(policy.attempts))
            .map(|attempts| attempts.saturating_add(forecast.total().most));
        let within_deadline =
            |time: Option<Duration>| [time, policy.deadline].into_iter().flatten().min();
        Self {
            waits: within_deadline(waits),
            call: within_deadline(attempts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use becalm::Jitter;

    fn every_second() -> Policy {
        Policy::fixed(Duration::from_secs(1)).jitter(Jitter::None)
    }

    fn longest(policy: &Policy) -> Longest {
        Longest::of(policy, &Forecast::of(policy, None))
    }

    #[expect(clippy::unnecessary_wraps)] // as the limits are
    const fn seconds(seconds: u64) -> Option<Duration> {
        Some(Duration::from_secs(seconds))
    }

    #[test]
    fn a_wait_that_ends_at_the_deadline_is_not_begun() {
        let policy = every_second().attempts(5).deadline(Duration::from_secs(3));
        let fates = Forecast::of(&policy, None)
            .rows
            .into_iter()
            .map(|row| row.fate);
        assert!(fates.eq([Fate::Starts, Fate::Starts, Fate::Never, Fate::Never]));
        assert_eq!(longest(&policy).waits, seconds(2));
    }

    #[test]
    fn attempts_count_towards_the_deadline_only_with_a_timeout() {
        let policy = every_second().attempts(3).deadline(Duration::from_secs(5));
        let last = |policy: &Policy| Forecast::of(policy, None).rows.pop().map(|row| row.fate);
        assert_eq!(last(&policy), Some(Fate::Starts));
        let slow = policy.attempt_timeout(Duration::from_millis(1500));
        assert_eq!(last(&slow), Some(Fate::MayNotStart)); // 2 x 1.5 s + 2 x 1 s = 5 s
    }

    #[test]
    fn unlimited_attempts_end_at_the_deadline_or_after_twenty() {
        let unlimited = every_second().attempts(Policy::UNLIMITED);
        let forecast = Forecast::of(&unlimited, None);
        assert_eq!((forecast.rows.len(), forecast.end), (20, End::Rows));
        let forecast = Forecast::of(&unlimited, Some(30));
        assert_eq!((forecast.rows.len(), forecast.end), (30, End::Rows));
        let policy = unlimited.deadline(Duration::from_millis(3500));
        let forecast = Forecast::of(&policy, None);
        assert_eq!((forecast.rows.len(), forecast.end), (3, End::Deadline));
    }

    #[test]
    fn the_longest_call_is_attempts_and_waits_or_the_deadline() {
        let policy = every_second().attempts(3);
        assert_eq!(longest(&policy).call, None);
        let policy = policy.attempt_timeout(Duration::from_secs(2));
        assert_eq!(longest(&policy).call, seconds(8));
        let policy = policy.deadline(Duration::from_secs(7));
        assert_eq!(longest(&policy).call, seconds(7));
        let policy = Policy::default()
            .attempts(Policy::UNLIMITED - 1)
            .attempt_timeout(Duration::MAX);
        assert_eq!(longest(&policy).call, None); // not all retries are known
    }

    #[test]
    fn the_longest_waits_are_known_if_all_retries_are_or_the_deadline() {
        let unlimited = every_second().attempts(Policy::UNLIMITED);
        assert_eq!(longest(&unlimited).waits, None);
        let policy = unlimited.deadline(Duration::from_secs(90));
        assert_eq!(longest(&policy).waits, seconds(90)); // twenty of ninety are listed
        let policy = policy.deadline(Duration::from_secs(10));
        assert_eq!(longest(&policy).waits, seconds(9)); // a tenth would reach the deadline
        assert_eq!(longest(&every_second().attempts(4)).waits, seconds(3));
        assert_eq!(longest(&every_second().attempts(1)).waits, seconds(0));
    }
}
