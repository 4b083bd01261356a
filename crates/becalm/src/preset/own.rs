//! What does becalm advise where its default is the wrong policy?

use super::{BECALM, Preset, ms, secs};
use crate::budget::Budget;
use crate::jitter::Jitter;
use crate::policy::Policy;
use crate::scope::Nested;

// Contention is no overload: nobody is down, and each round one of the rivals gets through. So the
// attempts are many, the waits short, and no budget of outages pays. A retry inside a retry stays
// one, since it repeats what the outer one does not: `docs/contention.md` has the figures.
//
// A command is slow, and runs seldom; what fails it lasts longer than a call may: the waits are 15 to
// 30 s in all. One run is one call, so it has no budget of its own:
// `docs/decisions/0015-commands-wait-longer.md` compares npm, cargo, apt, curl, Docker, Kubernetes.
presets! {
    "contention" of "becalm's own, for transactions of a few milliseconds that stand in each other's way":
        BECALM {
            attempts: 20, base: ms(40), multiplier: 4.0, cap: secs(2), budget: Budget::None, nested: Nested::Allow,
        };
    "command" of "becalm's own, for commands such as downloads, builds and backups; becalm run starts from it":
        BECALM {
            attempts: 5, base: secs(2), cap: secs(60), jitter: Jitter::Equal, budget: Budget::None,
        };
}
