//! How much happened lately, counted without a lock, an allocation, or a walk over the window?
//!
//! A window is ten slices. The one that holds now is counted in, the nine before it are whole, so
//! what is summed covers more than nine tenths of the window and at most all of it. The slices are
//! a ring of ten places, and nothing ever clears one: each word carries the tag of the slice that
//! it counts, and a word of another slice counts nothing. So every slice expires, one at a time,
//! and after any idle time.
//!
//! The tag also holds the *epoch* in which was counted: who begins a new one begins with an empty
//! window, whatever else is in progress. A word is only ever exchanged as a whole, with its tag, so a
//! count of an earlier epoch never lands in a later one.

use super::atomic::{AtomicU64, Ordering};
use super::change;
use crate::time::Instant;

/// How many slices a window has.
pub(crate) const SLICES: u64 = 10;

/// The low bits of a word count, up to 268 million in one slice and no further; the high 36 are the
/// tag, which repeats after two years of slices of a millisecond.
const COUNT_BITS: u32 = 28;
const COUNT: u64 = (1 << COUNT_BITS) - 1;
/// How far apart, in slices, two epochs are: 2^36 by the golden ratio, so that the tags of epochs
/// near to each other are far from each other (Knuth, *TAOCP* vol. 3, 6.4).
const EPOCH: u64 = 42_471_269_609;

/// Which of the two counters of a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counter {
    /// Everything, or what went well: as the user of the window likes.
    Calls,
    /// What stands out.
    Marked,
}

/// What a window holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sums {
    pub calls: u64,
    pub marked: u64,
}

/// Two counters over the last ten slices; what a slice is (a time, a number of calls) is for its
/// user to say.
#[derive(Debug, Default)]
pub(crate) struct Window {
    /// Apart from each other, so that those who only mark read only marks.
    calls: Ring,
    marked: Ring,
}

impl Window {
    /// Counts one in this slice of this epoch.
    ///
    /// `is_current` says whether the epoch still is the current one; it is asked when the slice is
    /// new. Users without epochs hand in 0 and `|| true`. What comes later than a whole window, or
    /// to a full counter, is not counted.
    #[inline]
    pub(crate) fn add(
        &self,
        counter: Counter,
        epoch: u32,
        slice: u64,
        is_current: impl Fn() -> bool,
    ) {
        let ring = match counter {
            Counter::Calls => &self.calls,
            Counter::Marked => &self.marked,
        };
        ring.add(tag(epoch, slice), slice, is_current);
    }

    /// What the ten slices up to this one hold of this epoch. Who asks for a slice that others have
    /// left behind already is told of none that they count in the place of.
    pub(crate) fn sums(&self, epoch: u32, slice: u64) -> Sums {
        let mut sums = Sums::default();
        for slice in slice.saturating_sub(SLICES - 1)..=slice {
            let tag = tag(epoch, slice);
            // Both or none: the two words of a place are not given to a new slice at once, and
            // marks without their calls would be a share that never was.
            let marked = self.marked.read(tag, slice);
            if let (Some(calls), Some(marked)) = (self.calls.read(tag, slice), marked) {
                sums.calls += calls;
                sums.marked += marked;
            }
        }
        sums
    }

    /// What the last `slices` slices, at most ten, have marked: for those who count calls apart.
    pub(crate) fn marked(&self, epoch: u32, slice: u64, slices: u64) -> u64 {
        let mut marked = 0;
        for slice in slice.saturating_sub(slices - 1)..=slice {
            marked += self.marked.read(tag(epoch, slice), slice).unwrap_or(0);
        }
        marked
    }
}

/// The place of slice s is s modulo ten.
#[derive(Debug, Default)]
struct Ring([AtomicU64; 10]);

impl Ring {
    fn place(&self, slice: u64) -> &AtomicU64 {
        &self.0[(slice % SLICES) as usize]
    }

