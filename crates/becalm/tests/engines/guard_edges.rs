//! What becomes of calls at the edges of guards and budgets: reloads, shared budgets, told failures,
//! deadlines?

use becalm::{Budget, Call, CallOptions, Decision, Failure, Scope, Shared};

use crate::probe::{MS, fixed};

/// A call that no concurrency has counted takes none of those away that it has.
#[test]
fn a_call_from_before_a_concurrency_ends_for_itself_alone() {
    let policy = |budget| fixed(MS).budget(budget);
    let shared = Shared::new(policy(Budget::grpc(10, 0.1)), MS * 0).unwrap();
    let now = becalm::Instant::ZERO;
    let mut random = becalm::rng::SplitMix64::new(7);
    let begin = |random: &mut becalm::rng::SplitMix64| {
        let mut call = Call::begin(&shared, CallOptions::new(), Scope::NONE, now);
        call.start(now, random).unwrap();
        call
    };
    let before = begin(&mut random);
    shared
        .replace_policy(policy(Budget::concurrency(1.0, 0)), now)
        .unwrap();
    let mut after = begin(&mut random);
    drop(before);
    let decision = after.on_outcome(now, Failure::transient().into(), &mut random);
    assert!(matches!(decision, Decision::RetryIn(_)), "{decision:?}");
}
