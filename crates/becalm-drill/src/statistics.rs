//! What do the counts come to? Pure arithmetic on a recording; the simulator judges it.
//!
//! - An attempt belongs to the **phase** in which its client sends it, a call to the phase in which
//!   it begins, a success to the phase in which its call ends. Retries of calls from the phase
//!   before therefore weigh on a phase, and those sent after the last arrival are in the totals
//!   only.
//! - **Amplification** of a phase: attempts sent in it / first tries sent in it, as everywhere in becalm.
//!   Calls that a guard ends before their first try are in neither.
//! - **Goodput**: calls that succeed, per second.
//! - **Quiet**: the attempts in the last second of the fault, as a share of the calls.

use std::ops::Range;
use std::time::Duration;

use serde::Serialize;

use super::ledger::{Count, Recording};
use super::origin::in_ms;
use super::setup::Setup;

/// The stretch at the end of the fault in which attempts are counted.
const SECOND: Duration = Duration::from_secs(1);

/// A stretch of the course.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    Before,
    Trigger,
    After,
}

impl Phase {
    pub const ALL: [Self; 3] = [Self::Before, Self::Trigger, Self::After];

    /// From when to when.
    pub fn time(self, setup: &Setup) -> Range<Duration> {
        match self {
            Self::Before => Duration::ZERO..setup.before,
            Self::Trigger => setup.before..setup.trigger_end(),
            Self::After => setup.trigger_end()..setup.length(),
        }
    }
}

/// The figures of one phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseFigures {
    pub phase: Phase,
    #[serde(rename = "length_ms", serialize_with = "in_ms")]
    pub length: Duration,
    pub calls: u64,
    pub first_tries: u64,
    pub attempts: u64,
    pub arrived: u64,
    pub succeeded: u64,
}

impl PhaseFigures {
    fn of(phase: Phase, recording: &Recording, setup: &Setup) -> Self {
        let time = phase.time(setup);
        Self {
            phase,
            length: time.end.saturating_sub(time.start),
            calls: recording.within(Count::Call, time.clone()),
            first_tries: recording.within(Count::FirstTry, time.clone()),
            attempts: recording.attempts_within(time.clone()),
            arrived: recording.within(Count::Arrived, time.clone()),
            succeeded: recording.within(Count::Succeeded, time),
        }
    }

    /// Calls that succeeded, per second.
    pub fn goodput(&self) -> f64 {
        per_second(self.succeeded, self.length)
    }

    /// Attempts / first tries; none without a first try.
    pub fn amplification(&self) -> Option<f64> {
        share(self.attempts, self.first_tries)
    }
}

/// The amplification of a whole drill, what is sent after the last arrival included.
pub fn amplification(recording: &Recording) -> Option<f64> {
    amplification_within(recording, Duration::ZERO..Duration::MAX)
}

/// Attempts / first tries in a stretch of time; none without a first try.
pub fn amplification_within(recording: &Recording, time: Range<Duration>) -> Option<f64> {
    let first_tries = recording.within(Count::FirstTry, time.clone());
    share(recording.attempts_within(time), first_tries)
}

/// The figures of one policy.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    pub phases: [PhaseFigures; 3],
    /// The most requests that reached the service in one bucket.
    pub peak_arrivals: u32,
    /// The share of the service's work whose client was gone.
    pub served_nobody: Option<f64>,
    /// Attempts / calls in the last second of the fault.
    pub quiet: Option<f64>,
    /// The most attempts that the clients had in flight at once.
    pub most_in_flight: u32,
}

impl Measured {
    /// The figures of what was recorded so far.
    pub fn of(recording: &Recording, setup: &Setup) -> Self {
        let served = recording.total(Count::Served);
        let nobody = recording.total(Count::ServedNobody);
        let arrivals = recording.buckets(Count::Arrived);
        Self {
            phases: Phase::ALL.map(|phase| PhaseFigures::of(phase, recording, setup)),
            peak_arrivals: arrivals.iter().copied().max().unwrap_or(0),
            served_nobody: (served > 0).then(|| count(nobody) / count(served)),
            quiet: quiet(recording, setup),
            most_in_flight: recording.most_in_flight,
        }
    }

    /// The greatest amplification of any phase.
    pub fn worst_amplification(&self) -> Option<f64> {
        let amplifications = self.phases.iter().filter_map(PhaseFigures::amplification);
        amplifications.reduce(f64::max)
    }
}

fn quiet(recording: &Recording, setup: &Setup) -> Option<f64> {
    let end = setup.trigger_end();
    let second = end.saturating_sub(SECOND.min(setup.trigger))..end;
    let calls = recording.within(Count::Call, second.clone());
    share(recording.attempts_within(second), calls)
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| count(part) / count(whole))
}

/// A rate. Zero for no time.
pub fn per_second(number: u64, time: Duration) -> f64 {
    if time.is_zero() {
        0.0
    } else {
        count(number) / time.as_secs_f64()
    }
}

