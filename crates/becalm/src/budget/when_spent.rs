//! What does a call do that finds no token?

/// What a call does when the budget pays for no retry: stop, or wait for a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum WhenSpent {
    /// It stops at once, as [`BudgetExhausted`](crate::StopReason::BudgetExhausted). The default.
    #[default]
    Stop,
    /// It asks again after each of its own draws, at the same step of the backoff, until there is a token or the
    /// next draw would not end before the deadline. Then it stops as `BudgetExhausted`. The policy needs a deadline.
    ///
    /// It makes no attempt meanwhile and holds nothing but its place among the
    /// [`max_waiting`](crate::Policy::max_waiting). Hedges do not wait. For background work, consumers and
    /// connections: up to 90 % of the capacity it does no harm, beyond that a service may come back much later.
    Wait,
}
