//! How is a bulkhead configured?

use core::ops::RangeInclusive;
use core::time::Duration;

use super::aimd::Aimd;
use super::gradient::Gradient;
use crate::reasons::{reasons, require};
use crate::setters::setters;

/// The most places, running or waiting, that a bulkhead may have: beyond it is no bound.
const MOST: u32 = 1_000_000;
const BACKOFFS: RangeInclusive<f64> = 0.1..=0.99;

/// How many calls may run at once, and what happens to those beyond: plain data.
///
/// Read and written as `calls:50`, `calls:50,waiting:100,max-wait:1s,order:lifo`,
/// `gradient:20,min:1,max:200` or `aimd:20,min:1,max:200`; the other parameters are `tolerance`,
/// `window` and `probe` of a gradient, `backoff` and `slow` of an AIMD.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Bulkhead {
    /// How many calls may run at once.
    pub limit: Limit,
    /// Calls that may wait for a place. From 0 to 1 000 000. Default 0, a call beyond the limit
    /// fails at once: a queue hides an overload while it fills, and adds its length to every
    /// latency from then on.
    pub waiting: u32,
    /// The longest that a call waits for a place. Above zero; needs `waiting`. Default `None`: until
    /// the call's deadline.
    pub max_wait: Option<Duration>,
    /// Which waiting call is next when a place falls free.
    pub order: Order,
}

/// What bounds the calls that run at once.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Limit {
    /// Always this many. From 1 to 1 000 000.
    Fixed(u32),
    /// As many as the dependency takes without dropping calls.
    Aimd(Aimd),
    /// As many as the dependency takes without a queue.
    Gradient(Gradient),
}

/// Which of the waiting calls is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Order {
    /// The oldest. The default: fair, and no call waits much longer than another.
    #[default]
    Fifo,
    /// The newest while more than half of the waiting places are taken, the oldest otherwise.
    ///
    /// In a queue that stays long everybody waits about as long as a caller has patience, and the
    /// oldest is served just before it gives up. Served from its new end, most calls wait hardly
    /// at all and a few time out (Maurer, *Fail at Scale*, ACM Queue 2015: adaptive LIFO). Where
    /// the queue is short, a burst and no overload, it stays fair. Set `max_wait` or a deadline:
    /// nothing else ends the wait of the oldest.
    Lifo,
}

/// Calls that may run at once where the caller names no number.
impl Default for Bulkhead {
    /// An adaptive limit, as [`Bulkhead::adaptive`] makes it.
    fn default() -> Self {
        Self::adaptive()
    }
}

impl Bulkhead {
    /// Lets at most this many calls run at once; one more fails at once.
    pub const fn calls(limit: u32) -> Self {
        Self::limited(Limit::Fixed(limit))
    }

    /// Lets as many calls run at once as the dependency takes without a queue.
    ///
    /// A [`Gradient`] with its defaults, and not an [`Aimd`]: latency rises before anything is
    /// dropped, and rises too where the dependency never sheds.
    pub fn adaptive() -> Self {
        Self::limited(Limit::Gradient(Gradient::default()))
    }

    /// Lets at most as many calls run at once as this limit says; one more fails at once.
    pub const fn limited(limit: Limit) -> Self {
        Self {
            limit,
            waiting: 0,
            max_wait: None,
            order: Order::Fifo,
        }
    }
}

setters! {
    /// Setters: each returns the bulkhead with one field changed.
    impl Bulkhead;
    /// Sets how many calls may wait for a place.
    waiting: u32;
    /// Sets the longest wait for a place.
    max_wait: Option<Duration>;
    /// Sets the order in which waiting calls get a place.
    order: Order;
}

impl Bulkhead {
    /// Refuses a value that is out of range, naming the parameter and the remedy.
    pub fn validate(self) -> Result<(), InvalidBulkhead> {
        self.limit.validate()?;
        let is_waited_for = self.max_wait.is_none() || self.waiting > 0;
        require(&[
            (self.waiting <= MOST, InvalidBulkhead::Waiting),
            (
                self.max_wait != Some(Duration::ZERO),
                InvalidBulkhead::MaxWait,
            ),
            (is_waited_for, InvalidBulkhead::NobodyWaits),
        ])
    }
}

impl Limit {
    /// Calls that may run at once before anything is known.
    pub(super) fn initial(&self) -> u32 {
        let (min, max) = self.bounds();
        let initial = match self {
            Self::Fixed(limit) => *limit,
            Self::Aimd(aimd) => aimd.initial,
            Self::Gradient(gradient) => gradient.initial,
        };
        initial.clamp(min, max.max(min))
    }

    /// The lowest and the highest that it may become.
    pub(super) fn bounds(&self) -> (u32, u32) {
        match self {
            Self::Fixed(limit) => (*limit, *limit),
            Self::Aimd(Aimd { min, max, .. }) | Self::Gradient(Gradient { min, max, .. }) => {
                (*min, *max)
            }
        }
    }

