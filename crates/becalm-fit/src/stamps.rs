//! In what steps does a log tell moments?

use std::time::Duration;

use crate::Request;

/// The steps that logs have, in microseconds, the longest first.
const STEPS: [i64; 4] = [SECOND, 100_000, 10_000, 1_000];
const SECOND: i64 = 1_000_000;

/// Counts moments that are whole steps.
#[derive(Debug, Clone, Default)]
pub struct Stamps {
    requests: u64,
    /// Of starts and of ends, by step.
    whole: [[u64; 2]; STEPS.len()],
}

impl Stamps {
    /// Looks at a request.
    pub fn add(&mut self, request: &Request) {
        self.requests += 1;
        let moments = [request.start, request.end()];
        for (step, whole) in STEPS.iter().zip(&mut self.whole).rev() {
            for (moment, whole) in moments.iter().zip(whole) {
                *whole += u64::from(moment % step == 0);
            }
        }
    }

    /// The longest step in which nearly all starts, or nearly all ends, are told, or a third of them in whole seconds: those are of a
    /// second log, with a coarser clock. A microsecond if none fits.
    ///
    /// One moment of the two is enough: many logs tell one of them and a duration.
    pub fn step(&self) -> Duration {
        let nearly_all = self.requests - self.requests / 100;
        let enough = |step: i64| match step {
            SECOND => self.requests.div_ceil(3),
            _ => nearly_all,
        };
        let steps = STEPS.iter().zip(&self.whole);
        let told = steps
            .filter(|_| self.requests > 0)
            .find(|(step, whole)| whole.iter().any(|it| *it >= enough(**step)));
        Duration::from_micros(told.map_or(1, |(step, _)| step.unsigned_abs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ended;

    #[test]
    fn the_step_is_that_of_starts_or_of_ends() {
        let step = |moments: &dyn Fn(i64) -> (i64, i64)| {
            let mut stamps = Stamps::default();
            for at in 1..100 {
                let (start, end) = moments(at);
                stamps.add(&Request {
                    start,
                    duration: (end - start).unsigned_abs(),
                    ended: Ended::Answered(200),
                    client: 0,
                    target: 0,
                    id: 0,
                    upstream: 0,
                    at_upstream: None,
                });
            }
            stamps.step()
        };
        assert_eq!(step(&|at| (at * 137, at * 211)), Duration::from_micros(1));
        assert_eq!(
            step(&|at| (at * 137_000, at * 211_000)),
            Duration::from_millis(1)
        );
        let end = |at| 1_700_000_000_000_000 + at * 1_000_000;
        assert_eq!(
            step(&|at| (end(at) - at * 137, end(at))),
            Duration::from_secs(1)
        );
        let of_two_logs = |at| {
            if at < 60 {
                (at * 137, at * 211)
            } else {
                (end(at) - at * 137, end(at))
            }
        };
        assert_eq!(step(&of_two_logs), Duration::from_secs(1));
        assert_eq!(Stamps::default().step(), Duration::from_micros(1));
    }
}
