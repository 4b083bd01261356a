//! At which ends of its intervals does a service look worst?
//!
//! A verdict on what was measured is a verdict on the truth if it is no better anywhere in the intervals. So a scenario has the ends at
//! which the service can do least, gets most, and holds most: never the values in the middle.

use std::time::Duration;

use crate::{FirstTries, Fitted, How, Known};

impl<T: Clone> Known<T> {
    /// The upper end of its interval, or the value where there is none.
    pub(crate) fn most(&self) -> T {
        self.interval().map_or(&self.value, |it| it.1).clone()
    }

    /// The lower end of its interval, or the value where there is none.
    pub(crate) fn least(&self) -> T {
        match &self.how {
            How::Measured { low, .. } => low.clone(),
            _ => self.value.clone(),
        }
    }
}

impl Fitted {
    /// The factor by which service times grow from the capacity to the lower end of its interval.
    pub(crate) fn slower(&self) -> f64 {
        let slower = Some(self.capacity.value / self.capacity.least());
        slower
            .filter(|it| it.is_finite())
            .map_or(1.0, |it| it.max(1.0))
    }

    /// The places of the queue, where they are most.
    pub(crate) fn longest_queue(&self) -> Option<u32> {
        self.queue.most().filter(|_| !self.queue.is_open())
    }

    /// The first tries where most of them come: at both rates of bursts as many more.
    pub(crate) fn busiest(&self) -> FirstTries {
        let mut most = self.arrivals.most();
        let more = most.rate / self.arrivals.value.rate;
        if let (Some(bursts), true) = (&mut most.bursts, more.is_finite()) {
            bursts.rate *= more;
            bursts.burst_rate *= more;
        }
        most
    }
}

/// The time multiplied by this factor, in whole microseconds.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates"
)]
pub fn longer(time: Duration, by: f64) -> Duration {
    Duration::from_micros((time.as_micros() as f64 * by).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fit, Options};

    #[test]
    fn a_scenario_has_the_ends_at_which_the_service_does_worse() {
        let mut fitted = Fit::new(Options::default()).finish();
        fitted.capacity = Known::measured(200.0, 160.0, 220.0, "");
        fitted.times = vec![Duration::from_millis(20)];
        fitted.queue = Known::measured(Some(40), Some(38), Some(42), "");
        fitted.failures = Known::measured(0.01, 0.005, 0.02, "");
        fitted.arrivals = Known::measured(100.0, 95.0, 105.0, "").map(|rate| FirstTries {
            rate,
            dispersion: (1.0, 1.0),
            bursts: None,
            trace: Vec::new(),
        });
        let text = fitted.scenario("ends");
        for line in [
            "time = [\"25ms\"]",
            "queue = 42",
            "failures = 0.02",
            "arrivals = \"poisson:105.0\"",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
        fitted.queue = Known::measured(Some(40), Some(38), None::<Option<u32>>, "");
        let text = fitted.scenario("this or more");
        assert!(text.contains("queue = \"unlimited\""), "{text}");
    }
}