    #[inline]
    fn add(&self, tag: u64, slice: u64, is_current: impl Fn() -> bool) {
        change(self.place(slice), |seen| {
            if seen & !COUNT == tag {
                (seen & COUNT < COUNT).then(|| seen + 1)
            } else {
                (!is_late(tag, seen) && is_current()).then(|| tag + 1)
            }
        });
    }

    /// What the slice of this tag has counted; `None` if its place has gone to a later one.
    fn read(&self, tag: u64, slice: u64) -> Option<u64> {
        let seen = self.place(slice).load(Ordering::SeqCst);
        if seen & !COUNT == tag {
            Some(seen & COUNT)
        } else {
            (!is_late(tag, seen)).then_some(0)
        }
    }
}

/// The tag of a slice, in the high bits of a word.
#[inline]
const fn tag(epoch: u32, slice: u64) -> u64 {
    let epochs = (epoch as u64).wrapping_mul(EPOCH);
    slice.wrapping_add(epochs) << COUNT_BITS
}

/// Whether the place has gone to a slice up to sixteen rounds ahead: who comes so late has slept
/// for windows. Further ahead it is no slice of this clock and epoch, and gives way.
fn is_late(tag: u64, seen: u64) -> bool {
    let ahead = seen.wrapping_sub(tag) >> COUNT_BITS;
    seen & COUNT > 0 && (1..=16 * SLICES).contains(&ahead)
}

/// Which slice of a time window is it?
#[derive(Debug)]
pub(crate) struct TimeSlices {
    /// Nanoseconds of one slice, from 1.
    length: AtomicU64,
    /// The slice that was asked for last: saves the division while it lasts.
    last: AtomicU64,
}

impl TimeSlices {
    /// The slices of a window of this many nanoseconds: a tenth each, at least a nanosecond.
    pub(crate) fn of_window(nanos: u64) -> Self {
        let slices = Self {
            length: AtomicU64::new(1),
            last: AtomicU64::new(0),
        };
        slices.set_window(nanos);
        slices
    }

    /// Changes the length. Slices have other numbers from then on, so begin a new epoch, too.
    pub(crate) fn set_window(&self, nanos: u64) {
        self.length
            .store((nanos / SLICES).max(1), Ordering::Relaxed);
    }

    /// The number of the slice that holds this moment.
    #[inline]
    pub(crate) fn at(&self, now: Instant) -> u64 {
        let length = self.length.load(Ordering::Relaxed);
        let last = self.last.load(Ordering::Relaxed);
        match last.checked_mul(length) {
            Some(start) if now.as_nanos() >= start && now.as_nanos() - start < length => last,
            _ => {
                let slice = now.as_nanos() / length;
                self.last.store(slice, Ordering::Relaxed);
                slice
            }
        }
    }
}

