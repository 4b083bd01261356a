//! How is hedging configured?

use crate::reasons::{reasons, require};
use crate::sync::{MILLION, millionths};
use core::time::Duration;

/// When copies of a slow attempt start, and how many: plain data.
///
/// Only async calls ([`Retrier::retry`](crate::Retrier::retry)) and drivers of the sans-IO
/// [`Call`](crate::call::Call) make copies; blocking calls and loops written by hand do not.
///
/// Read and written as `after:50ms,copies:1`, `p95,min:1ms,copies:1` or, with every parameter,
/// `p99.9,min:10ms,max:2s,samples:5000,window:1m,copies:2`.
///
/// ```
/// use becalm::Hedge;
/// let hedge: Hedge = "p95,min:10ms,copies:2".parse()?;
/// assert_eq!(hedge, Hedge::at_quantile(0.95).min(std::time::Duration::from_millis(10)).copies(2));
/// # Ok::<(), becalm::policy::Unreadable>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Hedge {
    /// When the next copy starts, counted from the start of the one before.
    pub delay: HedgeDelay,
    /// Copies beside the first one. From 1 to 4, gRPC's bound of 5 attempts in all (gRFC A6,
    /// *Limits on Retries and Hedges*). Default 1: the second copy takes nearly all of the tail away
    /// (Dean, Barroso: *The Tail at Scale*, CACM 2013), each further one only adds load.
    pub copies: u32,
}

/// How long a copy has to be slow before the next one starts.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum HedgeDelay {
    /// A fixed time, from zero (all copies at once) to an hour.
    After(Duration),
    /// A quantile of the latencies that are seen just now.
    Quantile(QuantileDelay),
}

/// A hedge delay that follows the latencies that are seen.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct QuantileDelay {
    /// The share of attempts that are done before they would be hedged. From 0.5 to 0.999. Default
    /// 0.95: hedges add about 5 % to the load (*The Tail at Scale*, "Hedged requests").
    pub quantile: f64,
    /// The delay is never shorter. At most an hour. Default 1 ms: below it the timer decides, not
    /// the service.
    pub min: Duration,
    /// The delay is never longer. From `min` to an hour. Default none. Set it where more stragglers
    /// than the quantile leaves out must be expected: a p95 is no help when 6 % of attempts hang.
    pub max: Option<Duration>,
    /// Nothing is hedged until the window holds this many latencies; see
    /// [`samples_needed`](Self::samples_needed). From 1 to 1 000 000. Default 100.
    pub min_samples: u32,
    /// How long a latency counts: at least half of this time, at most all of it. From a second to
    /// ten minutes. Default 30 s: enough samples for a p99 at 17 calls a second, and a change is
    /// seen within the patience of an alert.
    pub window: Duration,
}

/// The p95, from 100 samples on, over the last 30 s.
impl Default for QuantileDelay {
    fn default() -> Self {
        Self {
            quantile: 0.95,
            min: Duration::from_millis(1),
            max: None,
            min_samples: 100,
            window: Duration::from_secs(30),
        }
    }
}

impl QuantileDelay {
    /// Latencies that the window must hold: `min_samples`, and at least as many as put five above
    /// the quantile, for fewer say nothing about it. 100 for a p95, 500 for a p99.
    pub fn samples_needed(&self) -> u32 {
        // Millionths, so that 1 - 0.95 is exactly a twentieth.
        let needed = (5 * MILLION).div_ceil(millionths(1.0 - self.quantile).max(1));
        let needed = u32::try_from(needed).unwrap_or(u32::MAX);
        self.min_samples.max(needed)
    }
}

impl Hedge {
    /// Sends one copy, this long after the first.
    pub const fn after(delay: Duration) -> Self {
        Self {
            delay: HedgeDelay::After(delay),
            copies: 1,
        }
    }

    /// Sends one copy when the first is slower than this share of attempts, such as 0.95.
    pub fn at_quantile(quantile: f64) -> Self {
        Self {
            delay: HedgeDelay::Quantile(QuantileDelay {
                quantile,
                ..QuantileDelay::default()
            }),
            copies: 1,
        }
    }

    /// Sets how many copies may run beside the first.
    #[must_use]
    pub const fn copies(mut self, copies: u32) -> Self {
        self.copies = copies;
        self
    }

    /// Sets the shortest delay before a copy. Changes nothing on a fixed delay.
    #[must_use]
    pub fn min(self, delay: Duration) -> Self {
        self.with(|quantile| quantile.min = delay)
    }

    /// Sets the longest delay before a copy. Changes nothing on a fixed delay.
    #[must_use]
    pub fn max(self, delay: Duration) -> Self {
        self.with(|quantile| quantile.max = Some(delay))
    }

    /// Sets how many latencies must be known before a copy is sent. Changes nothing on a fixed delay.
    #[must_use]
    pub fn min_samples(self, samples: u32) -> Self {
        self.with(|quantile| quantile.min_samples = samples)
    }

    /// Sets for how long a latency counts. Changes nothing on a fixed delay.
    #[must_use]
    pub fn window(self, window: Duration) -> Self {
        self.with(|quantile| quantile.window = window)
    }

    fn with(mut self, change: impl FnOnce(&mut QuantileDelay)) -> Self {
        if let HedgeDelay::Quantile(quantile) = &mut self.delay {
            change(quantile);
        }
        self
    }

    /// Refuses a value that is out of range, naming the parameter and the remedy.
    ///
    /// # Errors
    ///
    /// [`InvalidHedge`] names the field and what it may be.
    pub fn validate(self) -> Result<(), InvalidHedge> {
        match self.delay {
            HedgeDelay::After(delay) => require(&[(delay <= LONGEST, InvalidHedge::After)]),
            HedgeDelay::Quantile(delay) => delay.validate(),
        }?;
        require(&[((1..=4).contains(&self.copies), InvalidHedge::Copies)])
    }
}

const LONGEST: Duration = Duration::from_secs(3600);

impl QuantileDelay {
    fn validate(self) -> Result<(), InvalidHedge> {
        let windows = Duration::from_secs(1)..=Duration::from_secs(600);
        let max = self.max.unwrap_or(LONGEST);
        let samples = 1..=1_000_000;
        require(&[
            (
                (0.5..=0.999).contains(&self.quantile),
                InvalidHedge::Quantile,
            ),
            (self.min <= LONGEST, InvalidHedge::Min),
            ((self.min..=LONGEST).contains(&max), InvalidHedge::Max),
            (samples.contains(&self.min_samples), InvalidHedge::Samples),
            (windows.contains(&self.window), InvalidHedge::Window),
        ])
    }
}

reasons! {
    /// Why a hedge is refused.
    InvalidHedge;
    /// The fixed delay is out of range.
    After: "the hedge's delay must be at most 1h";
    /// The quantile is out of range.
    Quantile: "the hedge's quantile must be from 0.5 to 0.999 (p50 to p99.9)";
    /// The shortest delay is out of range.
    Min: "the hedge's shortest delay, min, must be at most 1h";
    /// The longest delay is out of range, or shorter than the shortest.
    Max: "the hedge's longest delay, max, must be from its min to 1h";
    /// The number of samples is out of range.
    Samples: "the hedge's samples must be from 1 to 1000000";
    /// The window is out of range.
    Window: "the hedge's window must be from 1s to 10m";
    /// The number of copies is out of range.
    Copies: "the hedge's copies must be from 1 to 4 beside the first attempt";
}
