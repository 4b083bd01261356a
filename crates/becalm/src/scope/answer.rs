//! How does "do not retry" travel up to the caller? As one header field of the response.
//!
//! The field is a dictionary of RFC 9651 with one member, whose value is the reason as a token:
//!
//! ```text
//! becalm-retry: do-not-retry=budget_exhausted
//! ```
//!
//! The reasons are the names of those [`StopReason`]s that forbid retries above. A bare
//! `do-not-retry`, and one with a reason that is not known here, forbid as well; `do-not-retry=?0`
//! says nothing.

use core::fmt;

use crate::hint::Hint;
use crate::hint::structured::{Value, dictionary};
use crate::stop::StopReason;

/// Word for all layers above that more attempts harm: the value of the header field
/// `becalm-retry`.
///
/// ```
/// use becalm::{DoNotRetry, StopReason};
/// let answer = DoNotRetry::because(StopReason::BudgetExhausted).expect("forbids retries above");
/// assert_eq!(answer.to_string(), "do-not-retry=budget_exhausted");
/// assert_eq!(DoNotRetry::decode("do-not-retry=budget_exhausted"), Some(answer));
/// assert_eq!(DoNotRetry::NAME, "becalm-retry");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DoNotRetry {
    reason: StopReason,
}

impl DoNotRetry {
    /// The name of the header field.
    pub const NAME: &'static str = "becalm-retry";

    /// The answer of a layer that stopped for this reason; `None` where a layer above may still
    /// retry ([`StopReason::forbids_retry_above`]).
    pub const fn because(reason: StopReason) -> Option<Self> {
        if reason.forbids_retry_above() {
            Some(Self { reason })
        } else {
            None
        }
    }

    /// What this field value says; `None` if it does not forbid a retry.
    ///
    /// Never fails. What RFC 9651 does not allow is ignored as a whole, unknown members and
    /// parameters are skipped. One pass over the text, no allocation.
    pub fn decode(text: impl AsRef<[u8]>) -> Option<Self> {
        let mut found = None;
        dictionary(text.as_ref(), |key, value| {
            if key == b"do-not-retry" {
                found = Self::of_member(value);
            }
        })?;
        found
    }

    /// What an unknown value means is not known; the word itself is clear.
    fn of_member(value: Value<'_>) -> Option<Self> {
        let named = |token: &[u8]| {
            let mut reasons = StopReason::ALL.iter().copied();
            reasons
                .find(|reason| reason.forbids_retry_above() && reason.as_str().as_bytes() == token)
        };
        let reason = match value {
            Value::Boolean(false) => return None,
            Value::Token(token) => named(token),
            _ => None,
        };
        Some(Self {
            reason: reason.unwrap_or(StopReason::DoNotRetry),
        })
    }

    /// Why: [`DoNotRetry`](StopReason::DoNotRetry) where the sender did not say.
    pub const fn reason(self) -> StopReason {
        self.reason
    }

    /// What the decision makes of it: [`Hint::Stop`].
    pub const fn hint(self) -> Hint {
        Hint::Stop
    }
}

/// The field value.
impl fmt::Display for DoNotRetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "do-not-retry={}", self.reason.as_str())
    }
}
