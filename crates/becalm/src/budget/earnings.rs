//! How often was a retry earned? Each success adds to this count, and a failure reads it.
//!
//! As long as one thread alone adds, it has a cell that no other writes, and needs no exchange. As soon as a second comes, all
//! share another cell, until two of them meet there; from then on each has a cell of its own. So a success writes no cache line
//! to which another thread adds. A count on which no two met takes five words.

use crate::sync::{AtomicU64, Ordering};

/// A number that only grows.
#[derive(Debug, Default)]
pub(super) struct Earnings {
    #[cfg(any(feature = "std", becalm_loom))]
    alone: alone::Alone,
    shared: AtomicU64,
    #[cfg(any(feature = "std", becalm_loom))]
    stripes: striped::Stripes,
}

impl Earnings {
    /// Adds one.
    ///
    /// No order is asked for: a withdrawal that has not seen it yet counts it as later, and one that happens after it does
    /// see it.
    #[inline]
    pub fn add(&self) {
        #[cfg(any(feature = "std", becalm_loom))]
        if !self.alone.add() {
            self.add_beside();
        }
        #[cfg(not(any(feature = "std", becalm_loom)))]
        self.shared.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds one where several threads add, or for the first time.
    #[cfg(any(feature = "std", becalm_loom))]
    #[inline(never)]
    fn add_beside(&self) {
        if let Some(own) = self.stripes.own() {
            own.fetch_add(1, Ordering::Relaxed);
            return;
        }
        if self.alone.begin() {
            return;
        }
        let seen = self.shared.load(Ordering::Relaxed);
        let relaxed = Ordering::Relaxed;
        let added = self
            .shared
            .compare_exchange(seen, seen + 1, relaxed, relaxed);
        if added.is_err() {
            self.stripes.make().fetch_add(1, Ordering::Relaxed);
        }
    }

    /// All that was added before this began, and perhaps some of what is added beside it.
    pub fn sum(&self) -> u64 {
        let shared = self.shared.load(Ordering::Relaxed);
        #[cfg(any(feature = "std", becalm_loom))]
        return shared + self.alone.count() + self.stripes.sum();
        #[cfg(not(any(feature = "std", becalm_loom)))]
        shared
    }
}

#[cfg(any(feature = "std", becalm_loom))]
mod alone {
    use super::threads;
    use crate::sync::{AtomicU64, Ordering};

    /// The cell of the only thread that adds.
    #[derive(Debug, Default)]
    pub struct Alone {
        /// The number of the thread, none yet, or [`SEVERAL`].
        owner: AtomicU64,
        count: AtomicU64,
    }

    /// A second thread has come.
    const SEVERAL: u64 = u64::MAX - 1;

    impl Alone {
        /// Adds one, if this thread is known to be the only one.
        #[inline]
        pub fn add(&self) -> bool {
            let is_alone = self.owner.load(Ordering::Relaxed) == threads::number();
            if is_alone {
                self.add_own();
            }
            is_alone
        }

        /// Adds one, if this thread is the first; if it is not, no thread is alone any more.
        pub fn begin(&self) -> bool {
            let (thread, relaxed) = (threads::number(), Ordering::Relaxed);
            let is_first = thread != threads::UNKNOWN
                && self
                    .owner
                    .compare_exchange(threads::NONE, thread, relaxed, relaxed)
                    .is_ok();
            if is_first {
                self.add_own();
            } else if self.owner.load(relaxed) != SEVERAL {
                self.owner.store(SEVERAL, relaxed);
            }
            is_first
        }

        /// The thread that was alone may do so once more beside others: it is still the only one that writes here.
        #[inline]
        fn add_own(&self) {
            let count = self.count.load(Ordering::Relaxed);
            self.count.store(count + 1, Ordering::Relaxed);
        }

        pub fn count(&self) -> u64 {
            self.count.load(Ordering::Relaxed)
        }
    }
}

#[cfg(any(feature = "std", becalm_loom))]
mod striped {
    use alloc::boxed::Box;

    use super::threads;
    use crate::sync::{AtomicU64, Once, Ordering};

    /// As many as threads add at once on most machines; two threads that share a cell count all the same.
    const CELLS: usize = if cfg!(becalm_loom) { 2 } else { 16 };

    /// Two cache lines: neighbours must not share one.
    #[derive(Debug, Default)]
    #[repr(align(128))]
    struct Apart(AtomicU64);

    type Cells = [Apart; CELLS];

    /// A cell for each thread, once they are made.
    #[derive(Debug)]
    pub struct Stripes(Once<Box<Cells>>);

    impl Default for Stripes {
        fn default() -> Self {
            Self(Once::new(Box::default))
        }
    }

    impl Stripes {
        /// This thread's cell, if they are made.
        #[inline]
        pub fn own(&self) -> Option<&AtomicU64> {
            self.0.get().map(|cells| cell(cells))
        }

        #[cold]
        #[inline(never)]
        pub fn make(&self) -> &AtomicU64 {
            cell(self.0.get_or_make(Box::default))
        }

        pub fn sum(&self) -> u64 {
            let Some(cells) = self.0.get() else { return 0 };
            cells.iter().map(|it| it.0.load(Ordering::Relaxed)).sum()
        }
    }

    #[inline]
    fn cell(cells: &Cells) -> &AtomicU64 {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "it is taken modulo the cells"
        )]
        let place = threads::number() as usize % CELLS;
        &cells[place].0
    }
}

#[cfg(any(feature = "std", becalm_loom))]
mod threads {
    // For loom's `thread_local`.
    #[cfg(all(becalm_loom, not(feature = "std")))]
    extern crate std;

    use core::cell::Cell;

    /// The number of no thread.
    pub const NONE: u64 = 0;
    /// The number of a thread within the destructor of another thread-local.
    pub const UNKNOWN: u64 = u64::MAX;

    #[cfg(not(becalm_loom))]
    std::thread_local! {
        static NUMBER: Cell<u64> = const { Cell::new(NONE) };
    }
    #[cfg(becalm_loom)]
    loom::thread_local! {
        static NUMBER: Cell<u64> = Cell::new(NONE);
    }

    /// The number of this thread, which no other has or had.
    #[inline]
    pub fn number() -> u64 {
        NUMBER
            .try_with(|number| match number.get() {
                NONE => take(number),
                number => number,
            })
            .unwrap_or(UNKNOWN)
    }

    #[cold]
    fn take(number: &Cell<u64>) -> u64 {
        number.set(next());
        number.get()
    }

    #[cfg(not(becalm_loom))]
    fn next() -> u64 {
        use crate::sync::{AtomicU64, Ordering};
        static LAST: AtomicU64 = AtomicU64::new(NONE);
        LAST.fetch_add(1, Ordering::Relaxed) + 1
    }

    #[cfg(becalm_loom)]
    fn next() -> u64 {
        use loom::sync::atomic::{AtomicU64, Ordering};
        loom::lazy_static! {
            static ref LAST: AtomicU64 = AtomicU64::new(NONE);
        }
        LAST.fetch_add(1, Ordering::Relaxed) + 1
    }
}
