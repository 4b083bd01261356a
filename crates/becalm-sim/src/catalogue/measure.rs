//! What does a check read off a recording, and how far may it be off?

use std::time::Duration;

use crate::oracle::flaky;
use crate::record::{PopulationRecord, Recording, ServiceRecord, total};
use crate::scenario::{Effect, Scenario, Trigger};
use crate::study::{Comparison, Tolerance};

/// How many standard deviations a check allows: of a million checks one fails by chance.
pub(super) const DEVIATIONS: f64 = 5.0;

/// The scenario without new calls in its last second, so that all that began have ended.
pub(super) fn with_quiet_end(scenario: Scenario) -> Scenario {
    let length = Duration::from_secs(1);
    let from = scenario.horizon.saturating_sub(length);
    let names: Vec<String> = scenario
        .populations
        .iter()
        .map(|population| population.name.clone())
        .collect();
    names.into_iter().fold(scenario, |scenario, population| {
        let effect = Effect::Load {
            population,
            factor: 0.0,
        };
        scenario.trigger(Trigger::new(from, length, effect))
    })
}

/// The only population, or the first of several.
pub(super) fn clients(recording: &Recording) -> PopulationRecord {
    recording.populations.first().cloned().unwrap_or_default()
}

/// The service at this place.
pub(super) fn service(recording: &Recording, at: usize) -> ServiceRecord {
    recording.services.get(at).cloned().unwrap_or_default()
}

/// What was counted from one moment to another.
pub(super) fn between(counts: &[u32], bucket: Duration, from: Duration, to: Duration) -> f64 {
    let place = |time: Duration| {
        let buckets = time.as_nanos() / bucket.as_nanos().max(1);
        usize::try_from(buckets).map_or(counts.len(), |at| at.min(counts.len()))
    };
    float(total(
        counts.get(place(from)..place(to)).unwrap_or_default(),
    ))
}

/// The seconds from one moment to another.
pub(super) fn seconds(from: Duration, to: Duration) -> f64 {
    to.saturating_sub(from).as_secs_f64()
}

/// What was counted per second, from one moment to another.
pub(super) fn rate(counts: &[u32], bucket: Duration, from: Duration, to: Duration) -> f64 {
    between(counts, bucket, from, to) / seconds(from, to)
}

/// The share of the calls that began between two moments and succeeded.
pub(super) fn success(
    record: &PopulationRecord,
    bucket: Duration,
    from: Duration,
    to: Duration,
) -> f64 {
    let all = between(&record.calls, bucket, from, to);
    between(&record.succeeded_of, bucket, from, to) / all
}

/// One value beside another.
pub(super) fn compare(
    what: impl Into<String>,
    expected: f64,
    got: f64,
    tolerance: Tolerance,
) -> Comparison {
    Comparison {
        what: what.into(),
        expected,
        got,
        tolerance,
    }
}

/// A share that was counted, which may be off by [`DEVIATIONS`] of a binomial number of so many
/// trials, and by one trial at least.
pub(super) fn compare_share(
    what: impl Into<String>,
    expected: f64,
    got: f64,
    trials: f64,
) -> Comparison {
    let deviation = (expected * (1.0 - expected) / trials).sqrt();
    let tolerance = Tolerance::Absolute(DEVIATIONS * deviation + 1.0 / trials);
    compare(what, expected, got, tolerance)
}

/// Whether something happened, which must be the case.
pub(super) fn holds(what: impl Into<String>, it_does: bool) -> Comparison {
    let got = if it_does { 1.0 } else { 0.0 };
    compare(what, 1.0, got, Tolerance::Absolute(0.0))
}

/// The standard deviation of the attempts of a call: the mean of K^2 is the sum of
/// (2 k + 1) p^k over k < A.
pub(super) fn attempts_deviation(failures: f64, attempts: u32) -> f64 {
    let mut reached = 1.0;
    let mut squares = 0.0;
    for k in 0..attempts {
        squares += (2.0 * f64::from(k) + 1.0) * reached;
        reached *= failures;
    }
    let mean = flaky::attempts_per_call(failures, attempts);
    (squares - mean * mean).sqrt()
}

/// A count, exactly.
#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
pub(super) fn float(count: u64) -> f64 {
    count as f64
}
