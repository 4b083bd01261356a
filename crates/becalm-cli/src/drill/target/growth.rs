//! Is it worth waiting longer for the target to come back? While more and more calls succeed, it is.

use std::time::Duration;

use crate::drill::ledger::{Count, Recording};
use crate::drill::setup::Setup;
use crate::drill::statistics::count;

/// The stretches that are compared.
const STRETCH: Duration = Duration::from_secs(2);

/// Standard deviations by which more calls must succeed: by chance they do once in 300 times.
const CHANCE: f64 = 2.75;

/// Whether more calls succeeded in the last two seconds before `elapsed` than in the two before, both
/// after the fault.
pub fn is_growing(recording: &Recording, setup: &Setup, elapsed: Duration) -> bool {
    let middle = elapsed.saturating_sub(STRETCH);
    let from = middle.saturating_sub(STRETCH);
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
    use crate::drill::setup::tests::usual;
    use crate::drill::statistics::tests::{recording, stormy};

    fn grows(recording: &Recording, second: u64) -> bool {
        is_growing(recording, &usual(), Duration::from_secs(second))
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
