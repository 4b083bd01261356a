//! Is a service loaded too much for calls that wait for tokens?

use becalm::Policy;
use becalm::budget::WhenSpent;

use super::examined::Examined;
use super::load::bottleneck;
use super::numbers::{list, percent};

/// The share of the capacity up to which calls that wait for tokens keep no service down: see `docs/which-protection.md`.
const SAFE: f64 = 0.9;

/// What is to be said where calls wait for tokens above that load.
pub(super) fn too_patient(examined: &[Examined]) -> Option<String> {
    let these: Vec<&Examined> = examined.iter().filter(|it| waits(it)).collect();
    let loads = these.iter().filter_map(|it| bottleneck(&it.scenario));
    let most = loads
        .map(|it| it.utilisation())
        .max_by(f64::total_cmp)
        .filter(|most| *most > SAFE)?;
    let names: Vec<&str> = these.iter().map(|it| it.name.as_str()).collect();
    Some(format!(
        "Under {} calls wait for tokens (when_spent), and first tries alone take {} of the capacity: above {} a \
         service may come back later than without retries; add capacity, or let them stop.",
        list(&names),
        percent(most),
        percent(SAFE)
    ))
}

fn waits(examined: &Examined) -> bool {
    let waits = |policy: &Policy| policy.when_spent == WhenSpent::Wait;
    let scenario = &examined.scenario;
    let mut variants = scenario.populations.iter().flat_map(|it| &it.variants);
    let mut calls = scenario.services.iter().flat_map(|it| &it.calls);
    variants.any(|it| waits(&it.policy)) || calls.any(|it| waits(&it.policy))
}
