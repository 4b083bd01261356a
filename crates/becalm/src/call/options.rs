//! What may one call set for itself?

use core::time::Duration;

use crate::idempotency::Operation;
use crate::setters::setters;
use crate::throttle::Priority;

/// The settings of one call, in place of its policy's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CallOptions {
    /// Whether the operation may be repeated, and how. Default [`Operation::Idempotent`].
    pub operation: Operation,
    /// How many attempts the call may make, the first included; `None` (the default) means the policy's. 0 is read as 1.
    pub attempts: Option<u32>,
    /// The longest time of this call; `None` (the default) means the policy's.
    pub deadline: Option<Duration>,
    /// How soon the adaptive throttle may shed this call. Default [`Priority::Critical`].
    pub priority: Priority,
}

impl CallOptions {
    /// Options that leave everything to the policy.
    pub const fn new() -> Self {
        Self {
            operation: Operation::Idempotent,
            attempts: None,
            deadline: None,
            priority: Priority::Critical,
        }
    }
}

setters! {
    /// Setters: each returns the options with one field changed; where the field is optional, `None`
    /// clears it.
    impl CallOptions;
    /// Sets what repeating the operation would do.
    operation: Operation;
    /// Sets all attempts of this call, the first included.
    attempts: Option<u32>;
    /// Sets the longest time of this call.
    deadline: Option<Duration>;
    /// Sets how soon the adaptive throttle may shed this call.
    priority: Priority;
}
