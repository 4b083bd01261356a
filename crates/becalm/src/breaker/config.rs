//! How is a circuit breaker configured?

use core::ops::RangeInclusive;
use core::time::Duration;

use crate::reasons::{reasons, require};
use crate::setters::setters;

/// The configuration of a circuit breaker: plain data.
///
/// The default opens when half of at least 20 calls within 10 s have failed, and lets a probe
/// through after 5 s: the figures of Netflix Hystrix 1.5 (`requestVolumeThreshold`,
/// `errorThresholdPercentage`, `rollingStats`, `sleepWindow`). Nothing is checked until
/// [`validate`](Self::validate) or [`CircuitBreaker::new`](super::CircuitBreaker::new).
///
/// Read and written as `consecutive:5,open:30s` or
/// `share:0.5,within:10s,min:20,slow:1s,open:5s,open-max:2m,jitter:0.5,probes:1,successes:2`;
/// `calls:100` in place of `within:10s` makes it a window of calls.
///
/// ```
/// use becalm::breaker::{Breaker, Span};
/// use std::time::Duration;
///
/// let breaker = Breaker::share(0.5, Span::Calls(100)).open(Duration::from_secs(10));
/// assert_eq!(breaker.to_string(), "share:0.5,calls:100,min:20,open:10s");
/// assert_eq!(breaker.to_string().parse(), Ok(breaker));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Breaker {
    /// What opens it. Default [`Trip::Share`] of 0.5 in 10 s.
    pub trip: Trip,
    /// How many calls a window must hold before their share counts, from 1 to what the window
    /// holds. Default 20: below that a share is chance. No part of [`Trip::Consecutive`].
    pub min_calls: u32,
    /// A call that took this long or longer counts as failed, however it ended. Default none.
    pub slow: Option<Duration>,
    /// How long it is open the first time: from 1 ms to `open_max`. Default 5 s.
    pub open: Duration,
    /// How long it is open at most: it is open twice as long each time that it opens again, until
    /// it has been out of the open state for this long. Also how long a probe may take before its
    /// place is given to another. From `open` to 1 day. Default 1 minute.
    pub open_max: Duration,
    /// The share of the open time that is drawn at random, from 0 to 1: the time is
    /// U((1 - jitter) x open, open), so never above `open_max`, and spread there too. Default 0.5,
    /// or the fleet that opened together would probe together.
    pub jitter: f64,
    /// How many probes may be running at once while it is half-open: from 1 to 10 000. Default 1.
    pub probes: u32,
    /// How many probes must succeed before it closes: from 1 to 10 000. Default 2, since one good
    /// answer of a server that fails half of its calls is as likely as not.
    pub successes: u32,
    /// Which attempts it refuses while it is not closed. Default [`Refuses::All`].
    pub refuses: Refuses,
}

/// Which attempts a breaker refuses while it is open or half-open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Refuses {
    /// Every attempt but the probes. The default: a call to what is down costs nothing.
    #[default]
    All,
    /// Retries and hedges alone. A first try passes, and counts only where it takes the place of a
    /// probe, so a breaker that opens for a part of the service takes no call away from the rest
    /// (Brooker, *Will circuit breakers solve my problems?*, 2022). An isolated breaker refuses
    /// first tries too.
    Retries,
}

/// What opens a breaker.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Trip {
    /// This many failures without a success between them: from 1 to 1 000 000.
    ///
    /// The cheapest: a success writes nothing. It never opens while one call in a few succeeds.
    Consecutive(u32),
    /// This share of the calls of a window has failed.
    Share {
        /// From 0.000001 to 1, in steps of a millionth. Exactly this share opens.
        share: f64,
        /// Which calls are looked at.
        window: Span,
    },
}

/// The window of a failure share: ten slices, each forgotten as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Span {
    /// The last calls: at most this many, at least nine tenths of that and one. Windows of up to
    /// 19 calls hold exactly as many or one less. From 1 to 100 000 000.
    Calls(u32),
    /// The calls of this last time: at most all of it, more than nine tenths. From 10 ms to 1 day.
    Time(Duration),
}

impl Default for Breaker {
    fn default() -> Self {
        Self {
            trip: Trip::Share {
                share: 0.5,
                window: Span::Time(Duration::from_secs(10)),
            },
            min_calls: 20,
            slow: None,
            open: Duration::from_secs(5),
            open_max: Duration::from_secs(60),
            jitter: 0.5,
            probes: 1,
            successes: 2,
            refuses: Refuses::All,
        }
    }
}

