//! How often was a retry earned? Each success adds to this count, and a failure reads it.
//!
//! All threads add to one cell until two of them meet there. From then on each adds to a cell of its own, so that a
//! success writes no cache line that another thread writes. A count on which no two met takes three words.

use crate::sync::{AtomicU64, Ordering};

/// A number that only grows.
#[derive(Debug, Default)]
pub(super) struct Earnings {
    first: AtomicU64,
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
        {
            if let Some(own) = self.stripes.own() {
                own.fetch_add(1, Ordering::Relaxed);
                return;
            }
            let seen = self.first.load(Ordering::Relaxed);
            let added =
                self.first
                    .compare_exchange(seen, seen + 1, Ordering::Relaxed, Ordering::Relaxed);
            if added.is_err() {
                self.stripes.make().fetch_add(1, Ordering::Relaxed);
            }
        }
        #[cfg(not(any(feature = "std", becalm_loom)))]
        self.first.fetch_add(1, Ordering::Relaxed);
    }

    /// All that was added before this began, and perhaps some of what is added beside it.
    pub fn sum(&self) -> u64 {
        let first = self.first.load(Ordering::Relaxed);
        #[cfg(any(feature = "std", becalm_loom))]
        return first + self.stripes.sum();
        #[cfg(not(any(feature = "std", becalm_loom)))]
        first
    }
}

#[cfg(any(feature = "std", becalm_loom))]
mod striped {
    // For loom's `thread_local`.
    #[cfg(all(becalm_loom, not(feature = "std")))]
    extern crate std;

    use alloc::boxed::Box;
    #[cfg(becalm_loom)]
    use loom::thread_local;
    #[cfg(not(becalm_loom))]
    use std::thread_local;

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
            Some(&self.0.get()?[place()].0)
        }

        #[cold]
        #[inline(never)]
        pub fn make(&self) -> &AtomicU64 {
            &self.0.get_or_make(Box::default)[place()].0
        }

        pub fn sum(&self) -> u64 {
            let Some(cells) = self.0.get() else { return 0 };
            cells.iter().map(|it| it.0.load(Ordering::Relaxed)).sum()
        }
    }

    thread_local! {
        static PLACE: usize = NEXT.fetch_add(1, next::Ordering::Relaxed) % CELLS;
    }

    #[cfg(not(becalm_loom))]
    use core::sync::atomic as next;
    #[cfg(not(becalm_loom))]
    static NEXT: next::AtomicUsize = next::AtomicUsize::new(0);

    #[cfg(becalm_loom)]
    use loom::sync::atomic as next;
    #[cfg(becalm_loom)]
    loom::lazy_static! {
        static ref NEXT: next::AtomicUsize = next::AtomicUsize::new(0);
    }

    /// The number of this thread's cell: threads take them in turn.
    #[inline]
    fn place() -> usize {
        // Within the destructor of another thread-local there is none.
        PLACE.try_with(|place| *place).unwrap_or(0)
    }
}
