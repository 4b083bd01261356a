//! How does one policy stand right now, in two or three words?

use std::time::Duration;

use becalm_report::Colour;

use crate::drill::judgement::tenths;
use crate::drill::setup::Setup;
use crate::drill::statistics::Measured;

/// A few words, and the colour they are said in.
pub fn condition(measured: &Measured, setup: &Setup, elapsed: Duration) -> (Colour, String) {
    let seen = elapsed.min(setup.length());
    if elapsed <= setup.before {
        return (Colour::Muted, "healthy".into());
    }
    if elapsed <= setup.trigger_end() {
        return (Colour::Orange, "service hangs".into());
    }
    let since = seen.saturating_sub(setup.trigger_end());
    let raging =
        measured.storm > Duration::ZERO && measured.storm + Duration::from_millis(200) >= since;
    if raging {
        (Colour::Red, format!("STORM for {}", tenths(since)))
    } else if let Some(time) = measured.recovered {
        (Colour::Green, format!("back in {}", tenths(time)))
    } else if measured.storm > Duration::ZERO {
        (
            Colour::Orange,
            format!("storm of {}", tenths(measured.storm)),
        )
    } else {
        (Colour::Orange, "not back yet".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drill::ledger::Recording;
    use crate::drill::setup::tests::usual;
    use crate::drill::statistics::tests::{protected, stormy};

    #[test]
    fn words_follow_the_figures() {
        let setup = usual();
        let words = |recording: &Recording, ms| {
            let elapsed = Duration::from_millis(ms);
            condition(
                &Measured::so_far(recording, &setup, elapsed),
                &setup,
                elapsed,
            )
            .1
        };
        assert_eq!(words(&stormy(), 1_000), "healthy");
        assert_eq!(words(&stormy(), 3_000), "service hangs");
        assert_eq!(words(&stormy(), 3_500), "not back yet");
        assert_eq!(words(&stormy(), 6_050), "STORM for 3.0 s");
        assert_eq!(words(&stormy(), 99_000), "STORM for 7.0 s");
        assert_eq!(words(&protected(), 4_000), "not back yet");
        assert_eq!(words(&protected(), 6_000), "back in 1.9 s");
    }
}