/// Constructors: each is the default but for what it names.
impl Breaker {
    /// Opens after this many failures in a row.
    pub fn consecutive(failures: u32) -> Self {
        Self {
            trip: Trip::Consecutive(failures),
            ..Self::default()
        }
    }

    /// Opens when this share of the calls of a window has failed. A window of fewer than 20 calls
    /// also is its own `min_calls`.
    pub fn share(share: f64, window: Span) -> Self {
        let default = Self::default();
        let min_calls = match window {
            Span::Calls(calls) => default.min_calls.min(calls),
            Span::Time(_) => default.min_calls,
        };
        Self {
            trip: Trip::Share { share, window },
            min_calls,
            ..default
        }
    }
}

setters! {
    /// Setters: each returns the breaker with one field changed.
    impl Breaker;
    /// Sets how many calls a window must hold before their share counts.
    min_calls: u32;
    /// Sets from which time on a call counts as failed.
    slow: Option<Duration>;
    /// Sets how long it is open the first time.
    open: Duration;
    /// Sets how long it is open at most.
    open_max: Duration;
    /// Sets the share of the open time that is drawn at random.
    jitter: f64;
    /// Sets how many probes may be running at once.
    probes: u32;
    /// Sets how many probes must succeed before it closes.
    successes: u32;
    /// Sets which attempts it refuses while it is not closed.
    refuses: Refuses;
}

/// Of probes, running or succeeding.
const COUNTS: RangeInclusive<u32> = 1..=10_000;

impl Breaker {
    /// Refuses values that are out of range or do not fit together, naming the field and the remedy.
    pub fn validate(&self) -> Result<(), InvalidBreaker> {
        let day = Duration::from_secs(86_400);
        let (shares, times) = (1e-6..=1.0, Duration::from_millis(10)..=day);
        match self.trip {
            Trip::Consecutive(failures) => require(&[(
                (1..=1_000_000).contains(&failures),
                InvalidBreaker::Consecutive,
            )]),
            Trip::Share {
                share,
                window: Span::Calls(calls),
            } => require(&[
                (shares.contains(&share), InvalidBreaker::Share),
                ((1..=100_000_000).contains(&calls), InvalidBreaker::Calls),
                (self.min_calls <= calls, InvalidBreaker::MinCallsAboveWindow),
            ]),
            Trip::Share {
                share,
                window: Span::Time(time),
            } => require(&[
                (shares.contains(&share), InvalidBreaker::Share),
                (times.contains(&time), InvalidBreaker::Time),
            ]),
        }?;
        let is_above_zero = self.slow != Some(Duration::ZERO);
        let open_max = self.open..=day;
        require(&[
            (self.min_calls > 0, InvalidBreaker::MinCalls),
            (is_above_zero, InvalidBreaker::Slow),
            (self.open >= Duration::from_millis(1), InvalidBreaker::Open),
            (open_max.contains(&self.open_max), InvalidBreaker::OpenMax),
            ((0.0..=1.0).contains(&self.jitter), InvalidBreaker::Jitter),
            (COUNTS.contains(&self.probes), InvalidBreaker::Probes),
            (COUNTS.contains(&self.successes), InvalidBreaker::Successes),
        ])
    }
}

reasons! {
    /// Why a breaker is refused. `Display` names the field and the remedy.
    InvalidBreaker;
    /// The number of consecutive failures is out of range.
    Consecutive:
        "the breaker's consecutive failures must be from 1 to 1000000; leave the breaker out \
         for none";
    /// The share is out of range.
    Share: "the breaker's share must be from 0.000001 to 1; leave the breaker out for none";
    /// The window of calls is out of range.
    Calls: "the breaker's window must be from 1 to 100000000 calls";
    /// The window of time is out of range.
    Time: "the breaker's window must be from 10ms to 24h";
    /// `min_calls` is 0.
    MinCalls: "the breaker's min is 0; a share needs at least 1 call";
    /// `min_calls` is more than the window ever holds.
    MinCallsAboveWindow:
        "the breaker's min is above its window of calls, so it would never open; lower min or \
         raise calls";
    /// `slow` is 0.
    Slow: "the breaker's slow is 0, so every call would fail; leave it out";
    /// `open` is out of range.
    Open: "the breaker's open must be at least 1ms; use 5s";
    /// `open_max` is out of range.
    OpenMax: "the breaker's open-max must be from open to 24h";
    /// `jitter` is out of range.
    Jitter: "the breaker's jitter must be from 0 to 1; use 0.5";
    /// `probes` is out of range.
    Probes: "the breaker's probes must be from 1 to 10000; use 1";
    /// `successes` is out of range.
    Successes: "the breaker's successes must be from 1 to 10000; use 2";
}
