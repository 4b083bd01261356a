//! What came of a herd before a door?

use crate::herd::Reconnects;

/// What happened in one run. Equal seeds leave equal records.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Arrivals {
    /// Attempts and connections over time.
    pub reconnects: Reconnects,
    /// Handshakes that were done.
    pub handshakes: u64,
    /// Those whose client had hung up before.
    pub wasted: u64,
    /// Connections that were told to come later.
    pub refusals: u64,
    /// The most dials of one client once the server is up.
    pub most_dials: u32,
}
