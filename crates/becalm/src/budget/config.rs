//! How is each kind of budget configured?
//!
//! Plain data, with ranges, defaults and the law of each kind; what is made of it is in the file of the
//! kind.

use core::time::Duration;

use super::burst::Burst;
use super::invalid::InvalidBudget;
use crate::reasons::require;
use crate::setters::setters;

/// Retries are a share of what earns them: of the calls that succeed, or of first tries.
///
/// Over any interval: retries <= `ratio` x what earns them + `floor_per_second` x length + `burst`,
/// and what came back in it. A [`Burst`] in time counts by the mean rate before the interval's first retry, and by its
/// `min` since the budget was made.
///
/// [`Budget::Ratio`](super::Budget::Ratio) is earned by calls that succeed, once a call whatever its
/// attempts; [`Budget::FirstTries`](super::Budget::FirstTries) by calls that begin. The deposits of
/// successes stop with the service, and so do the retries: they cannot keep down what is down.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Ratio {
    /// Tokens that a call deposits. From 0.000001 to 1000, in steps of a millionth. Default 0.1, the
    /// share of the Google SRE book (ch. 21, *Handling Overload*).
    pub ratio: f64,
    /// Tokens that a full budget holds; where 1 + `ratio` is more, that is held in its place, or a
    /// deposit would be lost in part while retries are wanted. Default what 5 s of successes earn, and at
    /// least 10; 10 of first tries.
    pub burst: Burst,
    /// Tokens that each second adds, whatever the traffic. From 0 to 10 000, in steps of a millionth
    /// an hour. Default 10 an hour of successes, so that a client with few calls has its burst again
    /// within an hour; 0 of first tries.
    pub floor_per_second: f64,
}

impl Ratio {
    pub(crate) const DEFAULT: Self = Self {
        ratio: 0.1,
        burst: Burst::DEFAULT,
        floor_per_second: 10.0 / 3600.0,
    };

    /// What is left out of the text of first tries.
    pub(crate) const OF_FIRST_TRIES: Self = Self {
        floor_per_second: 0.0,
        burst: Burst::Tokens(10.0),
        ..Self::DEFAULT
    };

    pub(super) const NOTHING: Self = Self {
        ratio: 0.0,
        burst: Burst::Tokens(0.0),
        floor_per_second: 0.0,
    };

    /// Tokens that a full budget holds at any rate: the least burst, or 1 + `ratio` where that is more.
    pub const fn held(self) -> f64 {
        self.burst.least().max(1.0 + self.ratio)
    }

    /// Tokens that a full budget holds where each second brings this number of what earns them.
    pub fn held_at(self, per_second: f64) -> f64 {
        self.held().max(self.burst.at(self.ratio * per_second))
    }

    pub(super) fn validate(self) -> Result<(), InvalidBudget> {
        let floors = 0.0..=1e4;
        require(&[
            ((1e-6..=1e3).contains(&self.ratio), InvalidBudget::Ratio),
            (
                floors.contains(&self.floor_per_second),
                InvalidBudget::Floor,
            ),
        ])?;
        self.burst.validate()
    }
}

/// Of successes.
impl Default for Ratio {
    fn default() -> Self {
        Self::DEFAULT
    }
}

setters! {
    /// Setters: each returns the kind with one field changed.
    impl Ratio;
    /// Sets the tokens of a deposit.
    ratio: f64;
    /// Sets the tokens of a full budget: a number, or the time that earns them.
    burst: impl Into<Burst>;
    /// Sets the tokens that each second adds.
    floor_per_second: f64;
}

/// Retries cost tokens, and successes bring them back: the quota of the AWS SDKs.
///
/// Over any interval: what retries cost <= `capacity` + `clean_success` x clean successes + what came
/// back in the interval.
///
/// The retry quota of the AWS SDKs. A clean success is one without a retry. What comes back: the
/// whole cost of a retry that never starts, and with `refund_last`, to a call that succeeds after
/// retries, the cost of its own last one; never another call's. Time adds nothing: an idle client
/// stays as poor as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tokens {
    /// Tokens that a full budget holds; it starts full. From 1 to 1 000 000. Default 500.
    pub capacity: u32,
    /// What a retry costs after a transient failure. From 1 to `capacity`. Default 14.
    pub cost: u32,
    /// What a retry costs after a throttled failure. From 1 to `capacity`. Default 5.
    pub throttled_cost: u32,
    /// Whether a success after retries returns its last cost. Default `true`.
    pub refund_last: bool,
    /// Tokens that a success without retries deposits. From 0 to `capacity`. Default 1.
    pub clean_success: u32,
}

