//! When do calls begin?

use std::time::Duration;

use super::Recorded;
use crate::engine::Distribution;

/// When the calls of a population begin. All but [`Closed`](Self::Closed) are open loops: they come
/// however the earlier ones end.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Arrivals {
    /// At independent random times, so many per second over the whole population.
    Poisson(f64),
    /// At equal distances, so many per second over the whole population.
    Constant(f64),
    /// A Poisson process that switches between two rates after exponentially distributed times.
    Bursty {
        /// Per second, between the bursts.
        rate: f64,
        /// Per second, in a burst.
        burst_rate: f64,
        /// The mean length of a burst.
        burst: Duration,
        /// The mean time between two.
        pause: Duration,
    },
    /// At recorded times, in order.
    Trace(Recorded),
    /// A closed loop: each client thinks, calls, waits for the end of its call, and thinks again.
    Closed {
        /// The time between two calls of a client.
        think: Distribution,
    },
}
