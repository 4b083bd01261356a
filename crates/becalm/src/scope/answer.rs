//! How does the caller hear that a layer below could not retry? By one header field of the response.
//!
//! The field is a dictionary of RFC 9651:
//!
//! ```text
//! becalm-retry: do-not-retry
//! becalm-retry: gave-up=budget_exhausted
//! ```
//!
//! | member | type | says |
//! |---|---|---|
//! | `do-not-retry` | boolean, or anything | the server forbids more attempts; `?0` says nothing |
//! | `gave-up` | token: `budget_exhausted`, `breaker_open` | a layer below could not retry, for this reason |

use core::fmt;

use crate::hint::Hint;
use crate::hint::structured::{Value, dictionary};
use crate::stop::StopReason;

/// What a layer tells those above it about more attempts: the value of the header field
/// `becalm-retry`.
///
/// ```
/// use becalm::{StopReason, scope::Told};
/// let answer = Told::because(StopReason::BudgetExhausted).expect("is told");
/// assert_eq!(answer.to_string(), "gave-up=budget_exhausted");
/// assert_eq!(Told::decode("gave-up=budget_exhausted"), Some(answer));
/// assert_eq!(Told::NAME, "becalm-retry");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told {
    reason: StopReason,
}

impl Told {
    /// The name of the header field.
    pub const NAME: &'static str = "becalm-retry";

    /// The answer of a layer that stopped for this reason; `None` where the layers above need not
    /// hear it ([`StopReason::is_told_above`]).
    pub const fn because(reason: StopReason) -> Option<Self> {
        if reason.is_told_above() {
            Some(Self { reason })
        } else {
            None
        }
    }

    /// What this field value says; `None` if that is nothing. `do-not-retry` goes before `gave-up`,
    /// and of members of one key the last counts.
    ///
    /// Never fails. What RFC 9651 does not allow is ignored as a whole, unknown members and
    /// parameters are skipped. One pass over the text, no allocation.
    pub fn decode(text: impl AsRef<[u8]>) -> Option<Self> {
        let (mut is_forbidden, mut gave_up) = (false, None);
        dictionary(text.as_ref(), |key, value| match key {
            // What another value means is not known; the word itself is clear.
            b"do-not-retry" => is_forbidden = value != Value::Boolean(false),
            b"gave-up" => gave_up = named(value),
            _ => (),
        })?;
        let forbidden = is_forbidden.then_some(StopReason::DoNotRetry);
        forbidden.or(gave_up).map(|reason| Self { reason })
    }

    /// Why: [`DoNotRetry`](StopReason::DoNotRetry) forbids retries above.
    pub const fn reason(self) -> StopReason {
        self.reason
    }

    /// What the decision makes of it.
    pub const fn hint(self) -> Hint {
        match self.reason {
            StopReason::DoNotRetry => Hint::Stop,
            reason => Hint::Below(reason),
        }
    }
}

/// The field value.
impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            StopReason::DoNotRetry => f.write_str("do-not-retry"),
            reason => write!(f, "gave-up={}", reason.as_str()),
        }
    }
}

/// The reason of this token, if it is one that is told without forbidding.
fn named(value: Value<'_>) -> Option<StopReason> {
    let Value::Token(token) = value else {
        return None;
    };
    let mut told = [StopReason::BudgetExhausted, StopReason::BreakerOpen].into_iter();
    told.find(|reason| reason.as_str().as_bytes() == token)
}
