//! Is the dependency well enough to be called at all?
//!
//! [`Breaker`] is the configuration, plain data; [`CircuitBreaker`] is the state that all calls to
//! one dependency share. It is asked before each attempt and told of each outcome; what is a
//! failure, its caller decides.
//!
//! - **Closed**: every call passes. Failures are counted, and enough of them open it.
//! - **Open**: no call passes for a jittered time that doubles with each opening in a row.
//! - **Half-open**: a bounded number of *probes* at once passes. Enough good ones close it; one
//!   that fails opens it again.
//! - **Isolated**: no call passes until an operator says so.
//!
//! A breaker that refuses [retries alone](Refuses::Retries) is asked in the way of all others; a
//! retrier lets the first try of a call pass where it refuses.
//!
//! A result counts in the very state in which its call was admitted and in no other: what comes
//! back late is ignored. After Nygard, *Release It!* (2007), ch. 5.
//!
//! ```
//! use becalm::time::Instant;
//! use becalm::breaker::{Breaker, CircuitBreaker, Outcome, State};
//! use std::time::Duration;
//!
//! let breaker = CircuitBreaker::new(Breaker::consecutive(2))?;
//! let (now, took, random) = (Instant::ZERO, Duration::ZERO, || 7);
//! for _ in 0..2 {
//!     let permit = breaker.admit(|| now).expect("closed");
//!     breaker.record(permit, Outcome::Failure, || now, took, random);
//! }
//! assert_eq!(breaker.state(now), State::Open);
//! let next_probe = breaker.admit(|| now).unwrap_err().until;
//! assert!(next_probe > Some(now));
//! # Ok::<(), becalm::breaker::InvalidBreaker>(())
//! ```

mod change;
mod circuit;
mod config;
mod counts;
mod rules;
mod word;

pub use circuit::CircuitBreaker;
pub use config::{Breaker, InvalidBreaker, Refuses, Span, Trip};

use core::fmt;
use core::time::Duration;

use crate::names::names;
use crate::time::Instant;

names! {
    /// What a breaker lets through.
    State: "breaker state", shown;
    /// Every call.
    Closed = "closed";
    /// None, until its open time is over.
    Open = "open";
    /// A bounded number of probes at once.
    HalfOpen = "half_open";
    /// None, until an operator says so.
    Isolated = "isolated";
}

/// How a call ended, as its caller sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The dependency did what it should.
    Success,
    /// The dependency failed, or the operation panicked.
    Failure,
    /// The call was given up (dropped, timed out from outside, denied by a budget) before anything
    /// came of it. It counts as failed if it had taken the slow threshold, otherwise not at all.
    Cancelled,
}

/// A call that was admitted, and in which state.
///
/// Not `Clone`: it is handed back once, to [`record`](CircuitBreaker::record).
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a permit that is not recorded keeps a probe's place; record Outcome::Cancelled"]
pub struct Permit {
    epoch: u32,
    role: Role,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Call,
    Probe,
    /// The probe by which the breaker went from open to half-open.
    FirstProbe,
}

impl Permit {
    /// Whether this call decides whether the breaker closes. Such a call makes no deposit into a
    /// budget.
    pub const fn is_probe(&self) -> bool {
        !matches!(self.role, Role::Call)
    }

    /// The change of state that this admission made: from open to half-open, or none.
    pub fn transition(&self) -> Option<Transition> {
        (self.role == Role::FirstProbe).then_some(Transition {
            from: State::Open,
            to: State::HalfOpen,
            open_for: None,
        })
    }
}

/// A call that was not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused {
    /// When to ask again: the end of the open time; while all probes are running, one `open` from
    /// now (or less, if a probe is given up before that); `None` while isolated.
    pub until: Option<Instant>,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.until {
            Some(_) => "the circuit breaker is open; call again when its next probe is due",
            None => {
                "the circuit breaker is isolated; it passes no call until an operator ends that"
            }
        })
    }
}

impl core::error::Error for Refused {}

/// A change of state, told to exactly one caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Transition {
    /// The state before.
    pub from: State,
    /// The state after.
    pub to: State,
    /// How long it will be open, where it opens: jitter included.
    pub open_for: Option<Duration>,
}
