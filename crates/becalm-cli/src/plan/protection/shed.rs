//! What do the guards before a first try leave of the load?

use becalm::support::Human;
use becalm::{Throttle, rate::AdaptiveRate};
use serde::Serialize;

use super::percent;
use crate::plan::millis::Millis;

/// What an adaptive throttle sheds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shedding {
    text: String,
    /// Requests that are sent for each that is accepted.
    sent_per_accepted: f64,
    most_shed: f64,
    window_ms: Millis,
    #[serde(skip)]
    configured: Throttle,
}

impl Shedding {
    /// The figures of a throttle.
    pub fn of(throttle: &Throttle) -> Self {
        Self {
            text: throttle.to_string(),
            sent_per_accepted: throttle.k,
            most_shed: throttle.max,
            window_ms: throttle.window.into(),
            configured: *throttle,
        }
    }

    /// What it sheds, in a sentence.
    pub fn sentence(&self) -> String {
        let Throttle { k, window, max, .. } = self.configured;
        format!(
            "throttle: first tries are shed while fewer than {} of them are accepted over {}, at \
             most {}; a service that accepts C a second is sent about {k} C",
            percent(1.0 / k),
            Human(window),
            percent(max)
        )
    }
}

/// What an adaptive rate holds back.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rate {
    text: String,
    max_wait_ms: Option<Millis>,
    #[serde(skip)]
    configured: AdaptiveRate,
}

impl Rate {
    /// The figures of an adaptive rate.
    pub fn of(rate: &AdaptiveRate) -> Self {
        Self {
            text: rate.to_string(),
            max_wait_ms: rate.max_wait.map(Millis::from),
            configured: *rate,
        }
    }

    /// What it does, in a sentence.
    pub fn sentence(&self) -> String {
        let wait = match self.configured.max_wait {
            Some(wait) => format!("waits at most {}, or is refused", Human(wait)),
            None => "waits for as long as its deadline allows".into(),
        };
        format!(
            "rate: no bound until the first throttled answer; then 70% of the rate that was \
             measured, and up again; an attempt {wait}"
        )
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn both_are_told_with_their_own_figures() {
        let shedding = Shedding::of(&Throttle::accepts(4.0));
        assert!(
            shedding
                .sentence()
                .contains("fewer than 25% of them are accepted over 2m, at most 90%"),
            "{}",
            shedding.sentence()
        );
        let rate = AdaptiveRate::cubic().max_wait(Duration::from_secs(5));
        let sentence = Rate::of(&rate).sentence();
        assert!(sentence.contains("at most 5s, or is refused"), "{sentence}");
    }
}
