//! How often was a retry earned? Each success adds to this count, and a failure reads it.
//!
//! As long as one thread alone adds, it owns a cell that no other writes, and needs no exchange. As soon as a second comes, all
//! share a word of that cell, until two of them meet there; from then on each has a cell of its own, and again needs no
//! exchange. There are sixteen: beyond sixteen threads, or once their threads have ended, two add to one cell by an exchange. So up to
//! sixteen threads write no cache line to which another one adds. A count on which no two met takes five words.

#[cfg(not(any(feature = "std", becalm_loom)))]
use crate::sync::{AtomicU64, Ordering};

/// A number that only grows.
#[derive(Debug, Default)]
pub(super) struct Earnings {
    #[cfg(any(feature = "std", becalm_loom))]
    first: cell::Cell,
    #[cfg(any(feature = "std", becalm_loom))]
    stripes: striped::Stripes,
    #[cfg(not(any(feature = "std", becalm_loom)))]
    count: AtomicU64,
}

#[cfg(any(feature = "std", becalm_loom))]
impl Earnings {
    /// Adds one.
    ///
    /// No order is asked for: a withdrawal that has not seen it yet counts it as later, and one that happens after it does
    /// see it.
    #[inline]
    pub fn add(&self) {
        let thread = threads::number();
        if !self.first.add_own(thread) {
            self.add_beside(thread);
        }
    }

    /// Adds one where several threads add, or for the first time.
    #[inline(never)]
    fn add_beside(&self, thread: u64) {
        match self.stripes.of(thread) {
            Some(own) if own.add_own(thread) => (),
            Some(own) => own.add(thread),
            None => self.add_shared(thread),
        }
    }

    #[cold]
    fn add_shared(&self, thread: u64) {
        if self.first.begin(thread) {
            return;
        }
        self.first.disown();
        if !self.first.try_add_beside() {
            self.stripes.make(thread).add(thread);
        }
    }

    /// All that was added before this began, and perhaps some of what is added beside it.
    pub fn sum(&self) -> u64 {
        self.first.sum() + self.stripes.sum()
    }
}

/// Without a standard library no thread has a number.
#[cfg(not(any(feature = "std", becalm_loom)))]
impl Earnings {
    pub fn add(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    pub fn sum(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

#[cfg(any(feature = "std", becalm_loom))]
mod cell {
    use super::threads;
    use crate::sync::{AtomicU64, Ordering, Word};

    /// A count to which its owner adds by plain stores, and others by exchanges.
    #[derive(Debug, Default)]
    pub struct Cell {
        /// The number of a thread, none yet, or [`SEVERAL`].
        owner: AtomicU64,
        /// What the owner added, who alone writes it.
        own: AtomicU64,
        /// What others added.
        others: AtomicU64,
    }

    /// The number of no thread: there is no owner any more.
    const SEVERAL: u64 = u64::MAX - 1;

    impl Cell {
        /// Adds one, if this thread is the owner.
        #[inline]
        pub fn add_own(&self, thread: u64) -> bool {
            let is_owner = self.owner.load(Ordering::Relaxed) == thread;
            if is_owner {
                // One that was the owner may do so once more beside others: it is still the only one that writes here.
                let own = self.own.load(Ordering::Relaxed);
                self.own.store(own + 1, Ordering::Relaxed);
            }
            is_owner
        }

        /// Adds one, if this thread is the first, and so the owner.
        pub fn begin(&self, thread: u64) -> bool {
            let relaxed = Ordering::Relaxed;
            let is_free = thread != threads::UNKNOWN && self.owner.look() == threads::NONE;
            let is_first = is_free
                && self
                    .owner
                    .compare_exchange(threads::NONE, thread, relaxed, relaxed)
                    .is_ok();
            is_first && self.add_own(thread)
        }

        /// No thread is the owner any more.
        pub fn disown(&self) {
            if self.owner.load(Ordering::Relaxed) != SEVERAL {
                self.owner.store(SEVERAL, Ordering::Relaxed);
            }
        }

        /// Adds one, for any owner.
        #[cold]
        pub fn add(&self, thread: u64) {
            if !self.begin(thread) {
                self.others.fetch_add(1, Ordering::Relaxed);
            }
        }

        /// Adds one beside the owner, unless another thread does so at this moment.
        pub fn try_add_beside(&self) -> bool {
            let (seen, relaxed) = (self.others.look(), Ordering::Relaxed);
            self.others
                .compare_exchange(seen, seen + 1, relaxed, relaxed)
                .is_ok()
        }

        pub fn sum(&self) -> u64 {
            self.own.load(Ordering::Relaxed) + self.others.load(Ordering::Relaxed)
        }
    }
}

#[cfg(any(feature = "std", becalm_loom))]
mod striped {
    use alloc::boxed::Box;

    use super::cell::Cell;
    use crate::sync::Once;

    /// As many as threads add at once on most machines; two threads that share a cell count all the same.
    const CELLS: usize = if cfg!(becalm_loom) { 2 } else { 16 };

    /// Two cache lines: neighbours must not share one.
    #[derive(Debug, Default)]
    #[repr(align(128))]
    struct Apart(Cell);

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
        pub fn of(&self, thread: u64) -> Option<&Cell> {
            self.0.get().map(|cells| cell(cells, thread))
        }

        pub fn make(&self, thread: u64) -> &Cell {
            cell(self.0.get_or_make(Box::default), thread)
        }

        #[inline]
        pub fn sum(&self) -> u64 {
            let Some(cells) = self.0.get() else { return 0 };
            cells.iter().map(|it| it.0.sum()).sum()
        }
    }

    #[inline]
    fn cell(cells: &Cells, thread: u64) -> &Cell {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "it is taken modulo the cells"
        )]
        let place = thread as usize % CELLS;
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
