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
    /// What was paid for it. Here from its decision to its end: moving it costs more than the rest of
    /// a start.
    pub paid: Option<Paid>,
    /// It has started, so that what was paid does not come back.
    pub is_spent: bool,
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
    #[cfg(feature = "std")]
    pub fn of(primary: Flight) -> Self {
        Self {
            primary: Some(primary),
            ..Self::default()
        }
    }

    /// An attempt starts, after all others have landed.
    #[inline]
    pub fn start(&mut self, primary: Flight) {
        self.primary = Some(primary);
        self.hedges.clear();
        self.hedged = 0;
        self.no_more = false;
        self.failed = None;
        self.is_spent = false;
    }

    #[inline]
    pub fn are_under_way(&self) -> bool {
        self.primary.is_some() || !self.hedges.is_empty()
    }

    /// The attempt that the decision started, if it is of this number.
    #[inline]
    pub fn primary(&mut self, number: u32) -> Option<&mut Flight> {
        self.primary
            .as_mut()
            .filter(|flight| flight.number == number)
    }

    /// Takes the hedge of this number out.
    pub fn take_hedge(&mut self, number: u32) -> Option<Flight> {
        let at = self
            .hedges
            .iter()
            .position(|flight| flight.number == number)?;
        Some(self.hedges.swap_remove(at))
    }

    /// What was paid for the attempt that the decision started, which ends.
    #[inline]
    pub fn take_spent(&mut self) -> Option<Paid> {
        if self.is_spent {
            self.paid.take()
        } else {
            None
        }
    }

    /// Takes any of them out.
    #[inline]
    pub fn take_any(&mut self) -> Option<Flight> {
        match self.primary.take() {
            Some(flight) => Some(Flight {
                paid: self.take_spent(),
                ..flight
            }),
            None => self.hedges.pop(),
        }
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
    /// Of a hedge.
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
    #[inline]
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
    #[inline]
    pub fn spent(self, own: &Shared) {
        self.payer.as_deref().unwrap_or(own).spent(self.token);
    }

    /// The call has succeeded, and this is what it had paid last.
    pub fn succeeded(self, own: &Shared, now: Instant) {
        let payer = self.payer.as_deref().unwrap_or(own);
        payer.on_success(now, Some(self.token));
    }
}
