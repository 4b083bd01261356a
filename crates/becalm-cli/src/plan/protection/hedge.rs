//! What does a hedge add to the load at most?

use becalm::Hedge;
use becalm::hedge::HedgeDelay;
use becalm::support::Human;
use serde::Serialize;

use super::budget::Grant;
use super::{counted, percent};

/// The copies of a hedge.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hedging {
    text: String,
    copies: u32,
    /// Copies for each call at most, bursts apart.
    load_on_top: f64,
    #[serde(skip)]
    sentence: String,
}

impl Hedging {
    /// The figures of a hedge in a policy of so many attempts, which this budget pays.
    pub fn of(hedge: &Hedge, attempts: u32, budget: &[Grant]) -> Self {
        // A copy is an attempt and counts as one.
        let copies = hedge.copies.min(attempts.saturating_sub(1));
        let (each, delay) = match hedge.delay {
            HedgeDelay::Quantile(quantile) => (
                1.0 - quantile.quantile,
                format!(
                    "when it is slower than {} are just now",
                    percent(quantile.quantile)
                ),
            ),
            HedgeDelay::After(delay) => (1.0, format!("after {}", Human(delay))),
            _ => (1.0, "when it is due".into()),
        };
        let asked = each * f64::from(copies);
        let granted = budget.iter().map(Grant::sustained).fold(asked, f64::min);
        let text = hedge.to_string();
        let sentence = if copies == 0 {
            "hedge: none, as a copy is an attempt and attempts is 1".into()
        } else {
            let bound = if granted < asked {
                ", which is what the budget grants"
            } else if budget.is_empty() {
                ", which no budget bounds"
            } else {
                ""
            };
            format!(
                "hedge: {} beside an attempt, {delay}; at most {} more load{bound}, and an attempt \
                 less to retry with",
                counted(copies, "copy", "copies"),
                percent(granted)
            )
        };
        Self {
            text,
            copies,
            load_on_top: granted,
            sentence,
        }
    }

    /// What it adds, in a sentence.
    pub fn sentence(&self) -> String {
        self.sentence.clone()
    }
}

#[cfg(test)]
mod tests {
    use becalm::Budget;

    use super::super::budget::grants;
    use super::*;

    #[test]
    fn the_load_is_bounded_by_quantile_copies_attempts_and_budget() {
        for (hedge, attempts, budget, load, words) in [
            (
                "p95,copies:1",
                4,
                "ratio:0.1",
                0.05,
                "at most 5% more load, and",
            ),
            ("p95,copies:2", 4, "ratio:0.1", 0.1, "2 copies"),
            (
                "p90,copies:2",
                4,
                "ratio:0.1",
                0.1,
                "what the budget grants",
            ),
            ("after:50ms,copies:1", 4, "ratio:0.1", 0.1, "after 50ms"),
            ("after:50ms,copies:1", 4, "none", 1.0, "no budget bounds"),
            ("after:50ms,copies:3", 3, "none", 2.0, "2 copies"),
            ("p95,copies:1", 1, "ratio:0.1", 0.0, "attempts is 1"),
            ("p95,copies:1", 4, "per-minute:60", 0.05, "at most 5%"),
        ] {
            let hedge: Hedge = hedge.parse().unwrap();
            let budget: Budget = budget.parse().unwrap();
            let copies = Hedging::of(&hedge, attempts, &grants(budget));
            assert!(
                (copies.load_on_top - load).abs() < 1e-9,
                "{hedge}, {budget}: {}",
                copies.load_on_top
            );
            assert!(copies.sentence().contains(words), "{}", copies.sentence());
        }
    }
}
