//! How fast is a world, in storms of the catalogue?

use becalm::Budget;
use becalm_sim::catalogue::{self, Parameters};
use becalm_sim::scenario::Scenario;
use becalm_sim::world;

use super::millions_per_second;
use crate::measure::{Case, Group};
use crate::versions::with_version;

/// The entry of the catalogue and the row.
pub const STORMS: [(&str, &str); 3] = [
    ("metastable", "the storm `metastable`"),
    ("trigger", "the storm `trigger`"),
    ("cascade", "the storm `cascade`"),
];

/// A row for each storm.
pub fn cases() -> [Case; 3] {
    STORMS.map(|(entry, note)| {
        let mut scenario = None;
        let name = with_version("becalm-sim");
        Case::new(Group::Runs, name, note, move |effort| {
            let scenario = scenario.get_or_insert_with(|| storm(entry));
            (0..effort.batches)
                .map(|_| millions_per_second(|| world::run(scenario, 1).events))
                .fold(0.0, f64::max)
        })
    })
}

/// The entry's own parameters and policy, without a budget: then the storm stays.
fn storm(name: &str) -> Scenario {
    let entry = catalogue::find(name).expect("an entry of the catalogue");
    let parameters = Parameters::of(entry.parameters);
    let policy = (entry.policy)().budget(Budget::None);
    let scenario = entry.scenario().expect("an entry with a world");
    scenario(&parameters, &policy)
}
