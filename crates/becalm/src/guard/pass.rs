//! What does an attempt hold of the guards, and how may it end?

use crate::breaker::{Outcome, Permit, Transition};
use crate::bulkhead;
use crate::classify::{Class, Effect};
use crate::throttle::Priority;
use crate::time::Instant;

/// What a running attempt holds of the guards.
#[derive(Debug, Default)]
#[must_use = "what it holds is returned by `finish`"]
pub(crate) struct Pass {
    pub(super) permit: Option<Permit>,
    pub(super) has_place: bool,
    pub(super) is_hedge: bool,
    pub(super) priority: Priority,
    /// Not known where nobody wanted to know: a reload may ask for it in the middle of a call.
    pub(super) started: Option<Instant>,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ended {
    Success,
    Failure(Class, Effect),
    /// Its owner lost interest: dropped, beaten by another copy.
    Cancelled,
    /// It did not answer before the deadline of its call.
    Cut,
    /// The operation panicked.
    Panicked,
}

impl Ended {
    /// Whether the dependency gave an answer that it stands by: what cannot be mended by repeating
    /// it speaks for its health.
    pub(super) fn is_answer(self) -> bool {
        match self {
            Self::Success => true,
            Self::Failure(class, _) => class == Class::Permanent,
            Self::Cancelled | Self::Cut | Self::Panicked => false,
        }
    }

    pub(super) fn for_breaker(self) -> Outcome {
        match self {
            _ if self.is_answer() => Outcome::Success,
            // How much time a caller has says nothing of the dependency's health: the breaker has a
            // measure of its own for what is slow.
            Self::Cancelled | Self::Cut => Outcome::Cancelled,
            _ => Outcome::Failure,
        }
    }

    /// What it teaches an adaptive limit. A connection that was refused says nothing about how many
    /// calls fit, nor does one whose owner lost interest.
    pub(super) fn for_limit(self) -> Option<bulkhead::Outcome> {
        match self {
            _ if self.is_answer() => Some(bulkhead::Outcome::Completed),
            Self::Failure(_, Effect::Unknown) | Self::Cut => Some(bulkhead::Outcome::Dropped),
            _ => None,
        }
    }
}

impl Pass {
    /// Whether the attempt decides whether the breaker closes; then it deposits nothing.
    pub fn is_probe(&self) -> bool {
        self.permit.as_ref().is_some_and(Permit::is_probe)
    }

    /// The change of the breaker's state that its admission made.
    pub fn transition(&self) -> Option<Transition> {
        self.permit.as_ref().and_then(Permit::transition)
    }

    /// Marks the pass as a hedge's, whose latency is not one of first copies.
    pub fn of_hedge(mut self) -> Self {
        self.is_hedge = true;
        self
    }
}