/// A count as a number to reckon with.
#[expect(clippy::cast_precision_loss)] // a drill has at most millions of anything
pub fn count(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
pub mod tests {
    use super::super::setup::tests::usual;
    use super::*;

    const SECONDS: usize = 100;

    /// The usual drill, second by second: (first tries, retries, arrivals, successes) in each,
    /// spread evenly over its buckets.
    pub fn recording(seconds: [(u32, u32, u32, u32); 10]) -> Recording {
        let mut recording = Recording::empty(10 * SECONDS + 200);
        for (second, (first_tries, retries, arrived, succeeded)) in seconds.into_iter().enumerate()
        {
            let kinds = [
                (Count::Call, first_tries),
                (Count::FirstTry, first_tries),
                (Count::Retry, retries),
                (Count::Arrived, arrived),
                (Count::Succeeded, succeeded),
                (Count::SucceededOf, succeeded),
            ];
            for (kind, total) in kinds {
                let share = |bucket: u32| total * (bucket + 1) / 100 - total * bucket / 100;
                for bucket in 0..100 {
                    recording.set(kind, second * SECONDS + bucket as usize, share(bucket));
                }
            }
        }
        recording
    }

    const HEALTHY: (u32, u32, u32, u32) = (260, 0, 260, 260);
    const STORM: (u32, u32, u32, u32) = (260, 780, 1_040, 2);
    const HANGING: (u32, u32, u32, u32) = (260, 31, 291, 0);
    const DRAINING: (u32, u32, u32, u32) = (260, 26, 286, 30);

    /// A storm that outlives the drill.
    pub fn stormy() -> Recording {
        recording([
            HEALTHY, STORM, STORM, STORM, STORM, STORM, STORM, STORM, STORM, STORM,
        ])
    }

    /// A fault that is over after one second more.
    pub fn protected() -> Recording {
        recording([
            HEALTHY, HANGING, HANGING, DRAINING, HEALTHY, HEALTHY, HEALTHY, HEALTHY, HEALTHY,
            HEALTHY,
        ])
    }

    /// A fault that is over after three seconds more.
    pub fn late() -> Recording {
        recording([
            HEALTHY, HANGING, HANGING, DRAINING, DRAINING, DRAINING, HEALTHY, HEALTHY, HEALTHY,
            HEALTHY,
        ])
    }

    /// A service that answers a hundred more of its calls each second.
    pub fn rising() -> Recording {
        let answered = |of| (400, 100, 500, of);
        recording([400, 0, 0, 20, 40, 60, 80, 120, 180, 260].map(answered))
    }

    /// The protected recording under a breaker: two probes in the last second of the fault.
    pub fn open() -> Recording {
        let mut recording = protected();
        for bucket in 200..300 {
            let probe = bucket % 50 == 0;
            recording.set(Count::FirstTry, bucket, u32::from(probe));
            recording.set(Count::Retry, bucket, 0);
        }
        recording
    }

    /// The protected recording with at most this many attempts in flight.
    pub fn bounded(most_in_flight: u32) -> Recording {
        let mut recording = protected();
        recording.most_in_flight = most_in_flight;
        recording
    }

    fn close(measured: f64, exact: f64) -> bool {
        (measured - exact).abs() < 1e-9
    }

    #[test]
    fn phases_have_their_own_rates_and_amplification() {
        let measured = Measured::of(&protected(), &usual());
        let [before, trigger, after] = &measured.phases;
        assert!(close(before.goodput(), 260.0) && close(before.amplification().unwrap(), 1.0));
        assert!(close(trigger.goodput(), 0.0));
        assert!(close(
            trigger.amplification().unwrap(),
            (260.0 + 31.0) / 260.0
        ));
        assert!(close(after.goodput(), (30.0 + 6.0 * 260.0) / 7.0));
        assert_eq!(after.arrived, 286 + 6 * 260);
        assert!(close(
            measured.worst_amplification().unwrap(),
            291.0 / 260.0
        ));
    }

    #[test]
    fn the_whole_drill_counts_what_is_sent_after_its_last_arrival() {
        let mut recording = protected();
        recording.set(Count::Retry, 1_150, 12);
        let of_all = amplification(&recording).unwrap();
        assert!(close(of_all, 2_700.0 / 2_600.0));
        assert_eq!(amplification(&Recording::default()), None);
    }

    /// As attempts over calls, which [`Measured::quiet`] is, it would be below 1.
    #[test]
    fn calls_that_a_guard_ends_before_their_first_try_are_no_part_of_amplification() {
        let mut recording = open();
        recording.set(Count::Retry, 250, 1);
        let measured = Measured::of(&recording, &usual());
        let trigger = &measured.phases[Phase::Trigger as usize];
        assert_eq!((trigger.calls, trigger.first_tries), (520, 262));
        assert!(close(trigger.amplification().unwrap(), 294.0 / 262.0));
        let last = Duration::from_secs(2)..Duration::from_secs(3);
        let panel = amplification_within(&recording, last.clone()).unwrap();
        assert!(close(panel, 1.5) && close(measured.quiet.unwrap(), 3.0 / 260.0));
        recording.set(Count::FirstTry, 200, 0);
        recording.set(Count::FirstTry, 250, 0);
        assert_eq!(amplification_within(&recording, last), None);
    }

    #[test]
    fn what_is_sent_to_a_service_that_hangs_is_measured_at_the_end_of_the_fault() {
        let quiet = |recording: &Recording| Measured::of(recording, &usual()).quiet.unwrap();
        assert!(close(quiet(&protected()), 291.0 / 260.0));
        assert!(close(quiet(&open()), 2.0 / 260.0));
    }

    #[test]
    fn an_empty_recording_has_no_shares_and_no_panic() {
        let measured = Measured::of(&Recording::default(), &usual());
        assert_eq!(measured.worst_amplification(), None);
        assert_eq!(measured.served_nobody, None);
        assert_eq!(measured.quiet, None);
    }
}
