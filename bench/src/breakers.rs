//! What does a breaker cost the calls that it lets through?

use std::hint::black_box;
use std::time::Duration;

use crate::measure::{Case, Group};
use crate::operation::{Failed, Outcome, reply};
use crate::ours::breaker as ours;
use crate::peers::failsafe::Failsafe;
use crate::peers::recloser::Recloser;
use crate::peers::tower_resilience::breaker as layer;
use crate::peers::{BARE, Breaker, execution_policy};
use crate::together::{atomic_add, together};
use crate::versions::with_version;

/// Failures in a row.
pub const CONSECUTIVE: &str = "consecutive failures";
/// Windows of calls.
pub const COUNTS: [&str; 3] = [
    "count window of 100",
    "count window of 10 000",
    "count window of 1 000 000",
];
/// Windows of time, on a clock that is seldom read.
pub const TIMES: [&str; 3] = [
    "time window of 10 ms, besides its clock reads",
    "time window of 10 s, besides its clock reads",
    "time window of a day, besides its clock reads",
];
/// Slow calls, on a clock that is seldom read.
pub const SLOW: &str = "count window of 100, slow calls, besides its clock reads";

/// More failures than any of the windows holds.
const ENOUGH_FAILURES: u64 = 1_000_010;

/// How many calls the window holds in the row whose cost depends on it.
const HELD: u64 = 10_000;

/// The rows of both tables; the first ones are what the others are compared with.
pub fn cases() -> Vec<Case> {
    let mut cases = vec![bare(), atomic_add(Group::BreakerTogether)];
    cases.extend(becalm().into_iter().chain(peers()).flatten());
    cases.push(holding(
        layer::PACKAGE,
        "time window of 10 s, 10 000 calls in it",
        layer::time,
    ));
    cases
}

/// Breakers that read a clock have a row with it and one besides it.
fn becalm() -> Vec<[Case; 2]> {
    const TEN_SECONDS: Duration = Duration::from_secs(10);
    vec![
        rows("becalm", CONSECUTIVE, ours::consecutive),
        rows("becalm", COUNTS[0], || ours::count(100)),
        rows("becalm", COUNTS[1], || ours::count(10_000)),
        rows("becalm", COUNTS[2], || ours::count(1_000_000)),
        rows("becalm", TIMES[0], || ours::time(Duration::from_millis(10))),
        rows("becalm", TIMES[1], || ours::time(TEN_SECONDS)),
        rows("becalm", TIMES[2], || ours::time(Duration::from_hours(24))),
        rows("becalm", SLOW, ours::slow),
        rows("becalm", "time window of 10 s", || {
            ours::time_and_clock(TEN_SECONDS)
        }),
        rows(
            "becalm",
            "count window of 100, slow calls",
            ours::slow_and_clock,
        ),
    ]
}

fn peers() -> Vec<[Case; 2]> {
    let recloser = "recloser";
    let failsafe = "failsafe";
    let policy = "execution-policy";
    vec![
        rows(recloser, COUNTS[0], || Recloser::count(100)),
        rows(recloser, COUNTS[1], || Recloser::count(10_000)),
        rows(recloser, COUNTS[2], || Recloser::count(1_000_000)),
        rows(failsafe, CONSECUTIVE, Failsafe::consecutive),
        rows(failsafe, "consecutive failures or time window", || {
            Failsafe::usual()
        }),
        rows(layer::PACKAGE, CONSECUTIVE, layer::consecutive),
        rows(layer::PACKAGE, COUNTS[0], || layer::count(100)),
        rows(layer::PACKAGE, COUNTS[1], || layer::count(10_000)),
        rows(layer::PACKAGE, COUNTS[2], || layer::count(1_000_000)),
        rows(
            layer::PACKAGE,
            "count window of 100, slow calls",
            layer::slow,
        ),
        rows(
            policy,
            "consecutive failures",
            execution_policy::consecutive,
        ),
        rows(policy, "time window of 10 s", execution_policy::time),
    ]
}

/// A row on one thread and one on two, of a breaker that has proved that it opens.
fn rows<B: Breaker>(package: &str, note: &'static str, make: fn() -> B) -> [Case; 2] {
    opens(package, note, make());
    let name = with_version(package);
    let mut breaker = make();
    let alone = Case::timed(Group::Breaker, name.clone(), note, move |calls| {
        repeat(&mut breaker, calls);
    });
    let together = together(Group::BreakerTogether, name, note, move || {
        let breaker = make();
        [breaker.clone(), breaker].map(|mut breaker| move |_| repeat(&mut breaker, 1))
    });
    [alone, together]
}

/// A row of a breaker whose cost grows with what its window holds.
fn holding<B: Breaker>(package: &str, note: &'static str, make: fn() -> B) -> Case {
    opens(package, note, make());
    let name = with_version(package);
    Case::prepared(Group::Breaker, name, note, HELD / 50, move || {
        let mut breaker = make();
        repeat(&mut breaker, HELD);
        move |calls| repeat(&mut breaker, calls)
    })
}

#[inline]
fn repeat<B: Breaker>(breaker: &mut B, calls: u64) {
    for _ in 0..calls {
        match breaker.call(Ok(7)) {
            Some(Ok(value)) => black_box(value),
            rejected => panic!("a closed breaker returned {rejected:?}"),
        };
    }
}

/// A breaker that never opens would be a fast one.
fn opens<B: Breaker>(package: &str, note: &str, mut breaker: B) {
    let mut rejected = (0..ENOUGH_FAILURES).map(|_| breaker.call(Err(Failed)).is_none());
    assert!(rejected.any(|is| is), "{package}, {note}, does not open");
}

#[derive(Clone)]
struct Bare;

impl Breaker for Bare {
    #[inline]
    fn call(&mut self, request: Outcome) -> Option<Outcome> {
        Some(reply(request))
    }
}

fn bare() -> Case {
    Case::timed(Group::Breaker, BARE, "", |calls| {
        repeat(&mut Bare, calls);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "does not open")]
    fn a_breaker_that_never_opens_is_not_measured() {
        opens("a breaker", "bare", Bare);
    }
}