impl Tokens {
    /// AWS SDKs, retry mode `standard`, November 2026. Sustained, one retry for 14 clean successes.
    pub const AWS_2026_11: Self = Self {
        capacity: 500,
        cost: 14,
        throttled_cost: 5,
        refund_last: true,
        clean_success: 1,
    };

    /// AWS SDKs, retry mode `standard` before that (v2.0).
    ///
    /// Several of those SDKs charge 10 for a retry after a time-out. A failure here does not say
    /// that it was one: [`AWS_CRT`](Self::AWS_CRT) errs on the other side.
    pub const AWS_V2: Self = Self {
        cost: 5,
        ..Self::AWS_2026_11
    };

    /// The AWS common runtime (aws-c-io): 10 for every transient failure, time-outs among them.
    pub const AWS_CRT: Self = Self {
        cost: 10,
        ..Self::AWS_2026_11
    };

    pub(super) fn validate(self) -> Result<(), InvalidBudget> {
        let costs = 1..=self.capacity;
        require(&[
            (
                (1..=1_000_000).contains(&self.capacity),
                InvalidBudget::Capacity,
            ),
            (costs.contains(&self.cost), InvalidBudget::Cost),
            (
                costs.contains(&self.throttled_cost),
                InvalidBudget::ThrottledCost,
            ),
            (
                self.clean_success <= self.capacity,
                InvalidBudget::CleanSuccess,
            ),
        ])
    }
}

impl Default for Tokens {
    fn default() -> Self {
        Self::AWS_2026_11
    }
}

setters! {
    /// Setters: each returns the kind with one field changed.
    impl Tokens;
    /// Sets the tokens of a full budget.
    capacity: u32;
    /// Sets what a retry costs after a transient failure.
    cost: u32;
    /// Sets what a retry costs after a throttled failure.
    throttled_cost: u32;
    /// Sets whether a success after retries returns its last cost.
    refund_last: bool;
    /// Sets the tokens that a success without retries deposits.
    clean_success: u32;
}

/// No retries while failures have outweighed successes: the throttle of gRPC.
///
/// Over any interval: retries < `max_tokens` / 2 + `token_ratio` x successes in it.
///
/// gRPC's `retryThrottling` (gRFC A6). Tokens start at `max_tokens`. A failure that may be retried,
/// or that comes with the server's word not to, takes one; a success adds `token_ratio`; other
/// failures change nothing. Retries are granted while more than half are left, and take nothing
/// themselves, so nothing comes back either.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Grpc {
    /// Tokens at most. From 1 to 1000. Default 10, the example of A6.
    pub max_tokens: u32,
    /// Tokens that a success adds. From 0.001 to 1000; decimals beyond the third are ignored, as
    /// A6 says. Default 0.1, the example of A6.
    pub token_ratio: f64,
}

impl Grpc {
    pub(super) fn validate(self) -> Result<(), InvalidBudget> {
        require(&[
            (
                (1..=1000).contains(&self.max_tokens),
                InvalidBudget::MaxTokens,
            ),
            (
                (0.001..=1e3).contains(&self.token_ratio),
                InvalidBudget::TokenRatio,
            ),
        ])
    }
}

impl Default for Grpc {
    fn default() -> Self {
        Self {
            max_tokens: 10,
            token_ratio: 0.1,
        }
    }
}

setters! {
    /// Setters: each returns the kind with one field changed.
    impl Grpc;
    /// Sets the tokens at most.
    max_tokens: u32;
    /// Sets the tokens that a success adds.
    token_ratio: f64;
}

/// Retries in progress are a share of the calls in progress: the budget of Envoy.
///
/// Whenever a retry is granted: retries in progress, itself among them <= `share` x calls in progress,
/// or `floor` if that is more.
///
/// Envoy's retry budget, and with a share of 0 its `max_retries`. A retry is in progress from the start
/// of its wait until it ends, in whatever way; nothing else comes back, nothing is saved up. It
/// bounds what runs at once, not the traffic: at low rates the floor alone may grant every call its
/// retry, which is linted.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Concurrency {
    /// Retries for each call in progress, first tries and retries alike. From 0 to 1 in steps of a
    /// millionth. Default 0.2, Envoy's `budget_percent`.
    pub share: f64,
    /// Retries that may be in progress whatever the traffic. From 0 to 1 000 000, and from 1 where the
    /// share is 0. Default 3, Envoy's `min_retry_concurrency`.
    pub floor: u32,
}

