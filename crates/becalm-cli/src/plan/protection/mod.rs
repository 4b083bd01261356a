//! What does a policy's protection come to? Figures, and a sentence for each.

mod breaker;
mod budget;
mod bulkhead;
mod hedge;
mod shed;

use becalm::Policy;
use serde::Serialize;

use breaker::Opening;
use budget::Grant;
use bulkhead::Places;
use hedge::Hedging;
use shed::{Rate, Shedding};

/// Everything that bounds more than one call; the order is that in which a call meets it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Protection {
    throttle: Option<Shedding>,
    rate: Option<Rate>,
    /// Every kind of the budget, all of which must grant a retry; empty without a bound, and where
    /// there is no retry.
    budget: Vec<Grant>,
    hedge: Option<Hedging>,
    bulkhead: Option<Places>,
    breaker: Option<Opening>,
}

impl Protection {
    /// The figures of a policy.
    pub fn of(policy: &Policy) -> Self {
        // One attempt never asks for a retry.
        let budget = match policy.attempts {
            1 => Vec::new(),
            _ => budget::grants(policy.budget),
        };
        Self {
            throttle: policy.throttle.as_ref().map(Shedding::of),
            rate: policy.rate.as_ref().map(Rate::of),
            hedge: policy
                .hedge
                .as_ref()
                .map(|hedge| Hedging::of(hedge, policy.attempts, &budget)),
            budget,
            bulkhead: policy
                .bulkhead
                .as_ref()
                .map(|bulkhead| Places::of(bulkhead, policy.attempt_timeout)),
            breaker: policy.breaker.as_ref().map(Opening::of),
        }
    }

    /// A sentence for each, in the order in which a call meets them.
    pub fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        sentences.extend(self.throttle.as_ref().map(Shedding::sentence));
        sentences.extend(self.rate.as_ref().map(Rate::sentence));
        sentences.extend(self.budget.iter().map(Grant::sentence));
        sentences.extend(self.hedge.as_ref().map(Hedging::sentence));
        sentences.extend(self.bulkhead.as_ref().map(Places::sentence));
        sentences.extend(self.breaker.as_ref().map(Opening::sentence));
        sentences
    }
}

/// A share in percent, to a tenth where it needs one.
fn percent(share: f64) -> String {
    let tenths = (share * 1_000.0).round() / 10.0;
    format!("{tenths}%")
}

/// `1 copy`, `2 copies`: a count with its noun.
fn counted(count: u32, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {many}"),
    }
}
