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
        let deadline = call.deadline().map(|at| (at, Self::Deadline));
        let timeout = call.attempt_timeout().and_then(|limit| {
            let ends = |started: Instant| started.after(limit);
            call.flights()
                .filter_map(|flight| Some((ends(flight.started?), Self::Timeout(flight.number))))
                .min_by_key(|(at, _)| *at)
        });
        let hedge = (hedge_due != Instant::NEVER).then_some((hedge_due, Self::Hedge));
        // Of several at one instant the first ends the most.
        [deadline, timeout, hedge]
            .into_iter()
            .flatten()
            .min_by_key(|(at, _)| *at)
    }
}
