//! What does a call with every protection cost that succeeds at its first poll?
//!
//! A deadline, retries with a budget, a breaker, a timeout of each attempt: the order in which each
//! library's documentation composes them.

use crate::drive::{Many, Once, TimerLoop};
use crate::measure::{Case, Group};
use crate::operation::{Flaky, succeed};
use crate::ours::guarded::{Stack, StackWithoutClock};
use crate::peers::execution_policy::ExecutionPolicyStack;
use crate::peers::tower::TowerStack;
use crate::peers::tower_resilience::TowerResilienceStack;
use crate::peers::{Bare, Through};
use crate::versions::with_version;

/// Applies a function to every library, each by its own type.
macro_rules! of_each {
    ($function:ident) => {
        vec![
            $function::<Bare>(),
            $function::<Stack>(),
            $function::<StackWithoutClock>(),
            $function::<ExecutionPolicyStack>(),
            $function::<TowerStack>(),
            $function::<TowerResilienceStack>(),
        ]
    };
}

/// Failing calls within which a breaker opens, by its own time or for good.
const CALLS: u64 = 1000;

/// The rows of the table; the first one is what the others are compared with.
pub fn cases() -> Vec<Case> {
    of_each!(success)
}

/// A stack that protects from nothing would be a fast one. Pauses a clock, so it comes last.
pub fn check_that_all_protect() {
    of_each!(retries);
    of_each!(ends_a_slow_attempt);
    of_each!(breaks);
}

fn success<P: Through>() -> Case {
    let name = with_version(P::PACKAGE);
    let group = Group::Stack;
    P::through(succeed, TimerLoop { group, name }).note(P::NOTE)
}

fn retries<P: Through>() {
    if P::GUARDS {
        let flaky = Flaky::failing(2);
        let served = P::through(flaky.asynchronous(), Once);
        assert!(served, "{} gave up on a call that fails twice", P::PACKAGE);
        assert_eq!(flaky.attempts(), 3, "{} retried otherwise", P::PACKAGE);
    }
}

fn ends_a_slow_attempt<P: Through>() {
    if P::GUARDS {
        let flaky = Flaky::failing(1);
        let served = P::through(flaky.stalling(), Once);
        assert!(served, "{} waited for a stalled attempt", P::PACKAGE);
        assert_eq!(flaky.attempts(), 2, "{} retried otherwise", P::PACKAGE);
    }
}

fn breaks<P: Through>() {
    if P::BREAKS {
        let flaky = Flaky::failing(u64::MAX - 1);
        P::through(flaky.asynchronous(), Many(CALLS));
        let attempts = flaky.attempts();
        assert!(
            attempts < CALLS / 2,
            "{CALLS} calls of {} made {attempts} attempts at a server that fails",
            P::PACKAGE
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::Drive;
    use crate::operation::AsyncOperation;

    struct Idle;

    impl Through for Idle {
        const PACKAGE: &'static str = "nothing";
        const BREAKS: bool = true;

        fn through<O: AsyncOperation, D: Drive>(operation: O, drive: D) -> D::Output {
            drive.drive(operation)
        }
    }

    #[test]
    #[should_panic(expected = "gave up on a call")]
    fn what_never_retries_is_not_measured() {
        retries::<Idle>();
    }

    #[test]
    #[should_panic(expected = "waited for a stalled attempt")]
    fn what_never_ends_an_attempt_is_not_measured() {
        ends_a_slow_attempt::<Idle>();
    }

    #[test]
    #[should_panic(expected = "attempts at a server that fails")]
    fn what_never_breaks_is_not_measured() {
        breaks::<Idle>();
    }
}
