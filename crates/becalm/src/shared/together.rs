//! What do calls pay that one loss has hit? One token for all of them.
//!
//! Without a standard library a driver can name one loss alone, that of an idle connection, which costs nothing.

#[cfg(feature = "std")]
use alloc::vec::Vec;
#[cfg(feature = "std")]
use core::fmt;
#[cfg(feature = "std")]
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Shared;
use crate::budget::Withdrawal;
use crate::classify::{Failure, Loss};
use crate::time::Instant;

/// What was paid for the last losses.
#[cfg(feature = "std")]
#[derive(Debug, Default)]
pub(super) struct Together {
    charges: Mutex<Vec<Charge>>,
    /// Held by the one that pays. Without it others would be denied what it has just taken, and stop, though their loss is paid for.
    payer: Mutex<()>,
}

/// What was paid for one loss.
#[cfg(feature = "std")]
struct Charge {
    loss: Loss,
    /// The token, until the first of its retries has ended.
    token: Option<Withdrawal>,
    /// Retries that wait or run.
    retries: u32,
}

/// Charges that are kept after their last retry: a command may learn of its loss when the others are back.
#[cfg(feature = "std")]
const KEPT: usize = 16;

#[cfg(feature = "std")]
impl Shared {
    /// Takes a token for the retries of all that this loss has hit, unless one of them has paid; `None` where the budget denies.
    pub(crate) fn withdraw_together(
        &self,
        loss: Loss,
        now: Instant,
        failure: &Failure,
    ) -> Option<()> {
        if loss == Loss::IDLE || self.joins(loss) {
            return Some(());
        }
        let _alone = locked(&self.together().payer);
        if self.joins(loss) {
            return Some(());
        }
        // Not with the charges locked: a budget may be foreign, and take its time.
        let token = self.withdraw(now, failure)?;
        self.pays(loss, token);
        Some(())
    }

    /// A retry that was paid for together never starts.
    pub(crate) fn refund_together(&self, loss: Loss) {
        let refunded = {
            let mut charges = self.charges();
            let Some(at) = charges.iter().position(|it| it.loss == loss) else {
                return;
            };
            let charge = &mut charges[at];
            charge.retries = charge.retries.saturating_sub(1);
            let is_unused = charge.retries == 0 && charge.token.is_some();
            is_unused.then(|| charges.swap_remove(at).token).flatten()
        };
        if let Some(token) = refunded {
            self.refund(token);
        }
    }

    /// A retry that was paid for together has ended: the token, if it is the first.
    pub(crate) fn end_together(&self, loss: Loss) -> Option<Withdrawal> {
        let mut charges = self.charges();
        let charge = charges.iter_mut().find(|it| it.loss == loss)?;
        charge.retries = charge.retries.saturating_sub(1);
        charge.token.take()
    }

    fn joins(&self, loss: Loss) -> bool {
        let mut charges = self.charges();
        let charge = charges.iter_mut().find(|it| it.loss == loss);
        let Some(charge) = charge else {
            return false;
        };
        charge.retries = charge.retries.saturating_add(1);
        true
    }

    fn pays(&self, loss: Loss, token: Withdrawal) {
        let mut charges = self.charges();
        if charges.len() >= KEPT {
            if let Some(over) = charges.iter().position(|it| it.retries == 0) {
                charges.remove(over);
            }
        }
        charges.push(Charge {
            loss,
            token: Some(token),
            retries: 1,
        });
    }

    fn charges(&self) -> MutexGuard<'_, Vec<Charge>> {
        locked(&self.together().charges)
    }

    fn together(&self) -> &Together {
        self.together.get_or_init(Default::default)
    }
}

#[cfg(feature = "std")]
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A withdrawal says nothing to a reader.
#[cfg(feature = "std")]
impl fmt::Debug for Charge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Charge")
            .field("loss", &self.loss)
            .field("retries", &self.retries)
            .finish_non_exhaustive()
    }
}

#[cfg(not(feature = "std"))]
#[expect(clippy::unused_self)]
impl Shared {
    #[expect(clippy::unnecessary_wraps)]
    pub(crate) fn withdraw_together(&self, _: Loss, _: Instant, _: &Failure) -> Option<()> {
        Some(())
    }

    pub(crate) fn refund_together(&self, _: Loss) {}

    pub(crate) fn end_together(&self, _: Loss) -> Option<Withdrawal> {
        None
    }
}
