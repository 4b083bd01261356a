//! Which herd do all engines run?
//!
//! Clients that lost their connection at once retry with full jitter (100 ms doubled up to 20 s)
//! against a server that refuses for a minute. The delay is this function's for everybody, and each
//! client draws it from a stream of its own, so that every engine runs the same attempts.

use becalm_sim::engine::Stream;

pub const SECOND: u64 = 1_000_000_000;
const BASE: u64 = SECOND / 10;
const CAP: u64 = 20 * SECOND;

/// The model.
#[derive(Debug, Clone, Copy)]
pub struct Herd {
    pub clients: u64,
    /// Until when attempts are refused, in nanoseconds.
    pub refused_until: u64,
}

impl Herd {
    pub fn of(clients: u64) -> Self {
        Self {
            clients,
            refused_until: 60 * SECOND,
        }
    }
}

/// One that waits for its next attempt.
#[derive(Debug, Clone)]
pub struct Client {
    random: Stream,
    retries: u32,
}

impl Client {
    pub fn of(number: u64) -> Self {
        Self {
            random: Stream::of(7, number),
            retries: 0,
        }
    }

    /// The wait before the next retry, in nanoseconds.
    #[inline]
    pub fn delay(&mut self) -> u64 {
        let ceiling = CAP.min(BASE << self.retries.min(20));
        self.retries += 1;
        self.random.below(ceiling + 1)
    }
}

/// The time until an event of the hold model schedules its successor: a second on average,
/// memoryless, as is usual (Jones: *An Empirical Comparison of Priority-Queue and Event-Set
/// Implementations*, 1986).
#[inline]
pub fn hold_time(random: &mut Stream) -> u64 {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )] // below 37 s
    let nanos = (random.exponential() * SECOND as f64) as u64;
    nanos
}

/// For engines that count seconds.
#[inline]
pub fn seconds(nanos: u64) -> f64 {
    #[expect(clippy::cast_precision_loss)] // minutes
    let seconds = nanos as f64 / SECOND as f64;
    seconds
}
