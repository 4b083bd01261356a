//! In which order do the parts of a policy stand around the operation?
//!
//! Outermost first: deadline; before a first try the adaptive throttle, before every attempt the
//! adaptive rate; retry with its wait; hedge; bulkhead; breaker; attempt timeout; the operation.
//! The order is fixed, so that nobody can get it wrong:
//!
//! - The **deadline** bounds everything, waits and queues included.
//! - **Retry** is outside of what follows: nothing is held during a wait, and every attempt is
//!   judged anew.
//! - Each copy of a **hedge** takes a place in the **bulkhead** and asks the **breaker**, or a slow
//!   dependency would be loaded past both.
//! - The **breaker** is inside the bulkhead: a call that has waited for its place learns what is
//!   known when it starts, not what was known when it came.
//! - The **attempt timeout** is innermost: the time in a queue is not the dependency's.

use core::fmt;
use core::time::Duration;

use super::{Mode, Policy};
use crate::backoff::Backoff;
use crate::budget::WhenSpent;
use crate::human::Human;
use crate::jitter::Jitter;

/// The policy as a sentence, in the order of protection.
///
/// ```
/// use becalm::Policy;
/// use becalm::bulkhead::Bulkhead;
/// use std::time::Duration;
///
/// let policy = Policy::exponential(Duration::from_millis(100))
///     .deadline(Duration::from_secs(30))
///     .bulkhead(Bulkhead::calls(50));
/// assert_eq!(
///     policy.to_string(),
///     "deadline 30s, then retry (4 attempts, exponential from 100ms x 2, cap 20s, full jitter, \
///      budget ratio:0.1,burst:5s,min:10,floor:10/h), then bulkhead (calls:50), then the operation"
/// );
/// ```
impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.mode == Mode::Observe {
            f.write_str("observe only: ")?;
        }
        if let Some(deadline) = self.deadline {
            write!(f, "deadline {}, then ", Human(deadline))?;
        }
        part(f, "throttle", self.throttle)?;
        part(f, "rate", self.rate)?;
        self.write_retry(f)?;
        part(f, "hedge", self.hedge)?;
        part(f, "bulkhead", self.bulkhead)?;
        part(f, "breaker", self.breaker)?;
        if let Some(timeout) = self.attempt_timeout {
            write!(f, "attempt timeout {}, then ", Human(timeout))?;
        }
        f.write_str("the operation")
    }
}

fn part(f: &mut fmt::Formatter<'_>, name: &str, part: Option<impl fmt::Display>) -> fmt::Result {
    match part {
        Some(part) => write!(f, "{name} ({part}), then "),
        None => Ok(()),
    }
}

impl Policy {
    fn write_retry(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.attempts {
            1 => return f.write_str("no retry, then "),
            Self::UNLIMITED => f.write_str("retry (attempts without limit, ")?,
            attempts => write!(f, "retry ({attempts} attempts, ")?,
        }
        self.write_waits(f)?;
        if self.floor > Duration::ZERO {
            write!(f, ", floor {}", Human(self.floor))?;
        }
        write!(f, ", cap {}", Human(self.cap))?;
        match self.jitter {
            Jitter::None => f.write_str(", no jitter")?,
            jitter => write!(f, ", {jitter} jitter")?,
        }
        write!(f, ", budget {}", self.budget)?;
        if self.when_spent == WhenSpent::Wait {
            f.write_str(", waiting for tokens")?;
        }
        if let Some(places) = self.max_waiting {
            write!(f, ", {places} waiting at once")?;
        }
        if let Some(lists) = &self.retry_on {
            write!(f, ", on {lists}")?;
        }
        f.write_str("), then ")
    }

    fn write_waits(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.backoff {
            _ if self.jitter.is_decorrelated() => {
                write!(f, "from {} to 3 x the last wait", Human(self.base))?;
            }
            Backoff::Custom(_) => f.write_str("custom backoff")?,
            Backoff::Fixed => write!(f, "fixed {}", Human(self.base))?,
            backoff => write!(f, "{backoff} from {}", Human(self.base))?,
        }
        if self.backoff == Backoff::Exponential && !self.jitter.is_decorrelated() {
            write!(f, " x {}", self.multiplier)?;
        }
        match self.throttled_base {
            Some(base) => write!(f, " ({} when throttled)", Human(base)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn the_sentence_names_what_is_there_and_nothing_else() {
        let policy = Policy::fixed(Duration::from_secs(1)).attempts(1);
        assert_eq!(policy.to_string(), "no retry, then the operation");
        let policy = Policy::fixed(Duration::from_secs(1))
            .attempts(Policy::UNLIMITED)
            .jitter(Jitter::None)
            .floor(Duration::from_millis(5))
            .max_waiting(7)
            .attempt_timeout(Duration::from_secs(2));
        assert_eq!(
            policy.to_string(),
            "retry (attempts without limit, fixed 1s, floor 5ms, cap 20s, no jitter, budget \
             ratio:0.1,burst:5s,min:10,floor:10/h, 7 waiting at once), then attempt timeout 2s, then the operation"
        );
    }
}
