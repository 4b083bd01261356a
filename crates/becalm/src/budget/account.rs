//! What must a kind of budget be able to do?

use core::fmt;

use super::kind::Budget;
use crate::classify::Failure;
use crate::time::Instant;

/// The state of one kind of budget, for all threads at once.
///
/// A new kind is its parameters in [`config`](super::config), a file with one of these and its text,
/// and its rows in [`kind`](super::kind) and [`kinds`](super::kinds).
pub(super) trait Account: fmt::Debug + Send + Sync {
    /// Takes over its own part of a configuration in a new generation, filled as said. Only the ratio
    /// is opened where it has no part.
    fn open(&self, generation: u32, own: Option<Budget>, fill: Fill, now: Instant);

    /// Tells how full it is, and denies everything until it is opened; or is denied by a head that is
    /// closed already.
    fn close(&self, now: Instant) -> Fill {
        Fill::of(self.level(now).fill)
    }

    /// Takes what a retry after this failure costs, and tells what it must know to put that back;
    /// `None` where it denies, and then it has taken nothing.
    fn take(&self, generation: u32, now: Instant, failure: &Failure) -> Option<u32>;

    /// Puts back what a retry took that never starts.
    fn put_back(&self, generation: u32, taken: u32);

    /// How much is left.
    fn level(&self, now: Instant) -> Level;

    /// Its traffic begins at this instant.
    fn begin(&self, _now: Instant) {}

    /// A first try begins.
    fn first_try(&self, _now: Instant) {}

    /// A call begins of whose end it will hear.
    fn call_began(&self) {}

    /// Such a call has ended.
    fn call_ended(&self) {}

    /// An attempt has failed.
    fn failed(&self, _failure: &Failure) {}

    /// A call has succeeded; a clean success had no retry.
    fn call_succeeded(&self, _is_clean: bool) {}

    /// A retry that had taken something here has ended, and did start.
    fn ended(&self, _generation: u32, _taken: u32, _succeeded: bool) {}

    /// Whether something is in progress that it will hear of whatever is configured by then.
    fn is_held(&self) -> bool {
        false
    }
}

/// How full a kind was, or is to be, from 0 to 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fill {
    /// The part of its retries that it would still grant: what another kind can take over.
    pub usable: f64,
    /// How full it was in a measure of its own, if the kind that was closed has one.
    pub own: Option<f64>,
    /// The word that was closed, if another must be opened.
    pub closed: Option<u64>,
}

impl Fill {
    pub const fn of(usable: f64) -> Self {
        Self {
            usable,
            own: None,
            closed: None,
        }
    }
}

/// What a kind has left, and how much there is at most; how full it is, from 0 (nothing is granted)
/// to 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct Level {
    pub left: f64,
    pub most: f64,
    pub fill: f64,
}
