//! Would a call be repeated for ever in one instant? Then a run would not end.

use std::time::Duration;

use becalm::{Budget, Policy};

use crate::engine::Distribution;

/// Delays of a call that are looked at: the ceiling of a policy that begins at zero may still grow
/// away from it.
const STEPS: usize = 64;

/// Whether nothing bounds the attempts that a call makes while no time passes: no count, no budget
/// of a bounded fill, and no delay. Messages that take time let it pass.
///
/// Asked of every policy, whatever its service: one that never refuses at once may be made to by a
/// trigger.
pub(super) fn is_endless(policy: &Policy, network: &Distribution) -> bool {
    policy.attempts == Policy::UNLIMITED
        && !is_bounded(policy.budget)
        && takes_no_time(network)
        && (never_waits(policy) || throttled(policy).is_some_and(|policy| never_waits(&policy)))
}

/// Whether a budget runs dry where no time passes. That of retries in progress does not: a retry
/// that was refused is not in progress any more.
fn is_bounded(budget: Budget) -> bool {
    let mut kinds = budget.kinds();
    kinds.any(|kind| !matches!(kind, Budget::Concurrency(_)))
}

/// The policy after failures that throttle.
fn throttled(policy: &Policy) -> Option<Policy> {
    policy.throttled_base.map(|base| policy.clone().base(base))
}

/// Whether the longest delays that can be drawn are all zero.
fn never_waits(policy: &Policy) -> bool {
    let mut most = || u64::MAX;
    policy
        .delays(&mut most)
        .take(STEPS)
        .all(|delay| delay.is_zero())
}

fn takes_no_time(messages: &Distribution) -> bool {
    match messages {
        Distribution::Constant(time)
        | Distribution::Exponential(time)
        | Distribution::Uniform(_, time)
        | Distribution::Lognormal { median: time, .. } => time.is_zero(),
        Distribution::Bimodal {
            fast,
            slow,
            slow_share,
        } => (fast.is_zero() || *slow_share >= 1.0) && (slow.is_zero() || *slow_share <= 0.0),
        Distribution::Empirical(times) => times.iter().all(Duration::is_zero),
    }
}