impl Concurrency {
    pub(crate) const DEFAULT: Self = Self {
        share: 0.2,
        floor: 3,
    };

    pub(super) fn validate(self) -> Result<(), InvalidBudget> {
        let is_share = self.share == 0.0 || (1e-6..=1.0).contains(&self.share);
        let is_bound = self.share != 0.0 || self.floor > 0;
        require(&[
            (is_share, InvalidBudget::ConcurrencyShare),
            (
                self.floor <= 1_000_000 && is_bound,
                InvalidBudget::ConcurrencyFloor,
            ),
        ])
    }
}

impl Default for Concurrency {
    fn default() -> Self {
        Self::DEFAULT
    }
}

setters! {
    /// Setters: each returns the kind with one field changed.
    impl Concurrency;
    /// Sets the retries for each call in progress.
    share: f64;
    /// Sets the retries that may be in progress whatever the traffic.
    floor: u32;
}

/// So many retries in any minute: the bound of the Google SRE book for a process.
///
/// Over any interval of a minute: retries <= `retries` + refunds in it.
///
/// The budget of a process in the Google SRE book (ch. 21, *Handling Overload*). Retries are counted
/// in slices of a second and forgotten when a whole minute has passed since the end of theirs: 60 to
/// 61 s. Only time, and a retry that never starts, give room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PerMinute {
    /// Retries in a minute. From 1 to 1 000 000. Default 60.
    pub retries: u32,
}

impl PerMinute {
    pub(super) fn validate(self) -> Result<(), InvalidBudget> {
        require(&[(
            (1..=1_000_000).contains(&self.retries),
            InvalidBudget::PerMinute,
        )])
    }
}

impl Default for PerMinute {
    fn default() -> Self {
        Self { retries: 60 }
    }
}

setters! {
    /// Setters: each returns the kind with one field changed.
    impl PerMinute;
    /// Sets the retries in a minute.
    retries: u32;
}

/// Retries are a share of the first tries of the last seconds: the budget of Finagle.
///
/// Whenever a retry is granted: retries in the window, itself among them <= `share` x first tries in
/// the window + `floor_per_second` x `ttl`.
///
/// Finagle's `RetryBudget`, which Linkerd and tower took over. The window is ten slices of a tenth
/// of `ttl`, the current one the last of them; each is forgotten when it falls out. So it reaches
/// back nine to ten tenths of `ttl`, and over any interval of nine tenths retries <= `share` x first
/// tries in the window at its end + `floor_per_second` x `ttl` + refunds. A retry that never starts
/// leaves the slice that it was counted in.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Window {
    /// Retries for each first try in the window. From 0.000001 to 1000 in steps of a millionth, or
    /// 0 beside a floor. Default 0.2.
    pub share: f64,
    /// The length of the window. From 1 s to 60 s, in steps of 10 us. Default 10 s.
    pub ttl: Duration,
    /// Retries that each second of the window allows, whatever the traffic. From 0 to 10 000.
    /// Default 10.
    pub floor_per_second: f64,
}

impl Window {
    /// Finagle's: 20 %, 10 s, 10 a second.
    pub(crate) const DEFAULT: Self = Self {
        share: 0.2,
        ttl: Duration::from_secs(10),
        floor_per_second: 10.0,
    };

    pub(super) fn validate(self) -> Result<(), InvalidBudget> {
        let floor_alone = self.share == 0.0 && self.floor_per_second > 0.0;
        let is_share = (1e-6..=1e3).contains(&self.share) || floor_alone;
        let ttls = Duration::from_secs(1)..=Duration::from_secs(60);
        let floors = 0.0..=1e4;
        require(&[
            (is_share, InvalidBudget::Share),
            (ttls.contains(&self.ttl), InvalidBudget::Ttl),
            (
                floors.contains(&self.floor_per_second),
                InvalidBudget::Floor,
            ),
        ])
    }
}

impl Default for Window {
    fn default() -> Self {
        Self::DEFAULT
    }
}

setters! {
    /// Setters: each returns the kind with one field changed.
    impl Window;
    /// Sets the retries for each first try in the window.
    share: f64;
    /// Sets the length of the window.
    ttl: Duration;
    /// Sets the retries that each second of the window allows.
    floor_per_second: f64;
}
