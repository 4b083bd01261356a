//! How does a limit follow the latency of calls?
//!
//! A server that is full queues, and its latency rises with the calls that it has under way. So the
//! limit is compared, once in a window, with what the latency says: L' = L x g + sqrt(L), where
//! g = tolerance x baseline / mean, from 1/2 to 1. The baseline is the latency of the server
//! without a queue. It is measured by halving the limit until the latency stops falling: once in
//! a while, when calls have become much faster, and when the limit is at its minimum. Between two
//! measurements it stands still; the least mean of many would sink below the truth by chance.

use core::time::Duration;

use super::Sample;
use super::aimd::{whole, within};
use crate::duration::nanos;
use crate::time::Instant;

/// A window with fewer calls is not judged (Netflix's `WindowedLimit`: 10).
const FEWEST: u32 = 10;
/// No window takes more than half of the limit (Netflix's `Gradient2Limit`, Envoy).
const LEAST_GRADIENT: f64 = 0.5;
/// One call counts at most as this many baselines: enough to halve the limit where all are slow,
/// too little for one that hangs to do so among ten.
const OUTLIER: u64 = 4;
/// The baseline is the mean of so many calls at least: three times fewer outliers than in a window.
const FEWEST_TO_MEASURE: u32 = 30;
/// A probe goes on while it finds the latency below this share of what it was.
const STILL_FALLING: f64 = 0.9;
/// After a window with a mean below this share of the baseline, the baseline is measured again.
const MUCH_FASTER: f64 = 0.5;

/// The limit shrinks when calls take longer than without a queue, and grows while they do not.
///
/// For any dependency whose latency rises with its load, before it drops anything. The formula is
/// that of Envoy's adaptive concurrency filter (gradient controller, 1.40: tolerance is 1 + its
/// `buffer`) and in shape Netflix's `Gradient2` (concurrency-limits 0.5; *Performance Under Load*,
/// 2018), whose baseline, a slow average, drifts up under lasting overload; this one does not.
///
/// Against a server of c workers, with calls enough, it settles where L = tolerance x c + sqrt(L).
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Gradient {
    /// Calls at once to begin with. From `min` to `max`. Default 20 (Netflix).
    pub initial: u32,
    /// Never fewer. From 1. Default 1.
    pub min: u32,
    /// Never more. To 1 000 000. Default 200 (Netflix).
    pub max: u32,
    /// How many times the baseline the mean may be without harm. From 1 to 10. Default 1.25
    /// (Envoy).
    pub tolerance: f64,
    /// How long calls are collected before the limit is judged, ten of them at least. From 1 ms to
    /// 1 min. Default 100 ms (Envoy).
    pub window: Duration,
    /// How often the baseline is measured again: for a window or two the limit is then halved (as
    /// BBR v2 does its congestion window, draft-ietf-ccwg-bbr, `ProbeRTT`). From 10 windows to 1
    /// day. Default 1 min (Envoy). Not jittered: probes that coincide only measure better.
    pub probe: Duration,
}

impl Default for Gradient {
    fn default() -> Self {
        Self {
            initial: 20,
            min: 1,
            max: 200,
            tolerance: 1.25,
            window: Duration::from_millis(100),
            probe: Duration::from_secs(60),
        }
    }
}

/// What a limit by [`Gradient`] remembers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GradientState {
    pub(super) limit: f64,
    /// The limit to return to after a probe; 0 where none is under way.
    pub(super) held: f64,
    /// The mean latency without a queue, in nanoseconds; 0 while unknown.
    pub(super) baseline: u64,
    pub(super) probe_at: Instant,
    /// A call that began earlier tells of another limit.
    pub(super) since: Instant,
    pub(super) window: Window,
}

/// The calls since the limit was last judged.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Window {
    pub(super) opened: Instant,
    pub(super) completed: u32,
    pub(super) dropped: u32,
    /// Nanoseconds that the completed ones took.
    pub(super) sum: u64,
    /// The most calls that were under way at once.
    pub(super) peak: u32,
}

impl GradientState {
    /// Calls that may run at once.
    pub fn limit(&self) -> u32 {
        whole(self.limit)
    }

    /// The latency without a queue, where it is known.
    pub fn baseline(&self) -> Option<Duration> {
        (self.baseline > 0).then(|| Duration::from_nanos(self.baseline))
    }

    /// Whether the limit is lowered to measure the baseline.
    pub fn is_probing(&self) -> bool {
        self.held > 0.0
    }

    /// The most that one call may add to the sum.
    fn outlier(&self) -> u64 {
        let is_measuring = self.baseline == 0 || self.is_probing();
        if is_measuring {
            u64::MAX
        } else {
            self.baseline.saturating_mul(OUTLIER)
        }
    }
}

impl Window {
    fn calls(&self) -> u32 {
        self.completed.saturating_add(self.dropped)
    }

