//! What does an adaptive limit remember?

use crate::time::Instant;

/// What a limit remembers; all but the first two is a gradient's alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Learned {
    pub limit: f64,
    /// A call that began earlier tells of another limit.
    pub since: Instant,
    /// The limit to return to after a probe; 0 without one.
    pub held: f64,
    /// The mean latency without a queue, in nanoseconds; 0 while unknown.
    pub baseline: u64,
    pub probe_at: Instant,
    pub window: Window,
}

/// The calls since the limit was last judged.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Window {
    pub opened: Instant,
    pub completed: u32,
    pub dropped: u32,
    /// Nanoseconds that the completed ones took.
    pub sum: u64,
    /// The most calls that were running at once.
    pub peak: u32,
}

impl Learned {
    /// Before the first call.
    pub fn start(initial: u32) -> Self {
        Self {
            limit: f64::from(initial),
            since: Instant::ZERO,
            held: 0.0,
            baseline: 0,
            probe_at: Instant::ZERO,
            window: Window::default(),
        }
    }

    /// Whether the limit is lowered to measure the baseline.
    pub fn is_probing(&self) -> bool {
        self.held > 0.0
    }
}

/// Brought into the bounds of a limit, whatever they are.
pub(super) fn within(limit: f64, min: u32, max: u32) -> f64 {
    limit.min(f64::from(max)).max(f64::from(min)).max(1.0)
}

/// Whole calls.
pub(super) fn whole(limit: f64) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let whole = limit as u32;
    whole
}
