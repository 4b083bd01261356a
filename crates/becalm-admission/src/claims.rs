//! What does a ticket say?

use becalm::time::Instant;

/// What a ticket says: an appointment, before it is sealed and after the seal has been looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Claims {
    /// Which ticket it is; no process gives out a number twice, and two give out the same by a chance of 1 in 2^32.
    pub number: u64,
    /// When its place is.
    pub slot: Instant,
    /// When it is worth nothing any more.
    pub expires: Instant,
}

impl Claims {
    /// The claims that a seal has kept.
    pub const fn new(number: u64, slot: Instant, expires: Instant) -> Self {
        Self {
            number,
            slot,
            expires,
        }
    }
}
