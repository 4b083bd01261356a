//! What does becalm promise of itself, and does this run keep it?

use crate::bars::Bar;
use crate::breakers::{CONSECUTIVE, COUNTS, SLOW, TIMES};
use crate::budgets::{DRAINING, FULL, ONE_RETRIER, OWN_RETRIERS};
use crate::clock;
use crate::decisions::{FIRST, FURTHER, LEASED, TOKEN, TOWERS};
use crate::measure::{Case, Group, find};
use crate::ours::guarded::{self, HedgeAfterWithoutClock, HedgeAtWithoutClock, StackWithoutClock};
use crate::ours::{Becalm, exponential};
use crate::peers::tower::{TowerHedge, TowerStack};
use crate::peers::{AsyncPeer, BARE, DEADLINE, Through};
use crate::together::ATOMIC_ADD;
use crate::versions::with_version;

/// Every promise with what this run found. What costs time is promised as a share of what a peer takes
/// for the like in the same run, so that the machine cancels out
/// (`docs/decisions/0016-promises-are-ratios.md`).
pub fn bars(cases: &[Case]) -> Vec<Bar> {
    let all = [calls(cases), breakers(cases), hedges(cases), stack(cases)];
    all.into_iter().flatten().collect()
}

/// The row of a peer.
fn peer<'a>(cases: &'a [Case], group: Group, package: &str, note: &str) -> &'a Case {
    find(cases, group, &with_version(package), note)
}

/// What a row is over the bare call, as a share of what a peer's is.
fn above_of(ours: &Case, peer: &Case, bare: &Case) -> f64 {
    ours.above(bare) / peer.above(bare)
}

fn calls(cases: &[Case]) -> Vec<Bar> {
    let becalm = with_version(Becalm::PACKAGE);
    let ours = |group, note| find(cases, group, &becalm, note);
    let bare = find(cases, Group::SuccessAsync, BARE, "");
    let success = ours(Group::SuccessAsync, Becalm::NOTE);
    let backon = peer(cases, Group::SuccessAsync, "backon", "");
    let tower = peer(cases, Group::Decision, "tower", TOWERS);
    let mettle = peer(cases, Group::Delay, "mettle", "");
    let add = find(cases, Group::Budget, ATOMIC_ADD, "");
    let [one, own] = [ONE_RETRIER, OWN_RETRIERS].map(|note| ours(Group::Budget, note));
    let uses = [exponential(), exponential().deadline(DEADLINE)].map(clock::uses_per_success);

    vec![
        // It was once less than backon's. One engine drives all calls, which keeps the fast path in one
        // file at the price of a word or two to store, and the scope notes whose task it is in: a question
        // to tokio at each attempt, without which other tasks of the thread would be taken for parts of
        // this call.
        Bar::at_most(
            "an async success over the bare call, with budget and nested-retry detection",
            above_of(success, backon, bare),
            2.0,
            "of backon's, without either",
        ),
        Bar::at_most(
            "allocations of a success",
            success.allocations.unwrap_or(f64::NAN),
            0.0,
            "",
        ),
        Bar::exactly("clock reads of a success", uses[0].reads, 0),
        Bar::exactly("clock reads of a success with a deadline", uses[1].reads, 1),
        Bar::at_least(
            "two threads on one retrier, of what they reach on two (nothing shared is written)",
            one.share_of(own),
            0.9,
            "",
        ),
        Bar::at_most(
            "the first decision of a call after a failure",
            ours(Group::Decision, FIRST).share_of(tower),
            3.8,
            "of tower's, which draws no entropy",
        ),
        Bar::at_most(
            "a further decision after a failure",
            ours(Group::Decision, FURTHER).share_of(tower),
            0.75,
            "of tower's",
        ),
        Bar::at_most(
            "a token of a fleet's budget, taken and returned",
            ours(Group::Decision, LEASED).share_of(ours(Group::Decision, TOKEN)),
            2.0,
            "of a ratio budget's",
        ),
        Bar::at_most(
            "a further delay with jitter",
            ours(Group::Delay, "").share_of(mettle),
            0.9,
            "of mettle's",
        ),
        Bar::at_least(
            "two threads on a full budget, of a shared atomic add's rate (each has a cell of its own)",
            ours(Group::Budget, FULL).share_of(add),
            1.5,
            "",
        ),
        Bar::at_least(
            "two threads on a draining budget, of a shared atomic add's rate",
            ours(Group::Budget, DRAINING).share_of(add),
            0.5,
            "",
        ),
    ]
}

