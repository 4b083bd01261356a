//! Is it worth waiting longer for the target to come back? While more and more calls succeed, it is.

use std::time::Duration;

use crate::ledger::{Count, Recording};
use crate::setup::Setup;
use crate::statistics::count;

/// The stretches that are compared, at least.
const STRETCH: Duration = Duration::from_secs(2);

/// Calls that are due in each of them at least: of fewer even a rise from none to all may be chance. As many as the judge's
/// window has.
const CALLS: f64 = 20.0;

/// Standard deviations by which more calls must succeed: by chance they do once in 300 times.
const CHANCE: f64 = 2.75;

/// How long each is: no answer that a client waits for takes longer.
fn stretch(setup: &Setup, patience: Duration) -> Duration {
    let due = Duration::try_from_secs_f64(CALLS / setup.load).unwrap_or(Duration::MAX);
    STRETCH.max(due).max(patience)
}

/// Whether more calls succeeded in the last stretch before `elapsed` than in the one before, both after the fault. A client
/// waits so long for an attempt.
pub fn is_growing(
    recording: &Recording,
    setup: &Setup,
    patience: Duration,
    elapsed: Duration,
) -> bool {
    let stretch = stretch(setup, patience);
    let middle = elapsed.saturating_sub(stretch);
    let from = middle.saturating_sub(stretch);
    if from < setup.trigger_end() {
        // Too little was seen to say that it is not.
        return true;
    }
    let [earlier, later] =
        [from..middle, middle..elapsed].map(|it| count(recording.within(Count::Succeeded, it)));
    // Of two counts of one Poisson process the difference has the variance of their sum.
    later - earlier > CHANCE * (later + earlier).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::tests::usual;
    use crate::statistics::tests::{recording, stormy};

    const SECOND: Duration = Duration::from_secs(1);

    fn grows(recording: &Recording, second: u64) -> bool {
        is_growing(recording, &usual(), SECOND, Duration::from_secs(second))
    }

    #[test]
    fn of_few_calls_and_slow_answers_more_is_seen_before_it_is_said_that_nothing_grows() {
        let at = |load, patience| stretch(&Setup { load, ..usual() }, patience);
        assert_eq!(at(250.0, SECOND), 2 * SECOND);
        assert_eq!(at(10.0, SECOND), 2 * SECOND);
        assert_eq!(at(2.5, SECOND), 8 * SECOND);
        assert_eq!(at(250.0, 30 * SECOND), 30 * SECOND);
        assert_eq!(at(0.0, SECOND), Duration::MAX);
    }

    #[test]
    fn a_slow_service_that_answers_again_is_seen_to_come_back() {
        let setup = Setup {
            load: 3.0,
            ..usual()
        };
        let stays = Recording::empty(3_000);
        let mut rises = stays.clone();
        for call in 0..30 {
            // Three a second, from the fifteenth on.
            rises.set(Count::Succeeded, 1_500 + call * 33, 1);
        }
        let at =
            |recording: &Recording, second| is_growing(recording, &setup, SECOND, second * SECOND);
        assert!(at(&stays, 8) && at(&stays, 16), "too soon to say");
        assert!(at(&rises, 20) && at(&rises, 22));
        assert!(!at(&stays, 20) && !at(&stays, 22));
    }

    #[test]
    fn a_storm_is_not_waited_for_and_a_recovery_is() {
        assert!(!grows(&stormy(), 10));
        let answered = |of| (260, 100, 360, of);
        let rising = [260, 0, 0, 20, 40, 60, 80, 120, 180, 260].map(answered);
        for second in [7, 8, 9, 10] {
            assert!(grows(&recording(rising), second), "{second}");
        }
        let steady = [260, 0, 0, 20, 40, 60, 60, 61, 59, 62].map(answered);
        assert!(!grows(&recording(steady), 10));
        assert!(grows(&stormy(), 6), "too soon to say");
    }
}
