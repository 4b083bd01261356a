//! How does a call wait for a token of the budget? It asks again, and holds nothing but its place.

use alloc::boxed::Box;
use core::time::Duration;

use super::flight::Paid;
use super::{Call, payer};
use crate::budget::WhenSpent;
use crate::classify::Failure;
use crate::decide::{Rules, Standing, Wait, asks_again};
use crate::rng::Random;
use crate::shared::Shared;
use crate::stop::StopReason;
use crate::time::Instant;

/// What a call notes that has found no token: few calls have one.
#[derive(Debug)]
pub(super) struct Patience {
    /// Where the call stood when its attempt had failed: each ask is another draw from there.
    standing: Standing,
    /// What the retry costs depends on it.
    failure: Failure,
    /// While it waits: when its retry would have started, and when it asks next.
    waiting: Option<(Instant, Instant)>,
    /// In earlier waits of the call.
    waited: Duration,
}

/// Whether a call that finds no token waits for one. Without a deadline it would wait for ever: a reload may bring
/// the policy to a call that began without.
pub(super) fn may_wait(rules: &Rules, deadline: Instant) -> bool {
    rules.policy.when_spent == WhenSpent::Wait && deadline != Instant::NEVER
}

impl Patience {
    /// The retry after this failure, and this wait, finds no token.
    pub fn begin(
        before: Option<Box<Self>>,
        standing: Standing,
        wait: Wait,
        failure: &Failure,
    ) -> Box<Self> {
        let due = wait.ends(standing.now);
        // A hint that starts the backoff again starts the draws again.
        let standing = Standing {
            step: wait.step.saturating_sub(1),
            previous: wait.previous.and(standing.previous),
            ..standing
        };
        Box::new(Self {
            standing,
            failure: *failure,
            waiting: Some((due, due)),
            waited: before.map_or(Duration::ZERO, |before| before.waited),
        })
    }

    fn end(&mut self, now: Instant) {
        if let Some((due, _)) = self.waiting.take() {
            self.waited = self.waited.saturating_add(now.since(due));
        }
    }
}

impl<H: AsRef<Shared>> Call<H> {
    /// Whether the call waits for a token of the budget, which was spent when its last attempt had failed: see
    /// [`WhenSpent::Wait`].
    pub fn waits_for_token(&self) -> bool {
        let patience = self.patience.as_deref();
        patience.is_some_and(|patience| patience.waiting.is_some())
    }

    /// How long the call has waited for tokens up to now, beyond the delays of its retries.
    pub fn waited_for_tokens(&self, now: Instant) -> Duration {
        self.patience.as_deref().map_or(Duration::ZERO, |patience| {
            let running = patience.waiting.map(|(due, _)| now.since(due));
            patience.waited.saturating_add(running.unwrap_or_default())
        })
    }

    /// Asks the budget again, if the call waits for a token: `None` where it has one, or when to ask next.
    ///
    /// Errors: the next ask would not come before the deadline, the breaker refuses what would start then, or the
    /// driver does not wait.
    pub(super) fn ask_for_token<R: Random + ?Sized>(
        &mut self,
        now: Instant,
        may_wait: bool,
        random: &mut R,
    ) -> Result<Option<Instant>, StopReason> {
        let Some(patience) = self.patience.as_deref_mut() else {
            return Ok(None);
        };
        let Some((due, asks_at)) = patience.waiting else {
            return Ok(None);
        };
        if now < asks_at {
            return Ok(Some(asks_at)); // woken by another
        }
        let shared = self.handle.as_ref();
        let rules = self.rules.get_or_insert_with(|| shared.hold_rules());
        let rules = shared.rules_of(rules);
        let payer = payer(rules.policy.nested, self.first.above, shared.clock());
        self.flights.paid = Paid::withdraw(shared, payer, now, &patience.failure);
        self.flights.is_spent = false;
        if self.flights.paid.is_some() {
            patience.end(now);
            return Ok(None);
        }
        if !may_wait {
            return Err(StopReason::BudgetExhausted);
        }
        let standing = Standing {
            now,
            ..patience.standing
        };
        let delay = asks_again(rules, &standing, &patience.failure, random)?;
        let asks_at = now.after_nanos(delay);
        patience.waiting = Some((due, asks_at));
        if let Err(refused) = shared.guards().would_admit(asks_at) {
            self.next_probe = refused.until;
            return Err(refused.reason);
        }
        Ok(Some(asks_at))
    }
}