#[cfg(all(test, not(becalm_loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn add(window: &Window, epoch: u32, slice: u64) {
        window.add(Counter::Calls, epoch, slice, || true);
    }

    fn calls(window: &Window, epoch: u32, slice: u64) -> u64 {
        window.sums(epoch, slice).calls
    }

    #[test]
    fn a_slice_counts_for_ten_slices_and_no_longer() {
        let window = Window::default();
        for slice in 0..5 {
            add(&window, 0, slice);
        }
        for (at, left) in [(0, 1), (4, 5), (9, 5), (10, 4), (13, 1), (14, 0), (1004, 0)] {
            assert_eq!(calls(&window, 0, at), left, "at {at}");
        }
    }

    #[test]
    fn the_two_counters_count_apart() {
        let window = Window::default();
        add(&window, 0, 7);
        window.add(Counter::Marked, 0, 7, || true);
        window.add(Counter::Marked, 0, 8, || true);
        let sums = Sums {
            calls: 1,
            marked: 2,
        };
        assert_eq!(window.sums(0, 8), sums);
    }

    #[test]
    fn another_epoch_begins_empty() {
        let window = Window::default();
        for epoch in 0..1000 {
            assert_eq!(calls(&window, epoch, 15), 0);
            for slice in 6..=15 {
                add(&window, epoch, slice);
            }
            assert_eq!(calls(&window, epoch, 15), 10);
        }
    }

    #[test]
    fn an_epoch_that_is_over_counts_nothing_new() {
        let window = Window::default();
        add(&window, 1, 3);
        window.add(Counter::Calls, 0, 3, || false);
        assert_eq!(calls(&window, 1, 3), 1);
        assert_eq!(calls(&window, 0, 3), 0);
    }

    #[test]
    fn who_sleeps_a_window_takes_nothing_from_those_that_came_after() {
        let window = Window::default();
        add(&window, 0, 163);
        for late in [153, 13, 3] {
            add(&window, 0, late);
            assert_eq!(calls(&window, 0, late), 0);
        }
        assert_eq!(calls(&window, 0, 163), 1);
    }

    #[test]
    fn who_looks_late_sees_no_mark_whose_calls_have_gone() {
        let window = Window::default();
        for _ in 0..3 {
            add(&window, 0, 3);
            window.add(Counter::Marked, 0, 3, || true);
        }
        add(&window, 0, 4);
        let one = Sums {
            calls: 1,
            marked: 0,
        };
        add(&window, 0, 13); // takes the calls of slice 3, and leaves its marks
        assert_eq!(window.sums(0, 12), one);
        let two = Sums {
            calls: 2,
            marked: 0,
        };
        assert_eq!(window.sums(0, 13), two);
        window.add(Counter::Marked, 0, 14, || true); // takes the marks of slice 4
        assert_eq!(window.sums(0, 12), Sums::default());
    }

    #[test]
    fn a_clock_that_jumped_far_and_back_does_not_blind_the_window() {
        let window = Window::default();
        for slice in u64::MAX - 20..=u64::MAX {
            add(&window, 0, slice);
        }
        assert_eq!(calls(&window, 0, u64::MAX), 10);
        for slice in 100..110 {
            add(&window, 0, slice);
        }
        assert_eq!(calls(&window, 0, 109), 10);
    }

    #[test]
    fn a_full_slice_stays_full() {
        let window = Window::default();
        window.calls.0[4].store(tag(9, 4) + COUNT - 1, Ordering::Relaxed);
        for _ in 0..3 {
            add(&window, 9, 4);
        }
        assert_eq!(calls(&window, 9, 4), COUNT);
        assert_eq!(calls(&window, 9, 5), COUNT);
    }

    proptest! {
        #[test]
        fn a_moment_lies_in_the_slice_that_division_gives(
            windows in proptest::collection::vec((any::<u64>(), any::<u64>()), 1..20),
            shift in 0..63_u32,
        ) {
            let slices = TimeSlices::of_window(1);
            for (window, now) in windows {
                let window = window >> shift;
                slices.set_window(window);
                for now in [now, now.saturating_add(1), now / 2, u64::MAX, 0] {
                    let slice = slices.at(Instant::from_nanos(now));
                    prop_assert_eq!(slice, now / (window / 10).max(1));
                }
            }
        }

        #[test]
        fn a_window_holds_what_a_list_of_all_calls_says(
            steps in proptest::collection::vec((0..4_u64, any::<bool>()), 1..300),
            start in prop_oneof![Just(0), Just(1 << 36), any::<u64>().prop_map(|n| n >> 1)],
            epoch: u32,
        ) {
            let (window, mut slice, mut all) = (Window::default(), start, Vec::new());
            for (passed, marked) in steps {
                slice += passed * passed;
                let counter = if marked { Counter::Marked } else { Counter::Calls };
                window.add(counter, epoch, slice, || true);
                all.push((slice, marked));
                let lately = all.iter().filter(|(at, _)| slice - at < SLICES);
                let marked = lately.clone().filter(|(_, marked)| *marked).count() as u64;
                let calls = lately.count() as u64 - marked;
                prop_assert_eq!(window.sums(epoch, slice), Sums { calls, marked });
            }
        }
    }
}