/// The most of these rows: a promise about all of them.
fn most(rows: &[&Case], figure: impl Fn(&Case) -> f64) -> f64 {
    rows.iter().map(|row| figure(row)).fold(f64::NAN, f64::max)
}

fn no_allocation(what: &'static str, rows: &[&Case]) -> Bar {
    let most = most(rows, |row| row.allocations.unwrap_or(f64::INFINITY));
    Bar::at_most(what, most, 0.0, "")
}

fn breakers(cases: &[Case]) -> Vec<Bar> {
    let becalm = with_version(Becalm::PACKAGE);
    let row = |group, note| find(cases, group, &becalm, note);
    let bare = find(cases, Group::Breaker, BARE, "");
    let recloser = peer(cases, Group::Breaker, "recloser", COUNTS[0]);
    let add = find(cases, Group::BreakerTogether, ATOMIC_ADD, "");
    let counts = [CONSECUTIVE, COUNTS[0], COUNTS[1], COUNTS[2]];
    let timed = [TIMES[0], TIMES[1], TIMES[2], SLOW];
    let [counts, timed, counts_together, timed_together] = [
        (Group::Breaker, counts),
        (Group::Breaker, timed),
        (Group::BreakerTogether, counts),
        (Group::BreakerTogether, timed),
    ]
    .map(|(group, notes)| notes.map(|note| row(group, note)));
    let slowest = |rows: [&Case; 4]| most(&rows, |row| -row.share_of(add)).abs();

    vec![
        Bar::at_most(
            "a breaker that stays closed, of failures in a row or a share of 100 to 1 000 000 calls",
            most(&counts, |row| above_of(row, recloser, bare)),
            0.75,
            "of recloser's over 100 calls",
        ),
        Bar::at_most(
            "one over 10 ms to a day, or with slow calls, besides its clock reads",
            most(&timed, |row| above_of(row, recloser, bare)),
            0.75,
            "of recloser's over 100 calls",
        ),
        no_allocation("allocations of all these", &[counts, timed].concat()),
        Bar::at_least(
            "two threads on a breaker that counts calls, of a shared atomic add's rate",
            slowest(counts_together),
            0.5,
            "",
        ),
        Bar::at_least(
            "the same on one that reads a clock, besides that",
            slowest(timed_together),
            0.5,
            "",
        ),
    ]
}

fn hedges(cases: &[Case]) -> Vec<Bar> {
    let becalm = with_version(Becalm::PACKAGE);
    let bare = find(cases, Group::Hedge, BARE, "");
    let notes = [HedgeAfterWithoutClock::NOTE, HedgeAtWithoutClock::NOTE];
    let [after, at] = notes.map(|note| find(cases, Group::Hedge, &becalm, note));
    let tower = peer(cases, Group::Hedge, TowerHedge::PACKAGE, TowerHedge::NOTE);
    vec![
        Bar::at_most(
            "a hedge after a fixed delay that does not fire, besides its clock reads",
            above_of(after, tower, bare),
            0.25,
            "of tower's",
        ),
        Bar::at_most(
            "a hedge at a quantile that does not fire, besides its clock reads",
            above_of(at, tower, bare),
            0.25,
            "of tower's",
        ),
        no_allocation("allocations of both", &[after, at]),
    ]
}

fn stack(cases: &[Case]) -> Vec<Bar> {
    let becalm = with_version(Becalm::PACKAGE);
    let bare = find(cases, Group::Stack, BARE, "");
    let stack = find(cases, Group::Stack, &becalm, StackWithoutClock::NOTE);
    let tower = peer(cases, Group::Stack, TowerStack::PACKAGE, TowerStack::NOTE);
    let uses = clock::uses_per_success(guarded::every_protection());
    vec![
        Bar::at_most(
            "a success with deadline, breaker, budget and attempt timeout, besides its clock reads",
            above_of(stack, tower, bare),
            0.22,
            "of tower's, without a breaker",
        ),
        no_allocation("its allocations", &[stack]),
        Bar::at_most_count("its clock reads", uses.reads, 2),
        Bar::exactly("its timers", uses.timers, 0),
    ]
}
