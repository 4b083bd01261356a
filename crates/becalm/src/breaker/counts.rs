//! Have enough calls failed? Told by every call, at the price of one atomic exchange or none.
//!
//! Everything here is counted for an *epoch* of the closed state, and every word says for which:
//! a new epoch finds its counts empty, and a result of an old one finds no word to change.
//!
//! A failure always looks whether it was one too many. A success seldom has to: within a slice, one
//! more success only lowers the share, so the slice is *settled* once it was looked at with enough
//! calls in the window; and a window of calls can tell which call will be enough.

use super::rules::{Figure, Kind, Rules};
use super::word;
use crate::sync::{AtomicU64, Counter, Ordering, SLICES, TimeSlices, Window, Word, change};
use crate::time::Instant;

/// The failures and calls of the closed state.
#[derive(Debug)]
pub(super) struct Counts {
    /// Failures in a row, or calls since the epoch began: the one word that calls write, on a
    /// cache line of its own.
    progress: Line,
    hints: Hints,
    window: Window,
}

/// Two cache lines, which some processors fetch together.
#[derive(Debug)]
#[repr(align(128))]
struct Line(AtomicU64);

/// What saves work; written seldom.
#[derive(Debug)]
#[repr(align(128))]
struct Hints {
    /// The last call by number that failed. Only for windows of calls.
    failed: AtomicU64,
    /// Up to which call by number, or in which slice of time, a success cannot open.
    settled: AtomicU64,
    slices: TimeSlices,
}

/// A count of an epoch in one word: the epoch in the high 24 bits.
const COUNT_BITS: u32 = 40;
const COUNT: u64 = (1 << COUNT_BITS) - 1;

const fn pack(epoch: u32, count: u64) -> u64 {
    (epoch as u64) << COUNT_BITS | count & COUNT
}

const fn is_of(word: u64, epoch: u32) -> bool {
    word >> COUNT_BITS == epoch as u64
}

/// A decision to open, made under this version of the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tripped {
    pub version: u64,
}

/// Why it opens. Data and not a closure: all of this is compiled once, and not for each caller.
#[derive(Debug, Clone, Copy)]
pub(super) enum Opening {
    /// Enough calls of this epoch have failed, by this version of the rules.
    Tripped { epoch: u32, tripped: Tripped },
    /// A probe of this epoch has failed.
    ProbeFailed { epoch: u32 },
    /// Somebody asked for it.
    Forced,
}

/// The closed state in which a call was admitted. Taken apart before a cold path, so that the hot one
/// keeps it in registers.
#[derive(Clone, Copy)]
pub(super) struct Closed<'a> {
    pub rules: &'a Rules,
    pub state: &'a AtomicU64,
    pub epoch: u32,
}

/// Whether the closed state of this epoch lasts.
fn is_current(state: &AtomicU64, epoch: u32) -> bool {
    word::Word::closed_epoch(state.load(Ordering::SeqCst)) == Some(epoch)
}

impl Counts {
    pub(super) fn new(rules: &Rules) -> Self {
        let counts = Self {
            progress: Line(AtomicU64::new(0)),
            hints: Hints {
                failed: AtomicU64::new(0),
                settled: AtomicU64::new(0),
                slices: TimeSlices::of_window(rules.get(Figure::Span)),
            },
            window: Window::default(),
        };
        // No slice of no epoch is settled yet.
        counts.hints.settled.store(u64::MAX, Ordering::Release);
        counts
    }

    /// Follows a reload; to be followed by a new epoch.
    pub(super) fn follow(&self, rules: &Rules) {
        if rules.kind() == Kind::Time {
            self.hints.slices.set_window(rules.get(Figure::Span));
        }
    }

    /// Whether something in the window has failed.
    #[cfg(feature = "std")]
    pub(super) fn has_failures(&self, rules: &Rules, epoch: u32, now: Instant) -> bool {
        let progress = self.progress.0.load(Ordering::Acquire);
        match rules.kind() {
            Kind::Consecutive => is_of(progress, epoch) && progress & COUNT > 0,
            Kind::Calls => {
                let failed = self.hints.failed.load(Ordering::Acquire);
                let since = (progress & COUNT).saturating_sub(failed & COUNT);
                is_of(failed, epoch) && failed & COUNT > 0 && since < rules.get(Figure::Span)
            }
            Kind::Time => {
                let slice = self.hints.slices.at(now);
                self.window.marked(epoch, slice, SLICES) > 0
            }
        }
    }

    /// Counts failures in a row.
    #[inline]
    pub(super) fn in_a_row(&self, of: Closed<'_>, failed: bool) -> Option<Tripped> {
        let seen = self.progress.0.look();
        if !failed && (seen & COUNT == 0 || !is_of(seen, of.epoch)) {
            return None;
        }
        self.change_row(of.rules, of.state, of.epoch, failed)
    }

    #[cold]
    fn change_row(
        &self,
        rules: &Rules,
        state: &AtomicU64,
        epoch: u32,
        failed: bool,
    ) -> Option<Tripped> {
        let version = rules.version();
        let (_, row) = change(&self.progress.0, |seen| {
            let failures = match (is_of(seen, epoch), failed) {
                (true, true) => (seen & COUNT).saturating_add(1).min(COUNT),
                (true, false) => 0,
                (false, true) if is_current(state, epoch) => 1,
                (false, _) => return None,
            };
            Some(pack(epoch, failures))
        })?;
        let trips = failed && rules.trips_in_a_row(row & COUNT);
        version.filter(|_| trips).map(|version| Tripped { version })
    }

