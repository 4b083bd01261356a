//! How is a budget configured?
//!
//! [`Budget`] is plain data: which kinds there are, and how they are put together. The parameters of
//! each kind, how they are written, and why they are refused, have files of their own.

mod all_of;
mod invalid;
mod kinds;

use core::time::Duration;

pub use all_of::AllOf;
pub use invalid::InvalidBudget;
pub use kinds::{Concurrency, Grpc, PerMinute, Ratio, Tokens, Window};

/// The configuration of a budget: plain data.
///
/// | kind | what earns a retry | what comes back | written |
/// |---|---|---|---|
/// | [`Ratio`] | each call that succeeds deposits `ratio` | a retry that never starts | `ratio:0.1,burst:10,floor:10/h` |
/// | [`Ratio`] of first tries | each call that begins deposits `ratio` | a retry that never starts | `first-tries:0.1,burst:10,floor:1` |
/// | [`Tokens`] | each clean success deposits `clean` | that, and a success's own last cost | `tokens:500,cost:14,throttled:5,refund:last,clean:1` |
/// | [`Grpc`] | each success deposits `ratio`, each failure takes 1 | nothing: a retry itself is free | `grpc:10,ratio:0.1` |
/// | [`Window`] | each first try, for as long as it is in the window | a retry that never starts | `window:0.2,ttl:10s,floor:10` |
/// | [`Concurrency`] | the calls in progress | each retry, when it ends | `concurrency:0.2,floor:3` |
/// | [`PerMinute`] | time | a retry that never starts | `per-minute:60` |
///
/// Kinds are joined by `+`: `ratio:0.1 + per-minute:60` grants what both grant. Parameters that are
/// left out have the defaults of their kind. The floor of a ratio is tokens a second; `/m` and `/h`
/// behind it make it tokens a minute and an hour. `none` bounds nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Budget {
    /// No bound across calls. A call's attempts are its only limit; linted.
    None,
    /// Retries are a share of the calls that succeed: in an outage nothing earns them.
    Ratio(Ratio),
    /// Retries are a share of first tries, however they end: the Google SRE book.
    FirstTries(Ratio),
    /// Retries cost tokens, and success earns them: the AWS SDKs.
    Tokens(Tokens),
    /// No retries while failures have outweighed successes: gRPC's `retryThrottling`.
    Grpc(Grpc),
    /// Retries are a share of the first tries of the last seconds: Finagle, Linkerd, tower.
    Window(Window),
    /// Retries in progress are a share of the calls in progress: Envoy, failsafe-go.
    Concurrency(Concurrency),
    /// So many retries a minute, whatever the traffic: Google SRE.
    PerMinute(PerMinute),
    /// Several of these, each of which must agree.
    AllOf(AllOf),
}

/// A tenth of the calls that succeed, a burst of 10, and 10 retries an hour: room for a client too
/// small to have earned a token yet, and none for retries that keep a service down.
impl Default for Budget {
    fn default() -> Self {
        Self::Ratio(Ratio::default())
    }
}

impl Budget {
    /// Retries are at most this share of the calls that succeed, with a burst of 10 and 10 an hour
    /// beside them.
    pub const fn ratio(ratio: f64) -> Self {
        Self::Ratio(Ratio {
            ratio,
            ..Ratio::DEFAULT
        })
    }

    /// Retries are at most this share of first tries, with a burst of 10.
    ///
    /// It goes on earning while nothing is answered, so a service that retries keep down stays
    /// down; [`ratio`](Self::ratio) does not. For the systems that count so.
    pub const fn first_tries(ratio: f64) -> Self {
        Self::FirstTries(Ratio {
            ratio,
            ..Ratio::OF_FIRST_TRIES
        })
    }

    /// The quota of the AWS SDKs: the newest generation, [`Tokens::AWS_2026_11`].
    pub const fn tokens() -> Self {
        Self::aws_2026_11()
    }

