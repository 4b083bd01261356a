//! How does a limit follow the latency of calls?
//!
//! A server that is full queues, and its latency rises with the calls that it works on. So the
//! limit is compared, once in a window, with what the latency says: L' = L x g + sqrt(L), where
//! g = tolerance x baseline / mean, from 1/2 to 1. The baseline is the latency of the server
//! without a queue. It is measured by halving the limit until the latency stops falling: once in
//! a while, when calls have become much faster, and when the limit is at its minimum. Between two
//! measurements it stands still; the least mean of many would sink below the truth by chance.

use core::time::Duration;

use super::Sample;
use super::learned::{Learned, Window, whole, within};
use crate::duration::nanos;
use crate::time::Instant;

/// A window with fewer calls is not judged (Netflix's `WindowedLimit`: 10).
const FEWEST: u32 = 10;
/// No window takes more than half of the limit (Netflix's `Gradient2Limit`, Envoy).
const LEAST_GRADIENT: f64 = 0.5;
/// One call counts at most as this many baselines: enough to halve the limit where all are slow,
/// too little for one that hangs to do so among ten.
const OUTLIER: u64 = 4;
/// The baseline is the mean of so many calls at least: it stands for a minute, a window for a moment
/// (Envoy: 50).
const FEWEST_TO_MEASURE: u32 = 30;
/// A probe goes on while it finds the latency below this share of what it was.
const STILL_FALLING: f64 = 0.9;
/// After a window with a mean below this share of the baseline, the baseline is measured again.
const MUCH_FASTER: f64 = 0.5;

