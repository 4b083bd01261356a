//! What is there to tell of a policy?

use becalm::{Policy, lint::Lint, preset::Preset};
use becalm_sim::forecast::{Forecast, Longest, Protection, Reserve};

/// Everything that the text and the document tell.
pub struct Plan {
    pub policy: Policy,
    pub preset: Option<&'static Preset>,
    pub forecast: Forecast,
    pub longest: Longest,
    pub protection: Protection,
    pub reserve: Option<Reserve>,
    pub lints: Vec<Lint>,
}
