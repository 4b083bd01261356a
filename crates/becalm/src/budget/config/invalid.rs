//! Why is a budget refused?

use core::fmt;

/// Why a budget is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidBudget {
    /// A kind is there twice.
    Twice,
    /// Of several kinds there is none.
    Empty,
    /// The ratio is out of range.
    Ratio,
    /// The burst is out of range.
    Burst,
    /// The floor of a ratio or of a window is out of range.
    Floor,
    /// The capacity of tokens is out of range.
    Capacity,
    /// The cost of a retry in tokens is out of range.
    Cost,
    /// The cost of a retry after a throttled failure is out of range.
    ThrottledCost,
    /// The deposit of a clean success is out of range.
    CleanSuccess,
    /// gRPC's `maxTokens` is out of range.
    MaxTokens,
    /// gRPC's `tokenRatio` is out of range.
    TokenRatio,
    /// The share of a window is out of range.
    Share,
    /// The length of a window is out of range.
    Ttl,
    /// The share of the calls in progress is out of range.
    ConcurrencyShare,
    /// The number of retries in progress is out of range.
    ConcurrencyFloor,
    /// The number of retries a minute is out of range.
    PerMinute,
}

impl fmt::Display for InvalidBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Twice => "the budget names a kind twice; keep one of them",
            Self::Empty => "the budget is of several kinds, but names none; use none for no bound",
            Self::Ratio => {
                "the budget's ratio must be from 0.000001 to 1000; use none for no bound"
            }
            Self::Burst => "the budget's burst must be from 1 to 1000000 tokens",
            Self::Floor => "the budget's floor must be from 0 to 10000 tokens per second",
            Self::Capacity => "the budget's capacity must be from 1 to 1000000 tokens",
            Self::Cost => "the budget's cost must be a whole number from 1 to its capacity",
            Self::ThrottledCost => {
                "the budget's throttled cost must be a whole number from 1 to its capacity"
            }
            Self::CleanSuccess => {
                "the budget's clean success must be a whole number from 0 to its capacity"
            }
            Self::MaxTokens => "the budget's maximum of gRPC tokens must be from 1 to 1000",
            Self::TokenRatio => "the budget's ratio of gRPC tokens must be from 0.001 to 1000",
            Self::Share => {
                "the budget's share of a window must be from 0.000001 to 1000, or 0 beside a floor"
            }
            Self::Ttl => "the budget's ttl must be a duration from 1s to 60s, such as 10s",
            Self::ConcurrencyShare => {
                "the budget's share of the calls in progress must be from 0.000001 to 1, or 0 beside \
                 a floor"
            }
            Self::ConcurrencyFloor => {
                "the budget's floor of retries in progress must be from 0 to 1000000, and from 1 \
                 where the share is 0"
            }
            Self::PerMinute => "the budget's retries a minute must be from 1 to 1000000",
        })
    }
}

impl core::error::Error for InvalidBudget {}
