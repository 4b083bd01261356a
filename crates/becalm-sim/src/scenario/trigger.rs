//! What goes wrong, and when?

use std::time::Duration;

/// Something that goes wrong for a time.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Trigger {
    /// When it begins.
    pub from: Duration,
    /// How long it lasts.
    pub length: Duration,
    /// What it does.
    pub effect: Effect,
}

/// What goes wrong.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Effect {
    /// The service keeps this share of its capacity: its work takes 1 / share times as long. Work
    /// already running goes on at the new speed.
    Capacity {
        /// Which service.
        service: String,
        /// What is left of it, above 0 up to 1.
        share: f64,
    },
    /// The workers hang: they accept, and get nothing done. Running work stops in its place and
    /// goes on afterwards.
    Hang {
        /// Which service.
        service: String,
    },
    /// The service refuses every request; what it had is lost.
    Down {
        /// Which service.
        service: String,
    },
    /// Every request takes so much longer, without a worker being busier.
    Latency {
        /// Which service.
        service: String,
        /// How much longer.
        added: Duration,
    },
    /// This share of requests fails after being served.
    Failures {
        /// Which service.
        service: String,
        /// From 0 to 1.
        share: f64,
    },
    /// The population makes so many times as many first tries.
    Load {
        /// Which population.
        population: String,
        /// At least 0.
        factor: f64,
    },
    /// The cache is empty from the beginning of the trigger. The length plays no part.
    CacheLoss {
        /// Which service's.
        service: String,
    },
    /// The instances restart one after the other: each is down for a time, then comes the next.
    /// The length plays no part but bounds it.
    Deploy {
        /// Which service.
        service: String,
        /// How long each instance is down.
        each: Duration,
        /// Between the end of one and the beginning of the next.
        pause: Duration,
    },
    /// This share of messages never arrives, in addition to the network's.
    Loss {
        /// From 0 to 1.
        share: f64,
    },
}

impl Trigger {
    /// Makes a trigger with this effect, from this time on, for this long.
    pub const fn new(from: Duration, length: Duration, effect: Effect) -> Self {
        Self {
            from,
            length,
            effect,
        }
    }
}
