//! How does one policy stand right now, in two or three words?

use std::time::Duration;

use becalm::Policy;
use becalm_report::Colour;

use crate::judged::{Judged, back, tenths};
use crate::ledger::Recording;
use crate::setup::Setup;

/// How long after the fault a storm has lasted, at least, when it is called one.
const LASTS: Duration = Duration::from_secs(1);

/// A few words on a policy that has come to `elapsed`, and the colour they are said in.
pub fn condition(
    recording: &Recording,
    setup: &Setup,
    policy: &Policy,
    elapsed: Duration,
) -> (Colour, String) {
    let seen = elapsed.min(setup.length());
    if elapsed <= setup.before {
        return (Colour::Muted, "healthy".into());
    }
    if elapsed <= setup.trigger_end() {
        return (Colour::Orange, setup.fault.to_string());
    }
    let since = seen.saturating_sub(setup.trigger_end());
    let judged = Judged::measured(recording, setup, policy, elapsed);
    if let Some(time) = judged.back_after() {
        (Colour::Green, back(time))
    } else if judged.is_storm() && since >= LASTS {
        (Colour::Red, format!("STORM for {}", tenths(since)))
    } else {
        (Colour::Orange, "not back yet".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::tests::usual;
    use crate::statistics::tests::{protected, stormy};

    #[test]
    fn words_follow_the_figures() {
        let setup = usual();
        let words = |recording: &Recording, ms| {
            let elapsed = Duration::from_millis(ms);
            condition(recording, &setup, &Policy::default(), elapsed).1
        };
        assert_eq!(words(&stormy(), 1_000), "healthy");
        assert_eq!(words(&stormy(), 3_000), "service hangs");
        assert_eq!(words(&stormy(), 3_500), "not back yet");
        assert_eq!(words(&stormy(), 6_000), "STORM for 3.0 s");
        assert_eq!(words(&stormy(), 99_000), "STORM for 7.0 s");
        assert_eq!(words(&protected(), 4_000), "not back yet");
        assert_eq!(words(&protected(), 7_000), "back in 0.9 s");
    }
}
