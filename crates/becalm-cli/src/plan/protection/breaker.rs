//! When does a breaker open in a plain outage, and for how long?

use std::time::Duration;

use becalm::Breaker;
use becalm::breaker::{Refuses, Span, Trip};
use becalm::support::Human;
use serde::Serialize;

use super::{counted, percent};
use crate::plan::millis::Millis;

/// How a breaker behaves in a plain outage: from one moment on every attempt fails.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Opening {
    text: String,
    /// Attempts that must have failed, at the least.
    after_failures: u32,
    /// How long the outage lasts by then at a steady rate, after a healthy time; null where only
    /// attempts count.
    after_ms: Option<Millis>,
    open_least_ms: Millis,
    open_most_ms: Millis,
    open_again_most_ms: Millis,
    probes: u32,
    successes: u32,
    #[serde(skip)]
    breaker: Breaker,
}

impl Opening {
    /// The figures of a breaker.
    pub fn of(breaker: &Breaker) -> Self {
        let (after_failures, after) = opens(breaker);
        Self {
            text: breaker.to_string(),
            after_failures,
            after_ms: after.map(Millis::from),
            open_least_ms: shortest(breaker).into(),
            open_most_ms: breaker.open.into(),
            open_again_most_ms: breaker.open_max.into(),
            probes: breaker.probes,
            successes: breaker.successes,
            breaker: *breaker,
        }
    }

    /// When it opens and closes, in a sentence.
    pub fn sentence(&self) -> String {
        let Breaker {
            trip,
            min_calls,
            open,
            open_max,
            probes,
            successes,
            refuses,
            ..
        } = self.breaker;
        let when = match trip {
            Trip::Consecutive(failures) => format!(
                "in a plain outage it opens with {}, retries included",
                counted(failures, "failure", "failures in a row")
            ),
            Trip::Share {
                share,
                window: Span::Calls(_),
            } => format!(
                "in a plain outage it opens when {} of the window have failed, {} attempts from a \
                 healthy time on",
                percent(share),
                self.after_failures
            ),
            Trip::Share {
                share,
                window: Span::Time(window),
            } => format!(
                "in a plain outage it opens after {} at a steady rate ({} of {}), sooner where \
                 retries add to it, and not below {min_calls} attempts",
                Human(window.mul_f64(share)),
                percent(share),
                Human(window),
            ),
            // Kinds to come are named as the flag names them.
            _ => format!("it opens at {}", self.text),
        };
        let refused = match refuses {
            Refuses::Retries => "; meanwhile it refuses retries alone, and first tries pass",
            _ => "",
        };
        format!(
            "breaker: {when}; for {} to {}, up to {} when it opens again and again; then {} at a \
             time, and {} close it{refused}",
            Human(shortest(&self.breaker)),
            Human(open),
            Human(open_max),
            counted(probes, "probe", "probes"),
            counted(successes, "that succeeds", "that succeed"),
        )
    }
}

/// The open time at its shortest, the first time.
fn shortest(breaker: &Breaker) -> Duration {
    breaker.open.mul_f64((1.0 - breaker.jitter).clamp(0.0, 1.0))
}

/// Failed attempts at the least, and the time at a steady rate where a window of time is full of
/// successes.
fn opens(breaker: &Breaker) -> (u32, Option<Duration>) {
    match breaker.trip {
        Trip::Consecutive(failures) => (failures, None),
        Trip::Share { share, window } => match window {
            Span::Calls(calls) => (share_of(calls, share), None),
            Span::Time(time) => (
                share_of(breaker.min_calls, share),
                Some(time.mul_f64(share)),
            ),
            _ => (1, None),
        },
        _ => (1, None),
    }
}

/// So many of a whole, rounded up.
fn share_of(whole: u32, share: f64) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // at most the whole
    let part = (f64::from(whole) * share).ceil() as u32;
    part.clamp(1, whole.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_trip_tells_when_it_opens_and_for_how_long() {
        for (breaker, sentence) in [
            (
                "consecutive:5,open:30s",
                "breaker: in a plain outage it opens with 5 failures in a row, retries included; \
                 for 15s to 30s, up to 1m when it opens again and again; then 1 probe at a time, \
                 and 2 that succeed close it",
            ),
            (
                "share:0.5,calls:100,min:20,open:10s,jitter:0,probes:3,successes:1",
                "breaker: in a plain outage it opens when 50% of the window have failed, 50 \
                 attempts from a healthy time on; for 10s to 10s, up to 1m when it opens again \
                 and again; then 3 probes at a time, and 1 that succeeds close it",
            ),
            (
                "consecutive:5,refuses:retries",
                "breaker: in a plain outage it opens with 5 failures in a row, retries included; \
                 for 2.5s to 5s, up to 1m when it opens again and again; then 1 probe at a time, \
                 and 2 that succeed close it; meanwhile it refuses retries alone, and first tries \
                 pass",
            ),
            (
                "share:0.5,within:10s,min:20",
                "breaker: in a plain outage it opens after 5s at a steady rate (50% of 10s), \
                 sooner where retries add to it, and not below 20 attempts; for 2.5s to 5s, up to \
                 1m when it opens again and again; then 1 probe at a time, and 2 that succeed \
                 close it",
            ),
        ] {
            let breaker: Breaker = breaker.parse().unwrap();
            assert_eq!(Opening::of(&breaker).sentence(), sentence);
        }
    }
}