    fn validate(self) -> Result<(), InvalidBulkhead> {
        let bounds = |initial: u32, min: u32, max: u32| {
            let are_in_order = 1 <= min && min <= initial && initial <= max && max <= MOST;
            (are_in_order, InvalidBulkhead::Bounds)
        };
        match self {
            Self::Fixed(limit) => require(&[((1..=MOST).contains(&limit), InvalidBulkhead::Calls)]),
            Self::Aimd(aimd) => require(&[
                bounds(aimd.initial, aimd.min, aimd.max),
                (BACKOFFS.contains(&aimd.backoff), InvalidBulkhead::Backoff),
                (aimd.slow != Some(Duration::ZERO), InvalidBulkhead::Slow),
            ]),
            Self::Gradient(Gradient {
                initial,
                min,
                max,
                tolerance,
                window,
                probe,
            }) => {
                let tolerances = 1.0..=10.0;
                let windows = Duration::from_millis(1)..=Duration::from_secs(60);
                let probes = window.saturating_mul(10)..=Duration::from_secs(86_400);
                require(&[
                    bounds(initial, min, max),
                    (tolerances.contains(&tolerance), InvalidBulkhead::Tolerance),
                    (windows.contains(&window), InvalidBulkhead::Window),
                    (probes.contains(&probe), InvalidBulkhead::Probe),
                ])
            }
        }
    }
}

reasons! {
    /// Why a bulkhead is refused.
    InvalidBulkhead;
    /// The fixed limit is out of range.
    Calls: "the bulkhead's calls must be from 1 to 1000000; leave it out for no bound";
    /// The bounds of an adaptive limit are out of range or out of order.
    Bounds:
        "the bulkhead's min must be at least 1, its number from min to max, and its max at most \
         1000000";
    /// The backoff is out of range.
    Backoff: "the bulkhead's backoff must be from 0.1 to 0.99; use 0.9";
    /// The time from which a call is slow is zero.
    Slow: "the bulkhead's slow must be above zero; leave it out to count drops alone";
    /// The tolerance is out of range.
    Tolerance: "the bulkhead's tolerance must be from 1 to 10; use 1.25";
    /// The window is out of range.
    Window: "the bulkhead's window must be from 1ms to 1m; use 100ms";
    /// The time between probes is out of range.
    Probe: "the bulkhead's probe must be from 10 windows to 1 day; use 1m";
    /// The number of waiting places is out of range.
    Waiting: "the bulkhead's waiting must be at most 1000000 calls";
    /// The longest wait is zero.
    MaxWait: "the bulkhead's max-wait must be above zero; use waiting:0 where nobody may wait";
    /// There is a longest wait, and no place to wait in.
    NobodyWaits:
        "the bulkhead has a max-wait but no place to wait in; add waiting, or leave out max-wait";
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aimd(change: impl FnOnce(&mut Aimd)) -> Bulkhead {
        let mut aimd = Aimd::default();
        change(&mut aimd);
        Bulkhead::limited(Limit::Aimd(aimd))
    }

    fn gradient(change: impl FnOnce(&mut Gradient)) -> Bulkhead {
        let mut gradient = Gradient::default();
        change(&mut gradient);
        Bulkhead::limited(Limit::Gradient(gradient))
    }

    #[test]
    fn the_defaults_are_valid() {
        for bulkhead in [
            Bulkhead::default(),
            Bulkhead::calls(1),
            Bulkhead::calls(MOST).waiting(MOST).max_wait(Duration::MAX),
            aimd(|_| {}),
            gradient(|_| {}),
        ] {
            assert_eq!(bulkhead.validate(), Ok(()), "{bulkhead:?}");
        }
    }

    #[test]
    fn out_of_range_is_refused_by_name() {
        for (bulkhead, reason) in [
            (Bulkhead::calls(0), InvalidBulkhead::Calls),
            (Bulkhead::calls(MOST + 1), InvalidBulkhead::Calls),
            (
                Bulkhead::calls(1).waiting(MOST + 1),
                InvalidBulkhead::Waiting,
            ),
            (
                Bulkhead::calls(1).waiting(1).max_wait(Duration::ZERO),
                InvalidBulkhead::MaxWait,
            ),
            (
                Bulkhead::calls(1).max_wait(Duration::from_secs(1)),
                InvalidBulkhead::NobodyWaits,
            ),
            (aimd(|aimd| aimd.min = 0), InvalidBulkhead::Bounds),
            (aimd(|aimd| aimd.min = 21), InvalidBulkhead::Bounds),
            (aimd(|aimd| aimd.max = 19), InvalidBulkhead::Bounds),
            (aimd(|aimd| aimd.max = MOST + 1), InvalidBulkhead::Bounds),
            (
                aimd(|aimd| aimd.backoff = f64::NAN),
                InvalidBulkhead::Backoff,
            ),
            (aimd(|aimd| aimd.backoff = 1.0), InvalidBulkhead::Backoff),
            (
                aimd(|aimd| aimd.slow = Some(Duration::ZERO)),
                InvalidBulkhead::Slow,
            ),
            (
                gradient(|gradient| gradient.initial = 0),
                InvalidBulkhead::Bounds,
            ),
            (
                gradient(|gradient| gradient.tolerance = 0.99),
                InvalidBulkhead::Tolerance,
            ),
            (
                gradient(|gradient| gradient.tolerance = f64::NAN),
                InvalidBulkhead::Tolerance,
            ),
            (
                gradient(|gradient| gradient.window = Duration::ZERO),
                InvalidBulkhead::Window,
            ),
            (
                gradient(|gradient| gradient.window = Duration::MAX),
                InvalidBulkhead::Window,
            ),
            (
                gradient(|gradient| gradient.probe = Duration::from_millis(999)),
                InvalidBulkhead::Probe,
            ),
            (
                gradient(|gradient| gradient.probe = Duration::MAX),
                InvalidBulkhead::Probe,
            ),
        ] {
            assert_eq!(bulkhead.validate(), Err(reason), "{bulkhead:?}");
        }
    }
}
