//! Why is a scenario refused? With the name of the field and the remedy.

use std::fmt;

use becalm::policy::InvalidPolicy;

/// Why a scenario is refused. Every sentence names the field and the remedy.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum InvalidScenario {
    /// The horizon is zero, or longer than ten years.
    Horizon,
    /// The bucket is zero or longer than the horizon, or there would be more than two million.
    Bucket,
    /// Two populations, or two services, have one name.
    Duplicate(String),
    /// Nothing has the name that is referred to: where, and which.
    Unknown {
        /// Who refers to it.
        of: String,
        /// The name.
        name: String,
    },
    /// A share is not from 0 to 1, or (capacity) is 0.
    Share {
        /// Whose.
        of: String,
        /// The field.
        field: &'static str,
    },
    /// A rate or factor is negative or not a number, or zero where it must not be.
    Rate {
        /// Whose.
        of: String,
        /// The field.
        field: &'static str,
    },
    /// A count is zero, or too large.
    Count {
        /// Whose.
        of: String,
        /// The field.
        field: &'static str,
    },
    /// A time has no meaning: above ten years, the ends of an interval in the wrong order, nothing to
    /// draw from, or zero where it must not be.
    Time {
        /// Whose.
        of: String,
        /// The field.
        field: &'static str,
    },
    /// A population has no variants, or their shares do not add up to 1.
    Variants {
        /// Whose.
        of: String,
        /// What they add up to.
        sum: f64,
    },
    /// Recorded calls are not in order.
    Trace(String),
    /// No call is recorded, or none before the horizon.
    NoCalls(String),
    /// A state for each shard is asked for, and the service has no shards.
    Shards {
        /// Whose.
        of: String,
        /// The service that is called.
        service: String,
    },
    /// A service calls itself, directly or through others.
    Cycle(String),
    /// A cache has no keys.
    Cache(String),
    /// A policy has neither a bound nor a delay, so that a call which is refused at once would be
    /// repeated for ever at one instant: no limit of attempts, no budget that runs dry, no time that
    /// messages take.
    Endless(String),
    /// A policy is refused.
    Policy {
        /// Whose.
        of: String,
        /// Why.
        why: InvalidPolicy,
    },
}

impl fmt::Display for InvalidScenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Horizon => f.write_str("the horizon must be above zero and at most ten years"),
            Self::Bucket => f.write_str(
                "the bucket must be from a two-millionth of the horizon to the horizon itself",
            ),
            Self::Duplicate(name) => write!(f, "the name {name} is used twice; rename one"),
            Self::Unknown { of, name } => {
                write!(
                    f,
                    "{of} refers to {name}, which is not there; add it or correct the name"
                )
            }
            Self::Share { of, field } => {
                let from = if *field == "capacity" {
                    "above 0, up"
                } else {
                    "from 0"
                };
                write!(f, "the {field} of {of} must be {from} to 1")
            }
            Self::Rate { of, field } => {
                write!(
                    f,
                    "the {field} of {of} must be a number above 0 and at most 1e9 (a factor may be 0)"
                )
            }
            Self::Count { of, field } => {
                write!(f, "the {field} of {of} must be from 1 to 50000000")
            }
            Self::Time { of, field } => write!(
                f,
                "the {field} of {of} must be at most ten years, from the shorter to the longer, and \
                 above zero where something is repeated"
            ),
            Self::Variants { of, sum } => write!(
                f,
                "the variants of {of} must have shares that add up to 1, not to {sum:.4}"
            ),
            Self::Trace(of) => write!(f, "the recorded calls of {of} must be in order; sort them"),
            Self::NoCalls(of) => write!(
                f,
                "no recorded call of {of} lies before the horizon; record some, or give it other arrivals"
            ),
            Self::Shards { of, service } => write!(
                f,
                "the sharing of {of} is per-shard, but {service} is not routed by key; set \
                 routing = \"by-key\" there, or sharing = \"per-client\" here"
            ),
            Self::Cycle(of) => {
                write!(
                    f,
                    "{of} calls itself through its calls; take one of the calls out"
                )
            }
            Self::Cache(of) => write!(f, "the cache of {of} must have keys from 1 to 50000000"),
            Self::Endless(of) => write!(
                f,
                "a policy of {of} retries for ever without a delay; bound its attempts, or give it a \
                 base, a budget, or a network that takes time"
            ),
            Self::Policy { of, why } => write!(f, "a policy of {of} is refused: {why}"),
        }
    }
}

impl std::error::Error for InvalidScenario {}
