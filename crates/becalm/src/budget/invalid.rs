//! Why is a budget refused?

use crate::reasons::reasons;

reasons! {
    /// Why a budget is refused.
    InvalidBudget;
    /// A kind is there twice.
    Twice: "the budget names a kind twice; keep one of them";
    /// The ratio is out of range.
    Ratio: "the budget's ratio must be from 0.000001 to 1000; use none for no bound";
    /// The burst is out of range.
    Burst: "the budget's burst must be from 1 to 1000000 tokens";
    /// The time of a burst is out of range.
    BurstSpan: "the budget's burst must be a duration from 100ms to 60s, such as 5s, where it is not a number; a min \
                stands beside a duration only";
    /// The floor of a ratio or of a window is out of range.
    Floor: "the budget's floor must be from 0 to 10000 tokens per second";
    /// The capacity of tokens is out of range.
    Capacity: "the budget's capacity must be from 1 to 1000000 tokens";
    /// The cost of a retry in tokens is out of range.
    Cost: "the budget's cost must be a whole number from 1 to its capacity";
    /// The cost of a retry after a throttled failure is out of range.
    ThrottledCost: "the budget's throttled cost must be a whole number from 1 to its capacity";
    /// The deposit of a clean success is out of range.
    CleanSuccess: "the budget's clean success must be a whole number from 0 to its capacity";
    /// gRPC's `maxTokens` is out of range.
    MaxTokens: "the budget's maximum of gRPC tokens must be from 1 to 1000";
    /// gRPC's `tokenRatio` is out of range.
    TokenRatio: "the budget's ratio of gRPC tokens must be from 0.001 to 1000";
    /// The share of a window is out of range.
    Share: "the budget's share of a window must be from 0.000001 to 1000, or 0 beside a floor";
    /// The length of a window is out of range.
    Ttl: "the budget's ttl must be a duration from 1s to 60s, such as 10s";
    /// The share of the calls in progress is out of range.
    ConcurrencyShare:
        "the budget's share of the calls in progress must be from 0.000001 to 1, or 0 beside a floor";
    /// The number of retries in progress is out of range.
    ConcurrencyFloor:
        "the budget's floor of retries in progress must be from 0 to 1000000, and from 1 where \
         the share is 0";
    /// The number of retries a minute is out of range.
    PerMinute: "the budget's retries a minute must be from 1 to 1000000";
}
