//! What happens in a scenario? Its events, one after the other.

use crate::record::Recording;
use crate::scenario::Scenario;

/// Runs a scenario once. Equal seeds leave equal recordings.
pub fn run(_scenario: &Scenario, _seed: u64) -> Recording {
    Recording::default()
}
