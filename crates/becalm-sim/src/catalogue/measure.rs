//! What does a check read off a recording, and how far may it be off?

use std::time::Duration;

use crate::engine::each_in_order;
pub(super) use crate::engine::float;
use crate::oracle::flaky;
use crate::record::{PopulationRecord, Recording, ServiceRecord, total};
use crate::scenario::{Effect, Scenario, Trigger};
use crate::study::{Comparison, Plan, Tolerance};

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

/// Whether calls are served again in this time, or stay lost, as it must be.
pub(super) fn comes_back(
    what: &str,
    must: bool,
    recording: &Recording,
    (from, to): (Duration, Duration),
) -> Comparison {
    let served = success(&clients(recording), recording.bucket, from, to);
    let (fate, as_it_must) = if must {
        ("comes back", served >= 0.95)
    } else {
        ("stays down", served < 0.5)
    };
    let got = if as_it_must { 1.0 } else { 0.0 };
    compare(
        format!("{what}: {fate}"),
        1.0,
        got,
        Tolerance::Absolute(0.0),
    )
}

/// The worst of several runs of each case: their seeds are that of the plan and the next ones.
pub(super) fn worst_of_each<T: Sync>(
    cases: &[T],
    (plan, quick): (&Plan<'_>, bool),
    run: impl Fn(&T, u64) -> Vec<Comparison> + Sync,
) -> Vec<Comparison> {
    let seeds = 0..if quick { 1 } else { 5 };
    let of_case = |case: &T| {
        let seeds = seeds.clone().map(|run| plan.seed.wrapping_add(run));
        worst(&seeds.map(|seed| run(case, seed)).collect::<Vec<_>>())
    };
    each_in_order(cases, plan.threads, of_case).concat()
}

/// Of the comparisons that each of several runs made, in the same order, the worst of every one: that
/// which comes nearest to what it may be off, or is further off.
pub(super) fn worst(runs: &[Vec<Comparison>]) -> Vec<Comparison> {
    let Some(first) = runs.first() else {
        return Vec::new();
    };
    let places = 0..first.len();
    let worst = places.filter_map(|at| {
        let same = runs.iter().filter_map(|run| run.get(at));
        let mut worst = same.min_by(|a, b| a.room().total_cmp(&b.room()))?.clone();
        if runs.len() > 1 {
            worst.what = format!("{}, the worst of {} runs", worst.what, runs.len());
        }
        Some(worst)
    });
    worst.collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_of_several_runs_fails_if_any_of_them_does() {
        let run = |got: f64, at_most: f64| {
            vec![
                compare("a", 1.0, got, Tolerance::Absolute(0.5)),
                compare("b", 1.0, at_most, Tolerance::AtMost),
            ]
        };
        let good = [run(1.1, 0.2), run(0.7, 0.9), run(1.2, 0.5)];
        let both = worst(&good);
        assert_eq!((both[0].got, both[1].got), (0.7, 0.9));
        assert!(both.iter().all(Comparison::holds));
        assert!(both[0].what.ends_with("the worst of 3 runs"));
        for wrong in [2.0, f64::NAN] {
            let [one, two, three] = good.clone();
            let one_wrong = [one, run(wrong, 0.1), two, three];
            assert!(!worst(&one_wrong)[0].holds(), "{wrong}");
            assert!(worst(&one_wrong)[1].holds());
        }
        assert_eq!(worst(&[run(1.1, 0.2)])[0].what, "a");
        assert_eq!(worst(&[]), []);
    }
}
