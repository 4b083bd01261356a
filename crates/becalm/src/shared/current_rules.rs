//! Which rules are in force, while they may be replaced?

use alloc::sync::Arc;

use crate::decide::Rules;

/// The rules in force. Read only after a failure.
#[derive(Debug)]
pub(super) struct CurrentRules {
    #[cfg(feature = "std")]
    rules: std::sync::RwLock<Arc<Rules>>,
    #[cfg(not(feature = "std"))]
    rules: Arc<Rules>,
}

#[cfg(feature = "std")]
impl CurrentRules {
    pub fn new(rules: Rules) -> Self {
        Self {
            rules: std::sync::RwLock::new(Arc::new(rules)),
        }
    }

    pub fn get(&self) -> Arc<Rules> {
        Arc::clone(
            &self
                .rules
                .read()
                .unwrap_or_else(std::sync::PoisonError::into_inner),
        )
    }

    /// Changes the rules, or what depends on them, one change at a time.
    pub fn change(&self, change: impl FnOnce(&mut Arc<Rules>)) {
        let mut current = self
            .rules
            .write()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        change(&mut current);
    }
}

#[cfg(not(feature = "std"))]
impl CurrentRules {
    pub fn new(rules: Rules) -> Self {
        Self {
            rules: Arc::new(rules),
        }
    }

    pub fn get(&self) -> Arc<Rules> {
        Arc::clone(&self.rules)
    }

    /// There is only the switch to change.
    pub fn change(&self, change: impl FnOnce(&Arc<Rules>)) {
        change(&self.rules);
    }
}
