//! How large is the fleet, and for how long does nobody answer it?

use std::time::Duration;

use crate::invalid::InvalidParameter;

/// A fleet that loses its connections, and the server that it comes back to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Herd {
    /// How many clients: from 1.
    pub clients: u32,
    /// How long the server refuses, from the loss of the first connection. Default 60 s.
    pub outage: Duration,
    /// Over which time the connections are lost, each at a moment of its own, all equally likely.
    /// Default 0: all at once.
    pub spread: Duration,
    /// How many connections the server accepts in a second once it is up, after a first tenth of
    /// them at once; it refuses the others. Default none: as many as come.
    pub accepts_per_second: Option<u64>,
    /// When the run ends, even if clients are not connected by then. Default 10 minutes.
    pub horizon: Duration,
    /// How many attempts the run may handle; during the outage an equal part of them falls to each
    /// client. A client that would make more counts as waiting: it bounds what a policy without a
    /// delay can ask for. Default 10^9, which takes from ten seconds to a minute or two.
    pub most_attempts: u64,
    /// The step in which attempts are counted. Default 100 ms.
    pub bucket: Duration,
}

/// The most buckets that a run may count in: 16 MiB of counts.
const MOST_BUCKETS: u128 = 1 << 21;

impl Herd {
    /// A fleet of this size, with the defaults.
    pub const fn of(clients: u32) -> Self {
        Self {
            clients,
            outage: Duration::from_secs(60),
            spread: Duration::ZERO,
            accepts_per_second: None,
            horizon: Duration::from_secs(600),
            most_attempts: 1_000_000_000,
            bucket: Duration::from_millis(100),
        }
    }

    /// Refuses what cannot be simulated.
    ///
    /// # Errors
    ///
    /// [`InvalidParameter`] names the field and the remedy.
    pub fn validate(&self) -> Result<(), InvalidParameter> {
        let (field, sentence) = if self.clients == 0 {
            (
                "clients",
                "a herd without clients does nothing; set at least 1",
            )
        } else if self.bucket.is_zero() {
            (
                "bucket",
                "nothing can be counted in a bucket of no time; use 100ms",
            )
        } else if self.horizon.as_nanos() / self.bucket.as_nanos() > MOST_BUCKETS {
            let most = "the horizon holds more than two million buckets; use longer buckets or a shorter \
                        horizon";
            ("bucket", most)
        } else if self.horizon.as_nanos() >= u128::from(u64::MAX) {
            (
                "horizon",
                "the horizon is beyond 584 years; use a shorter one",
            )
        } else if self.accepts_per_second == Some(0) {
            (
                "accepts",
                "a server that accepts nobody is never up; leave it out for no limit",
            )
        } else {
            return Ok(());
        };
        Err(InvalidParameter::new(field, sentence))
    }
}
