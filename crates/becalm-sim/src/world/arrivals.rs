//! When is a population's next call?

use std::time::Duration;

use crate::engine::Stream;
use crate::scenario::Arrivals;

use super::plan::nanos;

/// Where the open loop of a population stands.
#[derive(Debug, Clone)]
pub(super) struct OpenLoop {
    pub stream: Stream,
    /// Load triggers' factor on the number of calls.
    factor: f64,
    /// When the next is due.
    next: u64,
    /// What is left of a gap at factor 1, where calls come at equal distances.
    left: f64,
    is_burst: bool,
    /// The phase that the next call is in, which may not have begun.
    phase_began: u64,
    phase_ends: u64,
    recorded: usize,
}

/// The end of time.
pub(super) const NEVER: u64 = u64::MAX;

impl OpenLoop {
    pub fn new(stream: Stream) -> Self {
        Self {
            stream,
            factor: 1.0,
            next: NEVER,
            left: 0.0,
            is_burst: false,
            phase_began: 0,
            phase_ends: 0,
            recorded: 0,
        }
    }

    /// When the first is due; [`NEVER`] for a closed loop.
    pub fn first(&mut self, arrivals: &Arrivals) -> u64 {
        if let Arrivals::Bursty { pause, .. } = arrivals {
            self.phase_ends = spread(nanos(*pause), self.stream.exponential());
        }
        self.following(arrivals, 0)
    }

    /// When the one after that of `now` is due.
    #[inline]
    pub fn following(&mut self, arrivals: &Arrivals, now: u64) -> u64 {
        self.next = match arrivals {
            Arrivals::Poisson(rate) => self.random_gap(*rate, now),
            Arrivals::Constant(rate) => {
                self.left = 1.0;
                after(now, rate * self.factor, 1.0)
            }
            Arrivals::Bursty { .. } => self.bursty(arrivals, now),
            Arrivals::Trace(recorded) => {
                let next = recorded.at(self.recorded).map_or(NEVER, nanos);
                self.recorded += 1;
                next
            }
            Arrivals::Closed { .. } => NEVER,
        };
        self.next
    }

    /// The load changes: when the next is due from now on; `None` where it stays.
    pub fn change(&mut self, arrivals: &Arrivals, factor: f64, now: u64) -> Option<u64> {
        let before = std::mem::replace(&mut self.factor, factor);
        match arrivals {
            // Memoryless: a new draw is as good as what was left of the old one.
            Arrivals::Poisson(_) | Arrivals::Bursty { .. } => Some(self.following(arrivals, now)),
            Arrivals::Constant(rate) => {
                if self.next != NEVER {
                    self.left = gaps(self.next.saturating_sub(now), rate * before);
                }
                self.next = after(now, rate * factor, self.left);
                Some(self.next)
            }
            Arrivals::Trace(_) | Arrivals::Closed { .. } => None,
        }
    }

    /// How many calls begin where one was recorded.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates, and is positive
    pub fn copies(&mut self) -> u32 {
        let whole = self.factor as u32;
        let part = self.factor - f64::from(whole);
        whole.saturating_add(u32::from(part > 0.0 && self.stream.chance(part)))
    }

    /// The factor on the number of calls.
    pub fn factor(&self) -> f64 {
        self.factor
    }

    fn random_gap(&mut self, rate: f64, now: u64) -> u64 {
        let rate = rate * self.factor;
        if rate <= 0.0 {
            return NEVER;
        }
        after(now, rate, self.stream.exponential())
    }

    fn bursty(&mut self, arrivals: &Arrivals, now: u64) -> u64 {
        let Arrivals::Bursty {
            rate,
            burst_rate,
            burst,
            pause,
        } = arrivals
        else {
            return NEVER;
        };
        if self.factor <= 0.0 {
            return NEVER;
        }
        // Phases go on while nobody calls.
        for _ in 0..1_000_000 {
            if self.phase_ends >= now {
                break;
            }
            self.next_phase(*burst, *pause);
        }
        // A change of the load in a pause does not bring the burst after it forward.
        let mut from = now.max(self.phase_began);
        // A run that never comes to a call ends all the same.
        for _ in 0..1_000_000 {
            let rate = if self.is_burst { burst_rate } else { rate };
            let next = self.random_gap(*rate, from);
            if next <= self.phase_ends {
                return next;
            }
            from = self.phase_ends;
            self.next_phase(*burst, *pause);
        }
        NEVER
    }

    fn next_phase(&mut self, burst: Duration, pause: Duration) {
        self.phase_began = self.phase_ends;
        self.is_burst = !self.is_burst;
        let mean = if self.is_burst { burst } else { pause };
        let length = spread(nanos(mean), self.stream.exponential());
        self.phase_ends = self.phase_began.saturating_add(length.max(1));
    }
}

/// So many gaps of this rate later; [`NEVER`] at rate 0.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates, and is positive
fn after(now: u64, rate: f64, gaps: f64) -> u64 {
    if rate <= 0.0 {
        return NEVER;
    }
    now.saturating_add((gaps * 1e9 / rate + 0.5) as u64)
}

#[expect(clippy::cast_precision_loss)]
fn gaps(nanos: u64, rate: f64) -> f64 {
    nanos as f64 * 1e-9 * rate
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]
fn spread(mean: u64, times: f64) -> u64 {
    (mean as f64 * times) as u64
}
