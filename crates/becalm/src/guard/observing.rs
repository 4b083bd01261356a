//! What do the guards say of a first try that starts whatever they say?

use super::{Admission, Asking, BULKHEAD, Gate, Guards, Pass, RATE, Refused, THROTTLE};
use crate::observe::Would;
use crate::rng::Random;
use crate::sync::Ordering;
use crate::time::Instant;

impl Guards {
    /// Asks as [`admit`](Self::admit) does, and lets the attempt through. Where it would have been refused it
    /// holds nothing, and its end teaches nothing, as that of an attempt which never ran. Where it would have
    /// waited, it has taken its turn at the adaptive rate, and no place in the bulkhead.
    pub fn let_through<R: Random + ?Sized>(
        &self,
        admission: &mut Admission,
        asking: Asking<'_>,
        now: impl Fn() -> Instant,
        random: &mut R,
    ) -> (Pass, Option<Would>) {
        let asked = self.ask(admission, asking, &now, random);
        asked.unwrap_or_else(|refused| (Pass::default(), Some(Would::Refuse(refused.reason))))
    }

    fn ask<R: Random + ?Sized>(
        &self,
        admission: &mut Admission,
        asking: Asking<'_>,
        now: &dyn Fn() -> Instant,
        random: &mut R,
    ) -> Result<(Pass, Option<Would>), Refused> {
        let active = self.active.load(Ordering::Acquire);
        let mut would = None;
        if active & (THROTTLE | RATE | BULKHEAD) != 0 {
            admission.is_touched = true;
            if let Some(Gate::Wait(_) | Gate::Paced(_)) =
                self.queue(admission, asking, now, random)?
            {
                would = Some(Would::Wait);
            }
            // It leaves the queue that it has entered.
            #[cfg(any(feature = "std", becalm_loom))]
            drop(admission.waiter.take());
        }
        let pass = self.pass(active, admission, asking, now)?;
        Ok((pass, would))
    }
}
