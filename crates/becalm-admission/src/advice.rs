//! How is it written down when to come again? In a close frame's reason, in headers.

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use becalm::hint::Hint;
use becalm::support::reasons;

/// The header of an answer that hands a sealed ticket over, and of the next request that brings it back.
pub const TICKET_HEADER: &str = "admission-ticket";

/// When to come again, and with what: a refusal as it is told.
///
/// In HTTP it is three headers of a 503: `retry-after` in whole seconds, rounded up, for those who know no other,
/// `retry-after-ms`, and [`TICKET_HEADER`]. In the reason of a WebSocket's close 1013, which has room for 123 bytes (RFC 6455
/// section 5.5.1), it is this text:
///
/// ```
/// use becalm_admission::Advice;
/// use std::time::Duration;
///
/// let advice = Advice::new(Duration::from_millis(2500)).ticket("0a1b".to_owned());
/// assert_eq!(advice.to_string(), "retry-after-ms=2500; ticket=0a1b");
/// assert_eq!("retry-after-ms=2500; ticket=0a1b".parse(), Ok(advice));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Advice {
    /// From now on, rounded up to a millisecond where it is written.
    pub delay: Duration,
    /// A sealed ticket.
    pub ticket: Option<String>,
}

reasons! {
    /// Why a text is no advice.
    InvalidAdvice;
    /// It does not begin with the delay.
    Delay: "the text does not begin with retry-after-ms=<milliseconds>";
    /// Something else stands where the ticket may.
    Ticket: "behind the delay stands something other than ; ticket=<letters and digits>";
}

impl Advice {
    /// To come again after this, without a ticket.
    pub const fn new(delay: Duration) -> Self {
        Self {
            delay,
            ticket: None,
        }
    }

    /// With a sealed ticket.
    #[must_use]
    pub fn ticket(mut self, ticket: String) -> Self {
        self.ticket = Some(ticket);
        self
    }

    /// What it means to who comes again: with a ticket exactly then, since its place is its own; without one not before.
    pub fn hint(&self) -> Hint {
        match self.ticket {
            Some(_) => Hint::Exactly(self.delay),
            None => Hint::AtLeast(self.delay),
        }
    }

    /// The value of `retry-after-ms`.
    pub fn millis(&self) -> u64 {
        u64::try_from(self.delay.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }

    /// The value of `retry-after` (RFC 9110 section 10.2.3).
    pub fn seconds(&self) -> u64 {
        self.millis().div_ceil(1000)
    }
}

const DELAY: &str = "retry-after-ms=";
const TICKET: &str = "; ticket=";

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{DELAY}{}", self.millis())?;
        match &self.ticket {
            Some(ticket) => write!(f, "{TICKET}{ticket}"),
            None => Ok(()),
        }
    }
}

impl FromStr for Advice {
    type Err = InvalidAdvice;

    fn from_str(text: &str) -> Result<Self, InvalidAdvice> {
        let text = text.strip_prefix(DELAY).ok_or(InvalidAdvice::Delay)?;
        let end = text.find(|c: char| !c.is_ascii_digit());
        let (millis, behind) = text.split_at(end.unwrap_or(text.len()));
        let millis = millis.parse().map_err(|_| InvalidAdvice::Delay)?;
        let advice = Self::new(Duration::from_millis(millis));
        if behind.is_empty() {
            return Ok(advice);
        }
        let ticket = behind.strip_prefix(TICKET).ok_or(InvalidAdvice::Ticket)?;
        let is_plain = ticket.bytes().all(|it| it.is_ascii_alphanumeric());
        if ticket.is_empty() || !is_plain {
            return Err(InvalidAdvice::Ticket);
        }
        Ok(advice.ticket(ticket.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    #[test]
    fn what_is_no_advice_is_refused_with_a_reason() {
        for (text, reason) in [
            ("", InvalidAdvice::Delay),
            ("bye", InvalidAdvice::Delay),
            ("retry-after-ms=", InvalidAdvice::Delay),
            ("retry-after-ms=-1", InvalidAdvice::Delay),
            ("retry-after-ms=99999999999999999999", InvalidAdvice::Delay),
            ("retry-after-ms=1;", InvalidAdvice::Ticket),
            ("retry-after-ms=1; ticket=", InvalidAdvice::Ticket),
            ("retry-after-ms=1; ticket=a b", InvalidAdvice::Ticket),
        ] {
            assert_eq!(text.parse::<Advice>(), Err(reason), "{text}");
        }
    }

    #[test]
    fn a_delay_is_never_told_shorter_than_it_is() {
        let advice = Advice::new(Duration::from_nanos(1_000_000_001));
        assert_eq!((advice.millis(), advice.seconds()), (1001, 2));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(millis: u64, ticket in proptest::option::of("[0-9a-f]{1,68}")) {
            let mut advice = Advice::new(Duration::from_millis(millis));
            advice.ticket = ticket;
            prop_assert_eq!(advice.to_string().parse(), Ok(advice));
        }

        #[test]
        fn no_text_panics(text in "(retry-after-ms=)?.*") {
            let _ = text.parse::<Advice>();
        }
    }
}
