//! How much capacity does it take where no policy helps?

use crate::scenario::Scenario;
use crate::verdict::{Runner, Runs, bottleneck, longer, louder, percent, plain};

/// Shares of the capacity that first tries may take, the most first.
const LADDER: [f64; 11] = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.15, 0.1, 0.05];

/// Up to which load the scenario comes back from its triggers and from longer ones, in a sentence; a
/// search by bisection. `scenario` has no retries.
pub(super) fn sentence<R: Runner>(runs: &Runs<'_, R>, scenario: &Scenario, each: u32) -> String {
    const MORE: &str = "What it needs is capacity.";
    let Some(bottleneck) = bottleneck(scenario) else {
        return MORE.into();
    };
    let name = scenario.services.get(bottleneck.service);
    let name = name.map_or("the service", |it| &it.name);
    let taken = bottleneck.utilisation();
    let is_back = |share: f64| {
        let quieter = louder(scenario, share / taken);
        let holds = |it: &Scenario| runs.back(it, 0, 0..each).into_iter().all(|it| it);
        holds(&quieter) && holds(&longer(&quieter, 2.0))
    };
    let first = LADDER.partition_point(|share| !is_back(*share));
    let Some(enough) = LADDER.get(first) else {
        return format!(
            "{MORE} Even at {} of what {name} can serve it does not come back in time without retries.",
            percent(0.05)
        );
    };
    let back = format!(
        "Without retries it comes back, and from triggers twice as long, where first tries take up to \
         {} of what {name} can serve; they take {}",
        percent(*enough),
        percent(taken)
    );
    if *enough < taken {
        format!("{MORE} {back}: {} times as much.", plain(taken / enough))
    } else {
        format!("{back}.")
    }
}
