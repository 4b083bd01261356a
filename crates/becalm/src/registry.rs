//! Which retrier above shares its budget? Looked up by its number, only after a failure.
//!
//! A scope carries a number instead of a reference, so that it stays a plain value: entering one
//! costs no reference count, and one that outlives its retrier finds nothing.

use alloc::sync::{Arc, Weak};
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use crate::scope::Scope;
use crate::shared::Shared;

#[derive(Default)]
struct Registry {
    last: u32,
    retriers: HashMap<u32, Weak<Shared>>,
}

fn registry() -> MutexGuard<'static, Registry> {
    static REGISTRY: LazyLock<Mutex<Registry>> = LazyLock::new(Mutex::default);
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A number that no other retrier of this process has (0, which means none, once they run out).
pub(crate) fn next_id() -> u32 {
    let mut registry = registry();
    registry.last = registry.last.saturating_add(1);
    if registry.last == u32::MAX {
        0
    } else {
        registry.last
    }
}

pub(crate) fn register(shared: &Arc<Shared>) {
    // 0 is also what a scope from another process has: nobody must be found by it.
    if shared.id() != 0 {
        registry()
            .retriers
            .insert(shared.id(), Arc::downgrade(shared));
    }
}

pub(crate) fn unregister(id: u32) {
    registry().retriers.remove(&id);
}

/// The retrier above whose budget is shared, if there is one in this process and it is still there.
pub(crate) fn above(scope: Scope) -> Option<Arc<Shared>> {
    registry().retriers.get(&scope.payer())?.upgrade()
}
