//! Which retrier above shares its budget? Looked up by its number, only after a failure.
//!
//! A scope carries a number instead of a reference, so that it stays a plain value: entering one
//! costs no reference count, and one that outlives its retrier finds nothing.

use alloc::sync::{Arc, Weak};
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use super::Shared;
use crate::scope::Scope;

type Retriers = HashMap<u32, Weak<Shared>>;

fn retriers() -> MutexGuard<'static, Retriers> {
    static RETRIERS: LazyLock<Mutex<Retriers>> = LazyLock::new(Mutex::default);
    RETRIERS.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn register(shared: &Arc<Shared>) {
    // 0 is also what a scope from another process has: nobody must be found by it.
    if shared.id() != 0 {
        retriers().insert(shared.id(), Arc::downgrade(shared));
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        retriers().remove(&self.id());
    }
}

/// The retrier above whose budget is shared, if there is one in this process and it is still there.
pub(crate) fn above(scope: Scope) -> Option<Arc<Shared>> {
    retriers().get(&scope.payer())?.upgrade()
}
