//! How does each host, shard or tenant get a retrier of its own?

use std::borrow::Borrow;
use std::hash::Hash;
use std::sync::Arc;

use super::Retrier;
use crate::keyed::{Idle, Keyed};
use crate::policy::Policy;
use crate::time::Instant;

impl<K, C> Keyed<K, Retrier<C>>
where
    K: Eq + Hash + Clone,
{
    /// The retrier of this key, by the clock of the [overflow](Self::overflow), which should be that
    /// of all; a new one, or the overflow, if it is not known.
    ///
    /// Returns the same retrier as long as somebody holds it or a clone of it; otherwise as long as
    /// it is neither idle nor [stale](Self::stale_after). It is idle with a full budget, when all that
    /// its guards have learnt would be forgotten soon anyway: a breaker that is closed and has seen no
    /// failure lately.
    pub fn get<Q>(&self, key: &Q) -> Arc<Retrier<C>>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
    {
        self.get_at(key, self.overflow().sleeper().now())
    }

    /// Replaces the policies of all keys: `make` makes the retriers of new keys from here on, and a key that
    /// is known takes over the policy of the retrier that would be made for it, as by
    /// [`replace_policy`](Retrier::replace_policy). So do the [overflow](Self::overflow) and whatever callers hold.
    ///
    /// Budgets keep what they hold, so that neither a reload nor a new key mints a burst. Name, clock
    /// and observer of a retrier stay what they are as long as it lives. New keys wait meanwhile.
    ///
    /// ```
    /// use becalm::{Keyed, Policy, Retrier};
    ///
    /// fn hosts(policy: Policy) -> impl Fn(Option<&String>) -> Retrier {
    ///     move |_| policy.clone().retrier().expect("it was validated")
    /// }
    /// let retriers = Keyed::new(1000, hosts(Policy::default()));
    /// let host = retriers.get("10.0.0.7");
    /// let reloaded = Policy::default().attempts(2);
    /// reloaded.validate()?; // before it is put in force
    /// retriers.replace(hosts(reloaded));
    /// assert_eq!(host.policy().attempts, 2);
    /// # Ok::<(), becalm::policy::InvalidPolicy>(())
    /// ```
    pub fn replace(&self, make: impl Fn(Option<&K>) -> Retrier<C> + Send + Sync + 'static) {
        self.replace_maker(make, |live, new| {
            // It was valid when it was made.
            let _ = live.replace_policy(new.policy());
        });
    }
}

/// A retrier for each host or shard: see [`Keyed`](crate::Keyed).
impl<C> Idle for Retrier<C> {
    fn is_idle(&self, now: Instant) -> bool {
        Arc::strong_count(&self.core.shared) == 1 && self.core.shared.is_as_new(now)
    }

    fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.core.shared) > 1 || self.core.shared.is_set_by_hand()
    }

    fn inherit(&self, stale: &Self, now: Instant) {
        self.core.shared.inherit(&stale.core.shared, now);
    }

    /// Without breaker, throttle and adaptive rate.
    fn for_all_others(self) -> Self {
        let policy = Policy {
            breaker: None,
            throttle: None,
            rate: None,
            ..self.policy()
        };
        // It was valid, and asks for less.
        let _ = self.replace_policy(policy);
        self
    }
}
