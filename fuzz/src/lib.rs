//! What must hold of every policy that a parser lets through?

use std::time::Duration;

use becalm::Policy;
use becalm::rng::SplitMix64;

/// Its delays lie between floor and cap, there is one fewer than attempts, and its lints are
/// sentences.
///
/// # Panics
///
/// If any of that does not hold.
pub fn keeps_its_bounds(policy: &Policy, seed: u64) {
    assert_eq!(policy.validate(), Ok(()));
    let longest = Duration::from_nanos(u64::MAX);
    let (floor, cap) = (policy.floor.min(longest), policy.cap.min(longest));
    let delays: Vec<_> = policy.delays(SplitMix64::new(seed)).take(12).collect();
    let expected = usize::try_from(policy.attempts - 1).map_or(12, |retries| retries.min(12));
    assert_eq!(delays.len(), expected);
    for delay in delays {
        assert!((floor..=cap).contains(&delay), "{delay:?} of {policy:?}");
    }
    for lint in policy.lints() {
        assert!(!lint.message.is_empty(), "{}", lint.code);
    }
}
