//! How are several runs told in one figure? By their mean, and how far that may be off.

use becalm::rng::Random;
use becalm::{Budget, Policy};

use crate::engine::Stream;
use crate::search::Mean;
use crate::study::{Figure, Plan};

/// The seed of each run: the plan's own, and those derived from it.
pub(super) fn seeds(plan: &Plan<'_>, runs: u32) -> impl Iterator<Item = u64> {
    let first = plan.seed;
    (0..u64::from(runs)).map(move |run| match run {
        0 => first,
        run => Stream::of(first, run).next_u64(),
    })
}

/// The mean of the runs, and its 95 % confidence interval where there are two or more. Runs that have
/// no value have no mean either.
pub(super) fn figure(
    id: &'static str,
    title: &'static str,
    unit: &'static str,
    values: &[Option<f64>],
) -> Figure {
    let known: Vec<f64> = values.iter().copied().flatten().collect();
    if known.len() < values.len() {
        return Figure::new(id, title, unit, None);
    }
    let mean = Mean::of(&known);
    Figure::new(id, title, unit, mean.map(|it| it.value)).within(mean.and_then(|it| it.interval))
}

/// What each run has at this place of what was measured of it; none where it is no number.
pub(super) fn finite<const N: usize>(runs: &[[f64; N]], at: usize) -> Vec<Option<f64>> {
    let values = runs.iter().map(|it| it.get(at).copied());
    values.map(|it| it.filter(|it| it.is_finite())).collect()
}

/// What a policy says that plays no part where clients share nothing; empty for nothing.
pub(super) fn left_out(policy: &Policy) -> String {
    let parts = [
        ("budget", policy.budget != Budget::None),
        ("waiting room", policy.max_waiting.is_some()),
        ("throttle", policy.throttle.is_some()),
        ("rate", policy.rate.is_some()),
        ("hedge", policy.hedge.is_some()),
        ("bulkhead", policy.bulkhead.is_some()),
        ("breaker", policy.breaker.is_some()),
    ];
    let names: Vec<&str> = parts
        .iter()
        .filter(|(_, is_set)| *is_set)
        .map(|(name, _)| *name)
        .collect();
    if names.is_empty() {
        return String::new();
    }
    format!(
        "Each client stands for itself here, so that {} plays no part.",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_have_a_mean_and_an_interval_and_a_run_without_a_value_has_none() {
        let both = figure("a", "a", "", &[Some(1.0), Some(3.0)]);
        assert_eq!(both.value, Some(2.0));
        assert!(
            both.interval
                .is_some_and(|(low, high)| low < 2.0 && high > 2.0)
        );
        assert_eq!(figure("a", "a", "", &[Some(1.0)]).interval, None);
        assert_eq!(figure("a", "a", "", &[Some(1.0), None]).value, None);
        assert_eq!(figure("a", "a", "", &[]).value, None);
    }

    #[test]
    fn what_is_left_out_is_named() {
        assert_eq!(left_out(&Policy::default().budget(Budget::None)), "");
        let names = left_out(&Policy::default().max_waiting(3));
        assert!(names.contains("budget, waiting room"), "{names}");
    }
}
