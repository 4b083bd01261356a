//! What bounds more than one call of a policy?

use becalm::Policy;
use serde::Serialize;

use super::breaker::Opening;
use super::bulkhead::Places;
use super::grant::{Grant, grants};
use super::hedge::Copies;
use super::shed::{Rate, Shed};

/// Everything that bounds more than one call; the order is that in which a call meets it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Protection {
    /// Of the adaptive throttle.
    pub throttle: Option<Shed>,
    /// Of the adaptive rate.
    pub rate: Option<Rate>,
    /// Every kind of the budget, all of which must grant a retry; empty without a bound, and where
    /// there is no retry.
    pub budget: Vec<Grant>,
    /// Of the hedge.
    pub hedge: Option<Copies>,
    /// Of the bulkhead.
    pub bulkhead: Option<Places>,
    /// Of the breaker.
    pub breaker: Option<Opening>,
}

impl Protection {
    /// The figures of a policy.
    pub fn of(policy: &Policy) -> Self {
        // One attempt never asks for a retry.
        let budget = match policy.attempts {
            1 => Vec::new(),
            _ => grants(policy.budget),
        };
        let (hedge, bulkhead) = (policy.hedge.as_ref(), policy.bulkhead.as_ref());
        Self {
            throttle: policy.throttle.as_ref().map(Shed::of),
            rate: policy.rate.as_ref().map(Rate::of),
            hedge: hedge.map(|it| Copies::of(it, policy.attempts, &budget)),
            budget,
            bulkhead: bulkhead.map(|it| Places::of(it, policy.attempt_timeout)),
            breaker: policy.breaker.as_ref().map(Opening::of),
        }
    }
}
