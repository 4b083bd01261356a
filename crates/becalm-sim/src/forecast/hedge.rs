//! What does a hedge add to the load at most?

use becalm::Hedge;
use becalm::hedge::HedgeDelay;
use serde::Serialize;

use super::grant::Grant;

/// The copies of a hedge.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Copies {
    /// As a flag.
    pub text: String,
    /// Beside an attempt, at most.
    pub copies: u32,
    /// Copies for each call at most, bursts apart.
    pub load_on_top: f64,
    /// Whether the budget grants fewer than the hedge asks for.
    #[serde(skip)]
    pub is_cut: bool,
}

impl Copies {
    /// The figures of a hedge in a policy with this number of attempts, which this budget pays.
    pub fn of(hedge: &Hedge, attempts: u32, budget: &[Grant]) -> Self {
        // A copy is an attempt and counts as one.
        let copies = hedge.copies.min(attempts.saturating_sub(1));
        let each = match hedge.delay {
            HedgeDelay::Quantile(quantile) => 1.0 - quantile.quantile,
            _ => 1.0,
        };
        let asked = each * f64::from(copies);
        let granted = budget.iter().map(Grant::sustained).fold(asked, f64::min);
        Self {
            text: hedge.to_string(),
            copies,
            load_on_top: granted,
            is_cut: granted < asked,
        }
    }
}

#[cfg(test)]
mod tests {
    use becalm::Budget;

    use super::super::grant::grants;
    use super::*;

    #[test]
    fn the_load_is_bounded_by_quantile_copies_attempts_and_budget() {
        for (hedge, attempts, budget, copies, load, is_cut) in [
            ("p95,copies:1", 4, "ratio:0.1", 1, 0.05, false),
            ("p90,copies:1", 4, "ratio:0.2", 1, 0.1, false),
            ("p90,copies:2", 4, "ratio:0.1", 2, 0.1, true),
            ("after:50ms,copies:1", 4, "ratio:0.1", 1, 0.1, true),
            ("after:50ms,copies:1", 4, "none", 1, 1.0, false),
            ("after:50ms,copies:3", 3, "none", 2, 2.0, false),
            ("p95,copies:1", 1, "ratio:0.1", 0, 0.0, false),
            ("p95,copies:1", 4, "per-minute:60", 1, 0.05, false),
        ] {
            let hedge: Hedge = hedge.parse().unwrap();
            let budget: Budget = budget.parse().unwrap();
            let read = Copies::of(&hedge, attempts, &grants(budget));
            let is_near = (read.load_on_top - load).abs() < 1e-9;
            assert!(is_near, "{hedge}, {budget}: {}", read.load_on_top);
            assert_eq!((read.copies, read.is_cut), (copies, is_cut), "{hedge}");
        }
    }
}
