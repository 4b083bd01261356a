//! Which places of the future are given away, and to whom?

use alloc::collections::VecDeque;
use core::time::Duration;

use becalm::time::Instant;

use super::group::{Groups, Rows};

/// Appointments: one after the other, each at a place of its own, and all of them before the place that is free next.
#[derive(Debug, Default)]
pub(super) struct Book {
    appointments: VecDeque<(Instant, Rows)>,
    free_from: Instant,
}

impl Book {
    /// Forgets the places that have passed, so long ago, and says how many.
    #[inline]
    pub fn settle(&mut self, now: Instant, kept: Duration, groups: &mut Groups) -> i64 {
        let mut passed = 0;
        let is_over = |(slot, _): &&(Instant, Rows)| slot.after(kept) < now;
        while let Some((_, rows)) = self.appointments.front().filter(is_over) {
            groups.give_back(*rows);
            self.appointments.pop_front();
            passed += 1;
        }
        passed
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.appointments.is_empty()
    }

    pub fn len(&self) -> usize {
        self.appointments.len()
    }

    /// The first place that somebody has.
    #[inline]
    pub fn first(&self) -> Option<Instant> {
        self.appointments.front().map(|(slot, _)| *slot)
    }

    /// The first place that nobody has, from this moment on.
    #[inline]
    pub fn free_from(&self, earliest: Instant) -> Instant {
        // What those who wait have moved is theirs only until they are gone.
        if self.is_empty() {
            return earliest;
        }
        self.free_from.max(earliest)
    }

    /// Somebody waits for this place.
    pub fn pass_over(&mut self, place: Instant, share: Duration) {
        self.free_from = place.after(share);
    }

    /// Gives this place away, which is free, and so are all behind it.
    #[inline]
    pub fn give(&mut self, place: Instant, share: Duration, rows: Rows, groups: &mut Groups) {
        groups.book(rows);
        self.appointments.push_back((place, rows));
        self.free_from = place.after(share);
    }
}
