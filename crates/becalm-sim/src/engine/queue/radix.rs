//! Which bucket holds the earliest events, when most of them are far away?
//!
//! Time is a number of eleven digits of six bits. An event lies in the bucket of the highest digit
//! in which its time differs from the base, and of that digit's value: the nearer it is, the finer
//! its bucket. As the base moves on, an event only ever moves to finer buckets.

use super::Event;
use super::chain::Chains;
use super::run::Run;

/// Bits of a digit: as many values as a word has bits, so that one word tells which buckets of a
/// level are in use.
const DIGIT: u32 = 6;
const VALUES: usize = 1 << DIGIT;
const LEVELS: usize = u64::BITS.div_ceil(DIGIT) as usize;

/// The queue sorts a bucket that is small, and spreads a larger one. Small is a thousandth of the events that it is made for,
/// between these two numbers: a longer sorted run lets the owners of its events load their data in a row.
const SORTED: (usize, usize) = (64, 1024);

/// Memory is reserved for no more events than that: a quarter of a gigabyte.
const MOST_RESERVED: usize = 1 << 24;

/// Events that are due after the run.
#[derive(Debug)]
pub struct Radix {
    /// No event here is due before it.
    base: u64,
    /// Which levels are in use, a bit for each.
    levels: u16,
    /// Which buckets of each level are in use, a bit for each.
    used: [u64; LEVELS],
    buckets: Chains,
    len: usize,
    /// The most events of a bucket that the queue sorts at once.
    sorted: usize,
}

/// One of the buckets.
#[derive(Debug, Clone, Copy)]
struct Place {
    level: usize,
    value: usize,
}

impl Place {
    fn index(self) -> usize {
        self.level * VALUES + self.value
    }

    /// The last time that belongs here, while the base is this.
    fn last(self, base: u64) -> u64 {
        let shift = self.shift();
        let below = u64::MAX.checked_shr(u64::BITS - shift).unwrap_or(0);
        let here = (VALUES as u64 - 1) << shift;
        (base & !here & !below) | ((self.value as u64) << shift) | below
    }

    fn shift(self) -> u32 {
        // At most 60.
        u32::try_from(self.level).unwrap_or(0) * DIGIT
    }
}

impl Default for Radix {
    fn default() -> Self {
        Self::for_pending(0)
    }
}

impl Radix {
    pub fn for_pending(events: usize) -> Self {
        Self {
            base: 0,
            levels: 0,
            used: [0; LEVELS],
            buckets: Chains::of(LEVELS * VALUES, events.min(MOST_RESERVED)),
            len: 0,
            sorted: (events / 1000).clamp(SORTED.0, SORTED.1),
        }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Adds an event that is due after all that were taken out, in a bucket behind all others.
    #[inline]
    pub fn push(&mut self, event: Event) {
        let differing = (event.at ^ self.base) | 1;
        let level = differing.ilog2() / DIGIT;
        #[expect(clippy::cast_possible_truncation)] // of the upper digits, which do not count
        let value = (event.at >> (level * DIGIT)) as usize % VALUES;
        let level = level as usize;
        self.levels |= 1 << level;
        if let Some(used) = self.used.get_mut(level) {
            *used |= 1 << value;
        }
        self.len += 1;
        self.buckets.push(Place { level, value }.index(), event);
    }

    /// Moves the earliest events to the run, if there are any.
    pub fn earliest(&mut self, run: &mut Run) {
        while let Some(place) = self.earliest_place() {
            let bucket = place.index();
            let pending = self.buckets.len(bucket);
            if place.level == 0 || pending <= self.sorted {
                self.base = place.last(self.base);
                self.empty(place);
                self.len -= pending;
                run.fill(self.base, |events| self.buckets.take(bucket, events));
                return;
            }
            self.spread(place);
        }
    }

    /// When the earliest is due.
    pub fn first_at(&self) -> Option<u64> {
        let place = self.earliest_place()?;
        Some(self.buckets.earliest(place.index()))
    }

    /// Moves the base back, after the run was taken back: nothing is in the buckets between.
    pub fn restart_at(&mut self, base: u64) {
        self.base = base;
    }

    fn earliest_place(&self) -> Option<Place> {
        if self.levels == 0 {
            return None;
        }
        let level = self.levels.trailing_zeros() as usize;
        let value = self.used.get(level)?.trailing_zeros() as usize;
        Some(Place { level, value })
    }

    /// Marks a bucket as not in use.
    fn empty(&mut self, place: Place) {
        if let Some(used) = self.used.get_mut(place.level) {
            *used &= !(1 << place.value);
            if *used == 0 {
                self.levels &= !(1 << place.level);
            }
        }
    }

    /// Moves the events of a bucket to finer ones, in their order. The base becomes the earliest of
    /// them, so that events of one time are moved once.
    fn spread(&mut self, place: Place) {
        self.base = self.buckets.earliest(place.index());
        self.empty(place);
        self.len -= self.buckets.len(place.index());
        let mut rest = self.buckets.detach(place.index());
        while let Some(event) = self.buckets.shift(&mut rest) {
            self.push(event);
        }
    }
}
