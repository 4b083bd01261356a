//! What does becalm advise where its default is the wrong policy?

use super::{BECALM, Preset, ms, secs};
use crate::budget::Budget;
use crate::policy::Policy;
use crate::scope::Nested;

// Contention is no overload: nobody is down, and each round one of the rivals gets through. So the
// attempts are many, the waits short, and no budget of outages pays. A retry inside a retry stays
// one, since it repeats what the outer one does not: `docs/contention.md` has the figures.
presets! {
    "contention" of "becalm's own, for transactions of a few milliseconds that stand in each other's way":
        BECALM {
            attempts: 20, base: ms(20), cap: secs(1), budget: Budget::None, nested: Nested::Allow,
        };
}
