//! Which retrier above shares its budget? Looked up by its number, only after a failure.
//!
//! A scope carries a number instead of a reference, so that it stays a plain value: entering one
//! costs no reference count, and one that outlives its retrier finds nothing.

use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Shared;
use crate::scope::Scope;

/// Retriers whose numbers share the last byte.
type Shard = Mutex<Vec<(u32, Weak<Shared>)>>;

/// Locks the retriers that may have this number.
fn shard(id: u32) -> MutexGuard<'static, Vec<(u32, Weak<Shared>)>> {
    static SHARDS: [Shard; 256] = [const { Shard::new(Vec::new()) }; 256];
    let shard = SHARDS[id as usize % SHARDS.len()].lock();
    shard.unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn register(shared: &Arc<Shared>) {
    // 0 is also what a scope from another process has: nobody must be found by it.
    if shared.id() != 0 {
        shard(shared.id()).push((shared.id(), Arc::downgrade(shared)));
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let mut shard = shard(self.id());
        if let Some(at) = shard.iter().position(|(id, _)| *id == self.id()) {
            shard.swap_remove(at);
        }
    }
}

/// The retrier above whose budget is shared, if there is one in this process and it is still there.
pub(crate) fn above(scope: Scope) -> Option<Arc<Shared>> {
    let retriers = shard(scope.payer());
    let (_, above) = retriers.iter().find(|(id, _)| *id == scope.payer())?;
    above.upgrade()
}