/// The limit shrinks when calls take longer than without a queue, and grows while they do not.
///
/// For any dependency whose latency rises with its load, before it drops anything. The formula is
/// that of Envoy's adaptive concurrency filter (gradient controller; tolerance is 1 + its
/// `buffer`) and in shape Netflix's `Gradient2` (concurrency-limits 0.5; *Performance Under Load*,
/// 2018), whose baseline, a slow average, drifts up under lasting overload; this one does not.
///
/// Against a server of c workers, with calls enough, it settles where L = tolerance x c + sqrt(L):
/// 16 or 17 for ten. When calls of 10 ms begin to take 100 ms, it is at its minimum within 2 s;
/// measured anew there, it is at the capacity of the slower server within another 8 s.
///
/// Where others overload the dependency too, the baseline that a probe measures holds their queue
/// as well.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Gradient {
    /// The limit to begin with, in calls at once. From `min` to `max`. Default 20 (Netflix).
    pub initial: u32,
    /// The lowest limit. From 1. Default 1.
    pub min: u32,
    /// The highest limit. To 1 000 000. Default 200 (Netflix).
    pub max: u32,
    /// How many times the baseline the mean may be without harm. From 1 to 10. Default 1.25
    /// (Envoy).
    pub tolerance: f64,
    /// How long calls are collected before the limit is judged, ten of them at least. From 1 ms to
    /// 1 min. Default 100 ms (the example of Envoy's documentation).
    pub window: Duration,
    /// How often the baseline is measured again: for a window or two the limit is then halved (as
    /// BBR does its congestion window since version 2: draft-ietf-ccwg-bbr, `ProbeRTT`). From 10
    /// windows to 1 day. Default 1 min (the example of Envoy's documentation). Not jittered:
    /// probes that coincide measure better.
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
    /// The state after a call has ended while `in_flight` calls, itself included, were running.
    pub(super) fn step(&self, mut state: Learned, sample: Sample, in_flight: u32) -> Learned {
        if sample.began() < state.since {
            return state;
        }
        let is_measuring = state.baseline == 0 || state.is_probing();
        let outlier = if is_measuring {
            u64::MAX
        } else {
            state.baseline.saturating_mul(OUTLIER)
        };
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
    fn judged(&self, mut state: Learned, window: Window, now: Instant) -> Learned {
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

    fn follow(&self, state: Learned, window: Window) -> f64 {
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
    fn probed(&self, mut state: Learned, window: Window, now: Instant) -> Learned {
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

    fn lower(&self, state: &mut Learned, now: Instant) {
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

#[cfg(test)]
mod tests {
    use super::super::Outcome;
    use super::*;

    const CALM: Gradient = Gradient {
        initial: 100,
        min: 1,
        max: 200,
        tolerance: 1.25,
        window: Duration::from_millis(100),
        probe: Duration::from_secs(60),
    };

    fn start() -> Learned {
        Learned::start(CALM.initial)
    }

    /// A state that knows its baseline of 10 ms; the next probe is far away.
    fn at_rest() -> Learned {
        Learned {
            baseline: 10_000_000,
            probe_at: Instant::NEVER,
            ..start()
        }
    }

    fn ended(at_millis: u64, took_millis: u64, outcome: Outcome) -> Sample {
        Sample {
            took: Duration::from_millis(took_millis),
            now: Instant::ZERO.after(Duration::from_millis(at_millis)),
            outcome,
        }
    }

    /// One window of calls from `start`, the last of them a window after the first.
    fn window(
        gradient: Gradient,
        mut state: Learned,
        start: u64,
        calls: &[(u64, Outcome)],
        in_flight: u32,
    ) -> Learned {
        for (index, (took, outcome)) in calls.iter().enumerate() {
            let is_last = index + 1 == calls.len();
            let at = if is_last { start + 100 } else { start };
            state = gradient.step(state, ended(at, *took, *outcome), in_flight);
        }
        assert_eq!(state.window, Window::default(), "the window is judged");
        state
    }

    /// Ten calls that took this long.
    fn ten(took: u64) -> [(u64, Outcome); 10] {
        [(took, Outcome::Completed); 10]
    }

    /// As many as a probe needs.
    fn thirty(took: u64) -> [(u64, Outcome); 30] {
        [(took, Outcome::Completed); 30]
    }

    #[track_caller]
    fn assert_limit(state: Learned, expected: f64) {
        assert!((state.limit - expected).abs() < 1e-9, "{}", state.limit);
    }

    #[test]
    fn a_window_moves_the_limit_as_the_formula_says() {
        // 100 x min(1, 12.5 / mean) + 10
        for (took, expected) in [(10, 110.0), (12, 110.0), (20, 72.5), (16, 88.125)] {
            let state = window(CALM, at_rest(), 20_000, &ten(took), 100);
            assert_limit(state, expected);
        }
        // From 25 ms on half, and no headroom.
        for took in [25, 40, 10_000] {
            let state = window(CALM, at_rest(), 20_000, &ten(took), 100);
            assert_limit(state, 50.0);
        }
    }

    #[test]
    fn an_unused_limit_shrinks_and_does_not_grow() {
        let calm = window(CALM, at_rest(), 1000, &ten(10), 49);
        assert_limit(calm, 100.0);
        let slow = window(CALM, at_rest(), 1000, &ten(20), 49);
        assert_limit(slow, 72.5);
    }

    #[test]
    fn the_most_calls_at_once_in_a_window_are_its_use() {
        let mut state = at_rest();
        for (call, in_flight) in [(0, 3), (1, 50), (2, 3)] {
            state = CALM.step(state, ended(1000 + call, 10, Outcome::Completed), in_flight);
        }
        let state = window(CALM, state, 1050, &ten(10)[..7], 3);
        assert_limit(state, 110.0);
    }

    #[test]
    fn drops_shrink_the_limit_whatever_the_latency() {
        let mut calls = ten(10);
        calls[..4].fill((0, Outcome::Dropped));
        // 100 x (1 - 0.4 / 2) + 10
        assert_limit(window(CALM, at_rest(), 1000, &calls, 100), 90.0);
        let state = window(CALM, at_rest(), 1000, &[(0, Outcome::Dropped); 10], 100);
        assert_limit(state, 50.0);
        assert_eq!(state.baseline, 10_000_000);
    }

    #[test]
    fn one_call_that_hangs_among_ten_does_not_halve_the_limit() {
        let mut calls = ten(10);
        calls[0].0 = 10_000;
        // It counts as 40 ms: a mean of 13 ms.
        let state = window(CALM, at_rest(), 20_000, &calls, 100);
        assert_limit(state, 100.0 * 12.5 / 13.0 + 10.0);
    }

    #[test]
    fn calls_from_before_a_fall_are_not_counted_again() {
        let fallen = window(CALM, at_rest(), 1000, &ten(30), 100);
        assert_limit(fallen, 50.0);
        // They ended later, but began before 1100 ms.
        let mut state = fallen;
        for took in [51, 100, 1000] {
            state = CALM.step(state, ended(1150, took, Outcome::Completed), 50);
        }
        assert_eq!(state, fallen);
        let state = CALM.step(state, ended(1150, 50, Outcome::Completed), 50);
        assert_eq!(state.window.completed, 1);
    }

    #[test]
    fn few_calls_are_not_judged_however_long_they_take_to_come() {
        let mut state = at_rest();
        for second in 1..10 {
            state = CALM.step(state, ended(second * 1000, 30, Outcome::Completed), 100);
        }
        assert_limit(state, 100.0);
        state = CALM.step(state, ended(10_000, 30, Outcome::Completed), 100);
        assert_limit(state, 50.0);
    }

    /// The first window only says what there is; then the limit is halved until that no longer
    /// helps, and comes back.
    #[test]
    fn a_probe_halves_the_limit_until_the_latency_stops_falling() {
        let state = window(CALM, start(), 1000, &ten(100), 100);
        assert!(state.is_probing());
        assert_limit(state, 50.0);
        let state = window(CALM, state, 2000, &thirty(50), 50);
        assert_limit(state, 25.0);
        let state = window(CALM, state, 3000, &thirty(30), 25);
        assert_limit(state, 12.5);
        let state = window(CALM, state, 4000, &thirty(28), 12);
        assert!(!state.is_probing());
        assert_limit(state, 100.0);
        assert_eq!(state.baseline, 28_000_000);
        // What began under the low limit tells nothing of this one.
        let sample = ended(4150, 51, Outcome::Completed);
        assert_eq!(CALM.step(state, sample, 100), state);
        // The next is due a minute after 4100 ms.
        let early = window(CALM, state, 63_999, &ten(28), 100);
        assert!(!early.is_probing());
        let due = window(CALM, state, 64_000, &ten(28), 100);
        assert!(due.is_probing());
        assert_limit(due, 55.0);
    }

    #[test]
    fn a_probe_is_of_thirty_calls_at_least() {
        let mut state = window(CALM, start(), 1000, &ten(10), 100);
        for call in 0..30 {
            assert!(state.is_probing(), "after {call} calls");
            state = CALM.step(state, ended(2000 + call * 100, 10, Outcome::Completed), 50);
        }
        assert!(!state.is_probing());
    }

    #[test]
    fn a_probe_ends_at_the_minimum_however_the_latency_falls() {
        let mut high = CALM;
        high.min = 40;
        let state = window(high, start(), 1000, &ten(100), 100);
        let state = window(high, state, 2000, &thirty(50), 50);
        assert_limit(state, 40.0);
        let state = window(high, state, 3000, &thirty(25), 40);
        assert!(!state.is_probing());
        assert_eq!(state.baseline, 25_000_000);
    }

    #[test]
    fn a_server_that_drops_what_probes_it_is_not_asked_for_as_much_afterwards() {
        let state = window(CALM, start(), 1000, &ten(10), 100);
        let mut calls = thirty(10);
        calls[..15].fill((0, Outcome::Dropped));
        let state = window(CALM, state, 2000, &calls, 50);
        assert!(!state.is_probing());
        assert_limit(state, 75.0);
    }

    #[test]
    fn calls_that_are_twice_as_fast_have_the_baseline_measured_again() {
        let faster = window(CALM, at_rest(), 1000, &ten(4), 100);
        assert!(faster.is_probing());
        let not_quite = window(CALM, at_rest(), 1000, &ten(5), 100);
        assert!(!not_quite.is_probing());
    }

    #[test]
    fn at_the_minimum_the_baseline_is_measured_again() {
        let mut state = at_rest();
        state.limit = 1.5;
        let state = window(CALM, state, 20_000, &ten(1000), 1);
        assert!(state.is_probing());
        let state = window(CALM, state, 60_000, &thirty(1000), 1);
        assert_limit(state, 1.0);
        assert_eq!(state.baseline, 1_000_000_000);
    }
}
