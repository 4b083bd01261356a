//! How is a transaction lent to a closure, which may move it into a task's future, and got back?

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

use sqlx::PgConnection;

use crate::open::Open;
use crate::pool;
use crate::source::Pooled;

/// The handle of a transaction, lent for the length of its body.
///
/// Statements run over `&mut *tx`, savepoints are made by [`begin`](sqlx::Connection::begin). It goes back when it is dropped, which
/// is the end of an `async move` block that took it. One that is kept beyond the body, or forgotten, is
/// [an error](crate::Failed::HandleKept), and nothing is committed.
pub struct Tx<C: Pooled = pool::Lent> {
    open: Option<Open<C>>,
    back: Arc<Mutex<Option<Open<C>>>>,
}

/// The place where a lent transaction comes back. What comes back when nobody waits for it any more is rolled back.
pub(crate) struct Lender<C: Pooled> {
    back: Arc<Mutex<Option<Open<C>>>>,
}

impl<C: Pooled> Tx<C> {
    pub(crate) fn lend(open: Open<C>) -> (Self, Lender<C>) {
        let back = Arc::new(Mutex::new(None));
        let lender = Lender {
            back: Arc::clone(&back),
        };
        let open = Some(open);
        (Self { open, back }, lender)
    }
}

impl<C: Pooled> Lender<C> {
    /// The transaction, if it has come back.
    pub fn take(self) -> Option<Open<C>> {
        let back = self.back.lock();
        back.unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<C: Pooled> Deref for Tx<C> {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        let open = self.open.as_ref();
        open.expect("only its drop takes it").connection_ref()
    }
}

impl<C: Pooled> DerefMut for Tx<C> {
    fn deref_mut(&mut self) -> &mut PgConnection {
        let open = self.open.as_mut();
        open.expect("only its drop takes it").connection()
    }
}

impl<C: Pooled> Drop for Tx<C> {
    fn drop(&mut self) {
        let back = self.back.lock();
        *back.unwrap_or_else(PoisonError::into_inner) = self.open.take();
    }
}

impl<C: Pooled> std::fmt::Debug for Tx<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tx").finish_non_exhaustive()
    }
}
