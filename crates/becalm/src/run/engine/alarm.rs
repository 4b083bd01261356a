//! What happens next while attempts run, if none of them ends?

use crate::call::Call;
use crate::shared::Shared;
use crate::time::Instant;

/// What cuts, or joins, the attempts that run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alarm {
    /// The deadline ends the call.
    Deadline,
    /// The attempt of this number has taken too long.
    Timeout(u32),
    /// A hedge is due.
    Hedge,
}

impl Alarm {
    /// The alarm that goes off first, and when.
    pub fn next<H: AsRef<Shared>>(call: &Call<H>, hedge_due: Instant) -> Option<(Instant, Self)> {
        let mut next = call.deadline().map(|at| (at, Self::Deadline));
        // Of several at one instant the first ends the most.
        let mut or = |at: Instant, alarm| {
            if next.is_none_or(|(first, _)| at < first) {
                next = Some((at, alarm));
            }
        };
        if let Some(limit) = call.attempt_timeout() {
            for flight in call.flights() {
                if let Some(started) = flight.started {
                    or(started.after(limit), Self::Timeout(flight.number));
                }
            }
        }
        if hedge_due != Instant::NEVER {
            or(hedge_due, Self::Hedge);
        }
        next
    }
}
