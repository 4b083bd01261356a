//! What does a hedge cost a call that succeeds before it would fire?

use crate::drive::{Once, TimerLoop};
use crate::measure::{Case, Group};
use crate::operation::{Flaky, succeed};
use crate::ours::guarded::{HedgeAfter, HedgeAfterWithoutClock, HedgeAt, HedgeAtWithoutClock};
use crate::peers::{Bare, Through, TowerHedge, TowerResilienceHedge};
use crate::versions::with_version;

/// Applies a function to every library, each by its own type.
macro_rules! of_each {
    ($function:ident) => {
        vec![
            $function::<Bare>(),
            $function::<HedgeAfter>(),
            $function::<HedgeAfterWithoutClock>(),
            $function::<HedgeAt>(),
            $function::<HedgeAtWithoutClock>(),
            $function::<TowerHedge>(),
            $function::<TowerResilienceHedge>(),
        ]
    };
}

/// The rows of the table; the first one is what the others are compared with.
pub fn cases() -> Vec<Case> {
    of_each!(unfired)
}

/// A library that never hedges would be a fast one. Pauses a clock, so it comes last.
pub fn check_that_all_hedge() {
    of_each!(fires);
}

fn unfired<P: Through>() -> Case {
    let name = with_version(P::PACKAGE);
    let group = Group::Hedge;
    P::through(succeed, TimerLoop { group, name }).note(P::NOTE)
}

fn fires<P: Through>() {
    if P::GUARDS {
        let flaky = Flaky::failing(1);
        let hedged = P::through(flaky.stalling(), Once);
        assert!(hedged, "{} failed a call that a hedge serves", P::PACKAGE);
        assert_eq!(flaky.attempts(), 2, "{} hedged otherwise", P::PACKAGE);
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

        fn through<O: AsyncOperation, D: Drive>(operation: O, drive: D) -> D::Output {
            drive.drive(operation)
        }
    }

    #[test]
    #[should_panic(expected = "failed a call that a hedge serves")]
    fn what_never_hedges_is_not_measured() {
        fires::<Idle>();
    }
}
