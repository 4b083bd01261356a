//! How often were sessions resumed, and how many are there?

use super::{Began, Cold};

/// Counters and gauges of [`Sessions`](super::Sessions), as they stand.
///
/// For `ws_resume_total{result}`: `ok` is [`resumed`](Self::resumed), and the others are [`cold`](Self::cold) of their reasons;
/// [`Cold::New`] asked for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Connections that have resumed their session.
    pub resumed: u64,
    /// Sessions that have a connection.
    pub attached: usize,
    /// Sessions that wait for one.
    pub detached: usize,
    /// What the sessions keep, in bytes: their unconfirmed messages, and 1 KiB for each that waits for a connection, more where the name of its user is long.
    pub bytes: usize,
    pub(super) cold: [u64; 11],
}

impl Counts {
    /// Connections that have begun cold, for this reason.
    pub fn cold(&self, why: Cold) -> u64 {
        self.cold[usize::from(why.code())]
    }

    pub(super) fn count(&mut self, began: Began) {
        match began {
            Began::Resumed => self.resumed += 1,
            Began::Cold(why) => self.cold[usize::from(why.code())] += 1,
        }
    }
}
