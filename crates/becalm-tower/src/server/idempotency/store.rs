//! Where are answers kept?

use std::sync::Arc;

use super::answer::Answer;
use super::name::{Caller, Fingerprint, Name};

/// Keeps which operations run, and the answers of those that have ended.
///
/// The layer claims an operation, runs its handler, and completes the claim with the answer, or releases it where the
/// handler has failed. A store reports its own faults; the layer answers 503 where a claim is
/// [`Unavailable`](Claim::Unavailable), so that nothing runs twice because a store is down.
///
/// # What a killed process leaves in doubt
///
/// A process that is killed between claim and completion has done its operation, or not, or half. No store
/// can tell; it can only choose what a repetition gets:
///
/// - [`MemoryStore`](super::MemoryStore) dies with its process, so that the repetition runs the handler again. So does, with
///   it, a second instance of the service, which knows nothing of the first.
/// - A store that outlives the process keeps the claim. Let it run out after a time that no handler takes,
///   and let [`complete`](Self::complete) fail for who no longer holds it; until then repetitions get 409, and then
///   one of them runs the handler again. Or keep it until a person has looked.
/// - Only a handler that writes its effect in one transaction with a mark of its own (the key in a unique
///   column) is done exactly once. The layer then spares it the work, and gives the first answer back.
pub trait Store: Send + Sync + 'static {
    /// What shows that an operation is claimed by this process, from [`claim`](Self::claim) to its end.
    type Held: Send + 'static;

    /// Claims the operation for one that is about to run it. Of any number that claim one name at once,
    /// one holds it. The caller is no part of the name: it is for a store that bounds what each has of it.
    fn claim(
        &self,
        name: Name,
        fingerprint: Fingerprint,
        caller: Caller,
    ) -> impl Future<Output = Claim<Self::Held>> + Send;

    /// Keeps the answer, for repetitions from now on.
    fn complete(&self, held: Self::Held, answer: Answer) -> impl Future<Output = ()> + Send;

    /// Forgets the operation: a repetition may run it.
    fn release(&self, held: Self::Held) -> impl Future<Output = ()> + Send;

    /// What tells it from other stores of this process: the same for two that keep the same operations, such as clones. A layer leaves to
    /// one around it what that has claimed in the same store. Default: where it is in memory, so that clones are different stores.
    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

/// What a [`Store`] knows of an operation that is to run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Claim<H> {
    /// It is new, and to be run by who asks.
    Held(H),
    /// Another runs it, or has run it.
    Taken {
        /// The payload that the other came with.
        fingerprint: Fingerprint,
        /// `None` while it runs.
        answer: Option<Arc<Answer>>,
    },
    /// The store cannot tell: it is full, or cannot be reached.
    Unavailable,
}
