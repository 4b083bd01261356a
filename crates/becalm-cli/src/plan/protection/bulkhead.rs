//! What does a bulkhead let through?

use std::fmt::Write as _;
use std::time::Duration;

use becalm::Bulkhead;
use becalm::bulkhead::Limit;
use becalm::support::Human;
use serde::Serialize;

use super::counted;

/// The places of a bulkhead.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Places {
    text: String,
    /// Attempts at once, at most.
    calls: u32,
    waiting: u32,
    /// Attempts a second where every one takes its whole timeout; null without a timeout.
    worst_per_second: Option<f64>,
    #[serde(skip)]
    sentence: String,
}

impl Places {
    /// The figures of a bulkhead in a policy with this attempt timeout.
    pub fn of(bulkhead: &Bulkhead, timeout: Option<Duration>) -> Self {
        let (calls, limit) = match bulkhead.limit {
            Limit::Aimd(it) => (it.max, learned(it.initial, it.min, it.max, "failures")),
            Limit::Gradient(it) => (it.max, learned(it.initial, it.min, it.max, "latency")),
            Limit::Fixed(calls) => (
                calls,
                format!("at most {} at once", counted(calls, "attempt", "attempts")),
            ),
            _ => (u32::MAX, "a bound on the attempts at once".into()),
        };
        let worst = timeout.map(|timeout| f64::from(calls) / timeout.as_secs_f64());
        let rest = match (bulkhead.waiting, bulkhead.max_wait) {
            (0, _) => "one more is refused".into(),
            (waiting, longest) => {
                let longest = longest.map(|it| format!(", for at most {}", Human(it)));
                format!(
                    "{} for a place{}",
                    counted(waiting, "call that waits", "calls that wait"),
                    longest.unwrap_or_default()
                )
            }
        };
        let mut sentence = format!("bulkhead: {limit}, and {rest}");
        if let (Some(worst), Some(timeout)) = (worst, timeout) {
            let _ = write!(
                sentence,
                "; {} a second if every one takes its {}",
                becalm_report::format::plain(worst),
                Human(timeout)
            );
        }
        Self {
            text: bulkhead.to_string(),
            calls,
            waiting: bulkhead.waiting,
            worst_per_second: worst,
            sentence,
        }
    }

    /// What it lets through, in a sentence.
    pub fn sentence(&self) -> String {
        self.sentence.clone()
    }
}

fn learned(initial: u32, min: u32, max: u32, from: &str) -> String {
    format!("{initial} attempts at once, from {min} to {max} as {from} shows")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_the_worst_rate_are_told() {
        let second = Duration::from_secs(1);
        for (bulkhead, timeout, sentence) in [
            (
                "calls:50,waiting:10",
                Some(2 * second),
                "bulkhead: at most 50 attempts at once, and 10 calls that wait for a place; 25 a \
                 second if every one takes its 2s",
            ),
            (
                "calls:1",
                None,
                "bulkhead: at most 1 attempt at once, and one more is refused",
            ),
            (
                "gradient:20,min:1,max:200,waiting:1,max-wait:1s",
                None,
                "bulkhead: 20 attempts at once, from 1 to 200 as latency shows, and 1 call that \
                 waits for a place, for at most 1s",
            ),
        ] {
            let bulkhead: Bulkhead = bulkhead.parse().unwrap();
            assert_eq!(Places::of(&bulkhead, timeout).sentence(), sentence);
        }
    }
}
