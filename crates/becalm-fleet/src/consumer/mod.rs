//! What is done with a message that a handler has failed on?
//!
//! A queue outlives the outage of what its handlers call; its messages must, too. A consumer that counts attempts for each message
//! alone has used all of them before the dependency is back, and the dead letters fill with messages that nothing is wrong with. So
//!
//! - **a message is charged only if something else has succeeded since it last failed**: while nothing succeeds, nothing says
//!   that it is the message's fault;
//! - **after some failures in a row the consumer pauses**, and probes with one message at a time, after pauses that grow until one
//!   succeeds. A message that has failed while others succeeded tells nothing about the others, and neither makes nor keeps a pause;
//! - what nothing else can show to be at fault ends by its **age**.
//!
//! [`Consume`] says how, as plain data. [`Consumer`] is one consumer's state without IO: its driver asks what it may
//! [take](Consumer::next), [begins](Consumer::begin) a [`Delivery`] and does with the message as it is told ([`Settle`]). Where messages must
//! stay in order, [`OrderKeys`] holds back those whose predecessor is not done.
//!
//! A handler may see a message twice, as with every queue that forgets none: what it does must bear that.

mod machine;
mod order;
mod settings;

pub use machine::{Consumer, Running, Take};
pub use order::{OrderKeys, Turn};
pub use settings::Consume;

use core::time::Duration;

use becalm::StopReason;
use becalm::support::setters;

/// What is known of a message that is handed to a handler. All times are ages, since a message outlives the process and its clock.
///
/// ```
/// use becalm_fleet::consumer::Delivery;
/// use std::time::Duration;
///
/// let first = Delivery::default();
/// let third = first.failed(2).charged(1).age(Duration::from_secs(9)).since_failed(Duration::from_secs(4));
/// assert_eq!(third.attempt(), 3);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Delivery {
    /// How often a handler has failed on it, charged or not. It sets the step of the backoff.
    pub failed: u32,
    /// How often it was charged. It ends with as many as the policy has `attempts`.
    pub charged: u32,
    /// How long ago it was first seen, or published.
    pub age: Duration,
    /// How long ago it has failed last; `None` where it has not failed yet. Measured before the message waited in this process, if it
    /// did: too little spares it a charge, too much may charge it for an outage.
    pub since_failed: Option<Duration>,
}

setters! {
    /// Setters: each returns the delivery with one field changed.
    impl Delivery;
    /// Sets how often a handler has failed on it.
    failed: u32;
    /// Sets how often it was charged.
    charged: u32;
    /// Sets how long ago it was first seen.
    age: Duration;
    /// Sets how long ago it has failed last.
    since_failed: Option<Duration>;
}

impl Delivery {
    /// The number of this delivery, from 1.
    pub const fn attempt(&self) -> u32 {
        self.failed.saturating_add(1)
    }
}

/// What the driver does with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Settle {
    /// It is done: acknowledge it.
    Ack,
    /// Put it back, behind those that wait, not to be taken before this delay is over.
    Later {
        /// How long: drawn by the policy, or as the failure's hint asks.
        delay: Duration,
        /// Whether the failure counts as the message's own.
        charged: bool,
    },
    /// It is over: put it to the dead letters, with its history.
    Dead {
        /// [`Permanent`](StopReason::Permanent), [`DoNotRetry`](StopReason::DoNotRetry): the failure says so.
        /// [`AttemptsExhausted`](StopReason::AttemptsExhausted): it was charged as often as the policy allows.
        /// [`DeadlineExceeded`](StopReason::DeadlineExceeded): it would grow older than it may.
        /// [`HintTooLong`](StopReason::HintTooLong): it was asked to wait for longer than it may.
        reason: StopReason,
    },
    /// Put it back uncharged, as with `Later`, and take nothing for a while: [`Consumer::next`] says so from now on.
    Pause {
        /// How long the message waits.
        delay: Duration,
        /// How long the consumer pauses: at least as long as the failure's hint asks.
        pause: Duration,
    },
}
