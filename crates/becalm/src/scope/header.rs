//! How does a scope travel to another process? As one header field of the request.
//!
//! The field is a dictionary of RFC 9651:
//!
//! ```text
//! becalm-scope: attempt=2, repeated, remaining=1200
//! ```
//!
//! | member | type | says | absent |
//! |---|---|---|---|
//! | `attempt` | integer, 1 to 255 | the number of the attempt right above; 255 stands for that and more | unknown |
//! | `retry` | boolean | a layer further up is past its first attempt; written only where `attempt` does not say so | every layer is at its first |
//! | `repeated` | boolean | a layer above may repeat this work | nobody will |
//! | `remaining` | integer, milliseconds | the time left before the earliest deadline above, rounded down | no deadline |
//!
//! Time is relative because clocks of two machines differ; the way of the request is not counted.
//!
//! # What a stranger can do with it
//!
//! Nothing but harm himself. Every member only makes the callee do less for this request: `repeated`
//! and a later attempt suppress nested retries, `remaining` shortens the deadline and never lengthens
//! it. There is no member that allows a retry, an attempt or a token. A request that lies by leaving
//! the field out is at its first attempt, which is what it gets without any field.

use core::fmt;
use core::time::Duration;

use super::{ATTEMPT_AT, CLOCK_AT, REMOTE, REPEATED, RETRYING, Scope};
use crate::hint::structured::{Value, dictionary};
use crate::time::{ClockId, Instant};

/// What a scope says to another process: the value of the header field `becalm-scope`.
///
/// `Display` writes it, without allocating; [`Scope::decode`] reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScopeHeader {
    attempt: u8,
    retry: bool,
    repeated: bool,
    remaining: Option<Duration>,
}

impl Scope {
    /// The scope for another process, `now` being a point on this clock; `None` where there is
    /// nothing to say.
    ///
    /// The deadline is told if it is on this clock, as the time that is left, rounded down to
    /// milliseconds and 0 if it has passed: hand over the clock of the retrier that makes the
    /// attempt.
    ///
    /// ```
    /// use becalm::{rng::SplitMix64, time::ClockId};
    /// use becalm::{Policy, Scope};
    /// use becalm::call::{Call, CallOptions};
    /// use becalm::scope::ScopeHeader;
    /// use becalm::shared::Shared;
    /// use becalm::time::Instant;
    /// use core::time::Duration;
    ///
    /// let clock = ClockId::PROCESS;
    /// let policy = Policy::default().deadline(Duration::from_secs(2));
    /// let orders = Shared::new(policy, Duration::ZERO)?.on_clock(clock);
    ///
    /// let mut call = Call::begin(&orders, CallOptions::new(), Scope::NONE, Instant::ZERO);
    /// let _attempt = call.start(Instant::ZERO, &mut SplitMix64::new(7));
    /// let now = Instant::ZERO.after(Duration::from_millis(800));
    /// let header = call.scope().encode(now, clock).expect("an attempt above");
    /// assert_eq!(header.to_string(), "attempt=1, repeated, remaining=1200");
    /// assert_eq!(ScopeHeader::NAME, "becalm-scope");
    ///
    /// // In the other process, on its own clock:
    /// let scope = Scope::decode("attempt=1, repeated, remaining=1200", Instant::ZERO, clock);
    /// assert!(scope.is_repeated_above());
    /// assert_eq!(scope.deadline(clock), Some(Instant::ZERO.after(Duration::from_millis(1200))));
    /// # Ok::<(), becalm::policy::InvalidPolicy>(())
    /// ```
    pub fn encode(self, now: Instant, clock: ClockId) -> Option<ScopeHeader> {
        let header = ScopeHeader {
            attempt: u8::try_from(self.attempt()).unwrap_or(u8::MAX),
            retry: !self.is_first_try(),
            repeated: self.is_repeated_above(),
            remaining: self.deadline(clock).map(|deadline| deadline.since(now)),
        };
        (header != ScopeHeader::default()).then_some(header)
    }

    /// The scope of a request that came with this field value at `now` on this clock.
    ///
    /// There is always somebody above to be told, the sender, even if the text says nothing: pass
    /// the empty text for a request without the field. So [`is_retry_forbidden`](Self::is_retry_forbidden)
    /// can be asked of the scope afterwards, and the answer can say so.
    ///
    /// Never fails. What RFC 9651 does not allow is ignored as a whole; unknown members, parameters,
    /// and values of another type or out of range are skipped; of members of one key the last
    /// counts, and attempts above 255 saturate. One pass over the text, no allocation.
    pub fn decode(text: impl AsRef<[u8]>, now: Instant, clock: ClockId) -> Self {
        Self::from_remote(&ScopeHeader::read(text.as_ref()), now, clock)
    }

    /// What another process said of the layers above it.
    pub(crate) fn from_remote(said: &ScopeHeader, now: Instant, clock: ClockId) -> Self {
        let mut meta = REMOTE | u64::from(said.attempt) << ATTEMPT_AT;
        if said.repeated {
            meta |= REPEATED;
        }
        if said.retry || said.attempt > 1 {
            meta |= RETRYING;
        }
        let deadline = match said.remaining {
            // On whichever clock the call that is to see it may be.
            Some(Duration::ZERO) => Instant::ZERO,
            Some(remaining) => now.after(remaining),
            None => Instant::NEVER,
        };
        if deadline != Instant::NEVER {
            meta |= u64::from(clock.to_bits()) << CLOCK_AT;
        }
        Self { deadline, meta }
    }
}

impl ScopeHeader {
    /// The name of the header field.
    pub const NAME: &'static str = "becalm-scope";

    pub(crate) fn read(text: &[u8]) -> Self {
        let mut found = Self::default();
        match dictionary(text, |key, value| found.take(key, value)) {
            Some(()) => found,
            None => Self::default(),
        }
    }

    fn take(&mut self, key: &[u8], value: Value<'_>) {
        let is_true = value == Value::Boolean(true);
        match key {
            b"attempt" => self.attempt = value.whole().map_or(0, saturated),
            b"retry" => self.retry = is_true,
            b"repeated" => self.repeated = is_true,
            b"remaining" => self.remaining = value.whole().map(Duration::from_millis),
            _ => {}
        }
    }
}

/// What other systems say of the same things, where it makes the callee do less.
#[cfg(feature = "http")]
impl ScopeHeader {
    /// Somebody counts this attempt: past the first it is a layer that repeats.
    pub(crate) fn at_attempt(&mut self, number: u64) {
        self.attempt = self.attempt.max(saturated(number));
        self.repeated |= number > 1;
    }

    pub(crate) fn at_retry(&mut self) {
        (self.retry, self.repeated) = (true, true);
    }

    /// Somebody leaves this much time.
    pub(crate) fn within(&mut self, remaining: Duration) {
        let shorter = self.remaining.map_or(remaining, |own| own.min(remaining));
        self.remaining = Some(shorter);
    }
}

fn saturated(attempt: u64) -> u8 {
    u8::try_from(attempt).unwrap_or(u8::MAX)
}

impl fmt::Display for ScopeHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        let mut next = || core::mem::replace(&mut separator, ", ");
        if self.attempt > 0 {
            write!(f, "{}attempt={}", next(), self.attempt)?;
        }
        if self.retry && self.attempt <= 1 {
            write!(f, "{}retry", next())?;
        }
        if self.repeated {
            write!(f, "{}repeated", next())?;
        }
        if let Some(remaining) = self.remaining {
            write!(f, "{}remaining={}", next(), remaining.as_millis())?;
        }
        Ok(())
    }
}
