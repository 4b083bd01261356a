//! What is one client of a fleet? Its random stream, where it stands, when it lost its connection.

use becalm::support::{Lone, Position};
use becalm::{Failure, call::Decision, time::Instant};

use crate::engine::Stream;

/// What decides for a client: the shipping decision, or a foreign formula.
pub trait Decides {
    /// What one client has to remember.
    type Position: Copy + Default;

    /// The wait before the next attempt of a client that was refused or has lost its connection, in
    /// nanoseconds; `None` if it gives up. Times are nanoseconds since the start of the run.
    fn wait(
        &self,
        position: &mut Self::Position,
        now: u64,
        lost: u64,
        random: &mut Stream,
    ) -> Option<u64>;
}

/// The loss of the connection is the failure of the first attempt; the deadline counts from it.
impl Decides for Lone {
    type Position = Position;

    #[inline]
    fn wait(
        &self,
        position: &mut Position,
        now: u64,
        lost: u64,
        random: &mut Stream,
    ) -> Option<u64> {
        let deadline = self.deadline(Instant::from_nanos(lost));
        let now = Instant::from_nanos(now);
        let refused = Failure::transient();
        match self.on_failure(position, now, deadline, &refused, random) {
            #[expect(clippy::cast_possible_truncation)] // it was made of 64 bits of nanoseconds
            Decision::RetryIn(wait) => Some(wait.as_nanos() as u64),
            _ => None,
        }
    }
}

/// A client. Aligned so that none lies across two cache lines: a herd is bound by their misses.
#[derive(Debug, Clone)]
#[repr(align(32))]
pub(super) struct Client<P> {
    pub random: Stream,
    pub position: P,
    pub lost: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_takes_thirty_two_bytes() {
        assert_eq!(size_of::<Client<Position>>(), 32);
    }
}