    /// Counts in a window of calls.
    #[inline]
    pub(super) fn by_calls(&self, of: Closed<'_>, failed: bool) -> Option<Tripped> {
        let length = of.rules.get(Figure::Span);
        let call = self.number(of)?;
        if failed {
            self.mark(call, length, of.state, of.epoch);
        } else if self.is_settled(call, length, of.epoch) {
            return None;
        }
        self.judge_calls(of.rules, of.epoch)
    }

    /// The number of this call in its epoch, from 1.
    #[inline]
    fn number(&self, of: Closed<'_>) -> Option<u64> {
        let (_, counted) = change(&self.progress.0, |seen| {
            let call = match is_of(seen, of.epoch) {
                // After 10^12 calls the window begins anew.
                true if seen & COUNT < COUNT => (seen & COUNT) + 1,
                is_ours => (is_ours || is_current(of.state, of.epoch)).then_some(1)?,
            };
            Some(pack(of.epoch, call))
        })?;
        Some(counted & COUNT)
    }

    #[inline]
    fn is_settled(&self, call: u64, length: u64, epoch: u32) -> bool {
        let failed = self.hints.failed.load(Ordering::SeqCst);
        if !is_of(failed, epoch) || call.saturating_sub(failed & COUNT) >= length {
            return true; // nothing in the window has failed
        }
        let settled = self.hints.settled.load(Ordering::SeqCst);
        is_of(settled, epoch) && call <= settled & COUNT
    }

    #[cold]
    fn mark(&self, call: u64, length: u64, state: &AtomicU64, epoch: u32) {
        let slice = CallSlices::of_window(length).of_call(call);
        self.window
            .add(Counter::Marked, epoch, slice, || is_current(state, epoch));
        change(&self.hints.failed, |seen| {
            let is_known = is_of(seen, epoch) && seen & COUNT >= call;
            (!is_known && is_current(state, epoch)).then(|| pack(epoch, call))
        });
    }

    #[cold]
    fn judge_calls(&self, rules: &Rules, epoch: u32) -> Option<Tripped> {
        let version = rules.version()?;
        let seen = self.meet();
        let call = seen & COUNT;
        if !is_of(seen, epoch) || call == 0 {
            return None;
        }
        let slices = CallSlices::of_window(rules.get(Figure::Span));
        let slice = slices.of_call(call);
        let first = slice.saturating_sub(slices.count - 1);
        let forgotten = slices.calls_before(first);
        let calls = call - forgotten;
        let failed = self.window.marked(epoch, slice, slices.count);
        if rules.trips_by_share(failed, calls) {
            return Some(Tripped { version });
        }
        // The last call of the slice; or the last with which the window holds too few. Slices of
        // one call take turns one by one: there a success never raises the share.
        let last = if slices.count == slices.length {
            COUNT
        } else {
            slices.calls_before(slice + 1)
        };
        let settled = if calls >= rules.get(Figure::MinCalls) {
            last
        } else {
            last.min(forgotten + rules.get(Figure::MinCalls) - 1)
        };
        self.hints
            .settled
            .store(pack(epoch, settled), Ordering::SeqCst);
        None
    }

    /// Read by an exchange, so that of two that count at once the second to pass here sees what the
    /// first has counted: one of them sees both.
    fn meet(&self) -> u64 {
        self.progress.0.fetch_add(0, Ordering::SeqCst)
    }

    /// Counts in a window of time. What went well and what failed are counted apart, so that each
    /// call changes one word.
    #[inline]
    pub(super) fn by_time(&self, of: Closed<'_>, failed: bool, now: Instant) -> Option<Tripped> {
        let slice = self.hints.slices.at(now);
        let counter = if failed {
            Counter::Marked
        } else {
            Counter::Calls
        };
        self.window
            .add(counter, of.epoch, slice, || is_current(of.state, of.epoch));
        if !failed && self.hints.settled.load(Ordering::SeqCst) == pack(of.epoch, slice) {
            return None;
        }
        self.judge_time(of.rules, of.epoch, slice)
    }

    #[cold]
    fn judge_time(&self, rules: &Rules, epoch: u32, slice: u64) -> Option<Tripped> {
        let version = rules.version()?;
        self.meet();
        let sums = self.window.sums(epoch, slice);
        let calls = sums.calls + sums.marked;
        if rules.trips_by_share(sums.marked, calls) {
            return Some(Tripped { version });
        }
        if calls >= rules.get(Figure::MinCalls) {
            self.hints
                .settled
                .store(pack(epoch, slice), Ordering::SeqCst);
        }
        None
    }
}

/// Which slice of a window of calls is it? Ten slices as equal as they can be; shorter windows have
/// slices of one call.
struct CallSlices {
    length: u64,
    count: u64,
}

impl CallSlices {
    fn of_window(length: u64) -> Self {
        let length = length.max(1);
        Self {
            length,
            count: length.min(SLICES),
        }
    }

    /// The slice of a call by number.
    fn of_call(&self, call: u64) -> u64 {
        (call * self.count - 1) / self.length
    }

    /// How many calls the slices before this one hold.
    fn calls_before(&self, slice: u64) -> u64 {
        slice * self.length / self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_slices_of_calls_cover_what_is_promised(
            length in prop_oneof![1..200_u64, 1..100_000_000_u64],
            call in prop_oneof![1..1000_u64, 1..=COUNT],
        ) {
            let slices = CallSlices::of_window(length);
            let slice = slices.of_call(call);
            prop_assert!(slices.calls_before(slice) < call);
            prop_assert!(call <= slices.calls_before(slice + 1));
            let covered = call - slices.calls_before(slice.saturating_sub(slices.count - 1));
            prop_assert!(covered <= length);
            let least = if length < 10 { length } else { length - length.div_ceil(10) + 1 };
            prop_assert!(covered >= least.min(call), "{covered} of {length}");
        }
    }
}
