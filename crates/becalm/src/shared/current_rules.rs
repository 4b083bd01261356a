//! Which rules are in force, while they may be replaced?

use alloc::sync::Arc;

use crate::decide::Rules;

#[cfg(feature = "std")]
use {
    crate::sync::{AtomicU64, Ordering},
    std::sync::{PoisonError, RwLock},
};

/// The rules in force. Read only after a failure.
///
/// Most are never replaced: the first ones stay for good, and a reader takes no lock and
/// counts no reference. They may be those of a [twin](super::Shared::twin), too.
#[derive(Debug)]
pub(super) struct CurrentRules {
    first: Arc<Rules>,
    /// 1 once they were replaced.
    #[cfg(feature = "std")]
    replaced: AtomicU64,
    #[cfg(feature = "std")]
    later: RwLock<Option<Arc<Rules>>>,
}

/// The rules that were in force at one moment: those of a reload, or else the first.
#[derive(Debug)]
pub(crate) struct HeldRules(Option<Arc<Rules>>);

impl CurrentRules {
    pub fn new(rules: Arc<Rules>) -> Self {
        Self {
            first: rules,
            #[cfg(feature = "std")]
            replaced: AtomicU64::new(0),
            #[cfg(feature = "std")]
            later: RwLock::new(None),
        }
    }

    /// The rules in force now.
    #[inline]
    #[cfg_attr(not(feature = "std"), expect(clippy::unused_self))] // there are no others
    pub fn hold(&self) -> HeldRules {
        #[cfg(feature = "std")]
        if self.replaced.load(Ordering::Acquire) != 0 {
            return self.hold_later();
        }
        HeldRules(None)
    }

    /// The rules in force now, to be held by another state.
    pub fn share(&self) -> Arc<Rules> {
        let HeldRules(later) = self.hold();
        later.unwrap_or_else(|| Arc::clone(&self.first))
    }

    /// Changes what depends on the rules beside them, one change at a time.
    pub fn beside(&self, change: impl FnOnce(&Rules)) {
        #[cfg(feature = "std")]
        let later = self.later.write().unwrap_or_else(PoisonError::into_inner);
        #[cfg(not(feature = "std"))]
        let later = None::<Arc<Rules>>;
        change(later.as_deref().unwrap_or(&self.first));
    }

    /// What is held of these rules.
    #[inline]
    pub fn of<'a>(&'a self, held: &'a HeldRules) -> &'a Rules {
        held.0.as_deref().unwrap_or(&self.first)
    }
}

#[cfg(feature = "std")]
impl CurrentRules {
    #[cold]
    fn hold_later(&self) -> HeldRules {
        let later = self.later.read().unwrap_or_else(PoisonError::into_inner);
        HeldRules(later.clone())
    }

    /// Replaces the rules by those that are made, and tells what depends on them, one change at a
    /// time.
    pub fn replace(&self, make: impl FnOnce() -> Rules, publish: impl FnOnce(&Rules)) {
        let mut later = self.later.write().unwrap_or_else(PoisonError::into_inner);
        let rules = later.insert(Arc::new(make()));
        self.replaced.store(1, Ordering::Release);
        publish(rules);
    }
}