    fn add(&mut self, sample: Sample, in_flight: u32, outlier: u64) {
        if self.calls() == 0 {
            self.opened = sample.now;
        }
        if sample.is_dropped() {
            self.dropped = self.dropped.saturating_add(1);
        } else {
            self.completed = self.completed.saturating_add(1);
            let took = nanos(sample.took).clamp(1, outlier.max(1));
            self.sum = self.sum.saturating_add(took);
        }
        self.peak = self.peak.max(in_flight);
    }

    /// The mean latency of what completed, in nanoseconds.
    fn mean(&self) -> Option<u64> {
        self.sum.checked_div(u64::from(self.completed))
    }

    /// What drops leave of the limit: half, where all were dropped.
    fn kept(&self) -> f64 {
        1.0 - f64::from(self.dropped) / f64::from(self.calls().max(1)) / 2.0
    }
}

impl Gradient {
    /// The state before the first call.
    pub fn start(&self) -> GradientState {
        GradientState {
            limit: f64::from(self.initial),
            held: 0.0,
            baseline: 0,
            probe_at: Instant::ZERO,
            since: Instant::ZERO,
            window: Window::default(),
        }
    }

    /// The state that goes on under this configuration: what was learned, within its bounds.
    pub(super) fn resume(&self, state: GradientState) -> GradientState {
        let mut resumed = state;
        resumed.limit = within(state.limit, self.min, self.max);
        if state.is_probing() {
            resumed.held = within(state.held, self.min, self.max);
        }
        resumed
    }

    /// The state after a call has ended while `in_flight` calls, itself included, were under way.
    #[must_use]
    pub fn step(&self, mut state: GradientState, sample: Sample, in_flight: u32) -> GradientState {
        if sample.began() < state.since {
            return state;
        }
        let outlier = state.outlier();
        state.window.add(sample, in_flight, outlier);
        let fewest = if state.is_probing() {
            FEWEST_TO_MEASURE
        } else {
            FEWEST
        };
        let is_long = sample.now.since(state.window.opened) >= self.window;
        if !is_long || state.window.calls() < fewest {
            return state;
        }
        let window = core::mem::take(&mut state.window);
        if state.is_probing() {
            self.probed(state, window, sample.now)
        } else {
            self.judged(state, window, sample.now)
        }
    }

    /// The limit as the window says.
    fn judged(&self, mut state: GradientState, window: Window, now: Instant) -> GradientState {
        let mean = window.mean();
        if state.baseline > 0 {
            let before = state.limit;
            state.limit = self.follow(state, window);
            if state.limit < before * 0.9 {
                state.since = now;
            }
        }
        let is_faster = mean.is_some_and(|mean| share(mean, state.baseline) < MUCH_FASTER);
        if now >= state.probe_at || is_faster || self.is_least(state.limit) {
            state.held = state.limit;
            state.baseline = mean.unwrap_or(state.baseline);
            self.lower(&mut state, now);
        }
        state
    }

    fn follow(&self, state: GradientState, window: Window) -> f64 {
        let ease = window
            .mean()
            .map_or(0.0, |mean| self.tolerance * share(state.baseline, mean));
        let gradient = (ease.min(1.0) * window.kept()).max(LEAST_GRADIENT);
        // Room to try for more; none where the latency has run away.
        let headroom = if gradient > LEAST_GRADIENT {
            f64::from(whole(state.limit).isqrt())
        } else {
            0.0
        };
        let mut next = state.limit * gradient + headroom;
        // An unused limit is no evidence that more would do.
        if f64::from(window.peak) * 2.0 < state.limit {
            next = next.min(state.limit);
        }
        within(next, self.min, self.max)
    }

    /// Lower still, while that lets the latency fall; else back, with what was found.
    fn probed(&self, mut state: GradientState, window: Window, now: Instant) -> GradientState {
        state.held = within(state.held * window.kept(), self.min, self.max);
        let before = state.baseline;
        state.baseline = window.mean().unwrap_or(before);
        let is_falling = share(state.baseline, before) < STILL_FALLING;
        if is_falling && !self.is_least(state.limit) {
            self.lower(&mut state, now);
        } else {
            state.limit = state.held;
            state.held = 0.0;
            state.probe_at = now.after(self.probe);
            state.since = now;
        }
        state
    }

    fn is_least(&self, limit: f64) -> bool {
        limit <= within(0.0, self.min, self.max)
    }

    fn lower(&self, state: &mut GradientState, now: Instant) {
        state.limit = within(state.limit / 2.0, self.min, self.max);
        state.since = now;
    }
}

/// One latency as a share of another.
fn share(part: u64, whole: u64) -> f64 {
    #[expect(clippy::cast_precision_loss)] // above 2^53 ns, 104 days
    let share = part as f64 / whole.max(1) as f64;
    share
}
