//! What does becalm promise of itself, and does this run keep it?

use crate::bars::Bar;
use crate::budgets::{DRAINING, FULL, ONE_RETRIER, OWN_RETRIERS};
use crate::clock;
use crate::decisions::{FIRST, FURTHER};
use crate::measure::{Case, Group, find};
use crate::ours::{Becalm, exponential};
use crate::peers::{AsyncPeer, Bare, DEADLINE};
use crate::versions::with_version;

/// Every promise with what this run found. Differences and shares are taken within one run; no
/// promise is a property of the machine alone but the three that are given in time.
pub fn bars(cases: &[Case]) -> Vec<Bar> {
    let becalm = with_version(Becalm::PACKAGE);
    let ours = |group, note| find(cases, group, &becalm, note);
    let bare = find(cases, Group::SuccessAsync, Bare::PACKAGE, Bare::NOTE);
    let success = ours(Group::SuccessAsync, Becalm::NOTE);
    let add = find(cases, Group::Budget, "a shared atomic add", "");
    let [one, own] = [ONE_RETRIER, OWN_RETRIERS].map(|note| ours(Group::Budget, note));
    let reads = [exponential(), exponential().deadline(DEADLINE)].map(clock::reads_per_success);

    vec![
        Bar::at_most(
            "an async success over the bare call, with budget and nested-retry detection",
            success.above(bare),
            2.0,
            "ns",
        ),
        Bar::at_most(
            "allocations of a success",
            success.allocations.unwrap_or(f64::NAN),
            0.0,
            "",
        ),
        Bar::exactly("clock reads of a success", reads[0], 0),
        Bar::exactly("clock reads of a success with a deadline", reads[1], 1),
        Bar::at_least(
            "two threads on one retrier, of what they reach on two (nothing shared is written)",
            one.share_of(own),
            0.9,
            "",
        ),
        Bar::at_most(
            "the first decision of a call after a failure",
            ours(Group::Decision, FIRST).figure(),
            500.0,
            "ns",
        ),
        Bar::at_most(
            "a further decision after a failure",
            ours(Group::Decision, FURTHER).figure(),
            100.0,
            "ns",
        ),
        Bar::at_most(
            "a further delay with jitter",
            ours(Group::Delay, "").figure(),
            5.0,
            "ns",
        ),
        Bar::at_least(
            "two threads on a full budget, together",
            ours(Group::Budget, FULL).figure(),
            1000.0,
            "million operations per second",
        ),
        Bar::at_least(
            "two threads on a draining budget, of a shared atomic add's rate",
            ours(Group::Budget, DRAINING).share_of(add),
            0.5,
            "",
        ),
    ]
}
