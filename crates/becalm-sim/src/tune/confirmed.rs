//! What is a policy worth in runs that had no part in its choice?

use crate::search::{Mean, Proportion};
use crate::study::{Figure, figure};
use crate::verdict::{Runner, Runs};

use super::trial::{Cost, Trial};

/// What a policy costs, by fresh runs.
///
/// What a policy was chosen by is biased: among many the luckiest wins, and its luck does not last (the
/// winner's curse: E. C. Capen, R. V. Clapp, W. M. Campbell, *Competitive Bidding in High-Risk
/// Situations*, Journal of Petroleum Technology, 1971). Seeds that no choice has seen have no such
/// bias, and are the same for all policies, so that these can be compared.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Confirmed {
    /// Runs from which the service does not come back, of the scenario and of the cases that are worse,
    /// as many of each. Without runs where nothing bounds a service, so that none can stay down.
    ///
    /// All have seeds of their own. That the cases differ makes the share more certain, not less, than
    /// its interval says (W. Hoeffding, *On the distribution of the number of successes in independent
    /// trials*, Annals of Mathematical Statistics 27, 1956).
    pub lost: Proportion,
    /// Attempts for each first try, from the trigger on; without one, of the whole run.
    pub load: Option<Mean>,
    /// The share of calls that do not succeed.
    pub failed: Option<Mean>,
    /// The 99th percentile of the latency of the calls that succeed, in milliseconds. `None` where in
    /// some run none does.
    pub latency: Option<Mean>,
}

/// Seeds that no round has.
const FRESH: u64 = 1 << 20;

impl Confirmed {
    /// By so many fresh runs of each case.
    pub(super) fn of<R: Runner>(trial: &Trial, runs: &Runs<'_, R>, each: u32) -> Self {
        let (costs, lost) = trial.run(runs, FRESH, each);
        let mean = |of: &dyn Fn(&Cost) -> f64| {
            let values: Vec<f64> = costs.iter().map(of).collect();
            Mean::of(&values)
        };
        Self {
            lost,
            load: mean(&|it| it.load()),
            failed: mean(&|it| it.failed()),
            latency: mean(&|it| it.latency()),
        }
    }

    /// As a table shows it.
    pub(super) fn figures(&self, is_triggered: bool) -> Vec<Figure> {
        let is_known = self.lost.runs > 0;
        let lost = is_known.then(|| self.lost.share() * 100.0);
        let (low, high) = self.lost.interval();
        let attempts = if is_triggered {
            "Amplification, from the trigger on"
        } else {
            "Amplification"
        };
        let succeeded = self.failed.map(|it| (1.0 - it.value) * 100.0);
        let ends = self.failed.and_then(|it| it.interval);
        let share =
            |low: f64, high: f64| ((1.0 - high).max(0.0) * 100.0, (1.0 - low).min(1.0) * 100.0);
        vec![
            figure!("lost_share": "Runs that stay down", "%" = lost)
                .within(is_known.then_some((low * 100.0, high * 100.0))),
            Figure::new("amplification_since", attempts, "", value(self.load))
                .within(ends_of(self.load)),
            figure!("success_share": "Calls that succeed", "%" = succeeded)
                .within(ends.map(|(low, high)| share(low, high))),
            figure!("latency_p99_ms": "Latency of successful calls, p99", "ms" = value(self.latency))
                .within(ends_of(self.latency)),
        ]
    }
}

fn value(mean: Option<Mean>) -> Option<f64> {
    mean.map(|it| it.value)
}

/// The interval of what is never below 0.
fn ends_of(mean: Option<Mean>) -> Option<(f64, f64)> {
    let (low, high) = mean?.interval?;
    Some((low.max(0.0), high))
}
