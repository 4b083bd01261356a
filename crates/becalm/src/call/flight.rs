//! What does an attempt under way hold?

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::budget::Withdrawal;
use crate::classify::Failure;
use crate::guard::Pass;
use crate::shared::Shared;
use crate::time::Instant;

/// The attempts under way: the one that the decision started, and the hedges beside it.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    pub primary: Option<Flight>,
    pub hedges: Vec<Flight>,
    /// Hedges that were started beside it.
    pub hedged: u32,
    /// A copy has failed, or the budget or a guard has refused a hedge: there will be no other.
    pub no_more: bool,
    /// What the copies that failed have said, and when the last of them did.
    pub failed: Option<(Failure, Instant)>,
}

impl Flights {
    /// Of an attempt that starts.
    pub fn of(primary: Flight) -> Self {
        Self {
            primary: Some(primary),
            ..Self::default()
        }
    }

    pub fn are_under_way(&self) -> bool {
        self.primary.is_some() || !self.hedges.is_empty()
    }

    /// Takes the attempt of this number out.
    pub fn take(&mut self, number: u32) -> Option<Flight> {
        if self
            .primary
            .as_ref()
            .is_some_and(|flight| flight.number == number)
        {
            return self.primary.take();
        }
        let at = self
            .hedges
            .iter()
            .position(|flight| flight.number == number)?;
        Some(self.hedges.swap_remove(at))
    }

    /// Takes any of them out.
    pub fn take_any(&mut self) -> Option<Flight> {
        self.primary.take().or_else(|| self.hedges.pop())
    }

    /// All that are under way.
    pub fn iter(&self) -> impl Iterator<Item = &Flight> {
        self.primary.iter().chain(&self.hedges)
    }
}

/// An attempt under way: its pass through the guards, and what was paid for it.
#[derive(Debug)]
pub(crate) struct Flight {
    pub number: u32,
    pub started: Instant,
    pub pass: Pass,
    pub paid: Option<Paid>,
}

/// A token, and whose it is if not the call's own retrier's.
#[derive(Debug)]
pub(crate) struct Paid {
    token: Withdrawal,
    payer: Option<Arc<Shared>>,
}

impl Paid {
    /// Asks the payer, or the call's own budget.
    pub fn withdraw(
        own: &Shared,
        payer: Option<Arc<Shared>>,
        now: Instant,
        failure: &Failure,
    ) -> Option<Self> {
        let token = payer.as_deref().unwrap_or(own).withdraw(now, failure)?;
        Some(Self { token, payer })
    }

    /// The retry never started.
    pub fn refund(self, own: &Shared) {
        self.payer.as_deref().unwrap_or(own).refund(self.token);
    }

    /// The retry did start, and has not brought the success.
    pub fn spent(self, own: &Shared) {
        self.payer.as_deref().unwrap_or(own).spent(self.token);
    }

    /// The call has succeeded, and this is what it had paid last.
    pub fn succeeded(self, own: &Shared, now: Instant) {
        let payer = self.payer.as_deref().unwrap_or(own);
        payer.on_success(now, Some(self.token));
    }
}