    /// The quota of the AWS SDKs since November 2026: 500 tokens, 14 a retry, 5 a throttled one.
    pub const fn aws_2026_11() -> Self {
        Self::Tokens(Tokens::AWS_2026_11)
    }

    /// The quota of the AWS SDKs before (v2.0): 500 tokens, 5 a retry.
    pub const fn aws_v2() -> Self {
        Self::Tokens(Tokens::AWS_V2)
    }

    /// The quota of the AWS common runtime: 500 tokens, 10 a retry, 5 a throttled one.
    pub const fn aws_crt() -> Self {
        Self::Tokens(Tokens::AWS_CRT)
    }

    /// gRPC's `retryThrottling` with this `maxTokens` and `tokenRatio`.
    pub const fn grpc(max_tokens: u32, token_ratio: f64) -> Self {
        Self::Grpc(Grpc {
            max_tokens,
            token_ratio,
        })
    }

    /// Retries are at most this share of the first tries in a window of this length, and so many
    /// more for each of its seconds.
    pub const fn window(share: f64, ttl: Duration, floor_per_second: f64) -> Self {
        Self::Window(Window {
            share,
            ttl,
            floor_per_second,
        })
    }

    /// Retries in progress are at most this share of the calls in progress, or `floor` if that is more.
    pub const fn concurrency(share: f64, floor: u32) -> Self {
        Self::Concurrency(Concurrency { share, floor })
    }

    /// Retries are at most this many in any minute.
    pub const fn per_minute(retries: u32) -> Self {
        Self::PerMinute(PerMinute { retries })
    }

    /// Joins two budgets, which both must agree to a retry.
    ///
    /// A kind can be there once; [`validate`](Self::validate) refuses a second.
    ///
    /// ```
    /// use becalm::Budget;
    ///
    /// let budget = Budget::ratio(0.1).and(Budget::per_minute(60));
    /// assert_eq!(budget.to_string(), "ratio:0.1,burst:10,floor:10/h + per-minute:60");
    /// assert!(budget.validate().is_ok());
    /// assert!(budget.and(Budget::per_minute(30)).validate().is_err());
    /// ```
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, budget) | (budget, Self::None) => budget,
            (one, other) => Self::AllOf(one.all_of().with(other)),
        }
    }

    /// The kinds that must agree: none for [`Budget::None`], one for a simple budget.
    pub fn all_of(self) -> AllOf {
        AllOf::default().with(self)
    }

    /// Sets the burst of the ratio, or else of the first tries. Changes nothing on a budget that has
    /// neither.
    #[must_use]
    pub fn burst(mut self, tokens: f64) -> Self {
        if let Some(ratio) = self.ratio_mut() {
            ratio.burst = tokens;
        }
        self
    }

    /// Sets the tokens that each second adds to the ratio, or else to the first tries. Changes nothing
    /// on a budget that has neither.
    #[must_use]
    pub fn floor_per_second(mut self, tokens: f64) -> Self {
        if let Some(ratio) = self.ratio_mut() {
            ratio.floor_per_second = tokens;
        }
        self
    }

    fn ratio_mut(&mut self) -> Option<&mut Ratio> {
        match self {
            Self::Ratio(ratio) | Self::FirstTries(ratio) => Some(ratio),
            Self::AllOf(all) => all.ratio.as_mut().or(all.first_tries.as_mut()),
            _ => None,
        }
    }

    /// Refuses a value that is out of range, naming the parameter and the remedy.
    ///
    /// # Errors
    ///
    /// [`InvalidBudget`] names the kind and the parameter.
    pub fn validate(self) -> Result<(), InvalidBudget> {
        match self {
            Self::None => Ok(()),
            Self::Ratio(kind) | Self::FirstTries(kind) => kind.validate(),
            Self::Tokens(kind) => kind.validate(),
            Self::Grpc(kind) => kind.validate(),
            Self::Window(kind) => kind.validate(),
            Self::Concurrency(kind) => kind.validate(),
            Self::PerMinute(kind) => kind.validate(),
            Self::AllOf(all) => all.validate(),
        }
    }
}
