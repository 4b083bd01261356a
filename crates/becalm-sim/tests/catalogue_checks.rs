//! Does the simulator agree with the right answer of every world of the catalogue?

use becalm_sim::catalogue::{self, ENTRIES};
use becalm_sim::study::{Comparison, Plan};

/// Makes the quick check of an entry under the default seed.
fn agrees(name: &str) {
    let entry = catalogue::find(name).expect("an entry of the catalogue");
    let comparisons = (entry.check)(&Plan::default(), true);
    assert!(!comparisons.is_empty(), "{name} compares nothing");
    let wrong: Vec<&Comparison> = comparisons.iter().filter(|it| !it.holds()).collect();
    assert!(wrong.is_empty(), "{name}: {wrong:#?}");
}

macro_rules! agrees {
    ($($test:ident: $name:literal,)*) => {
        $(
            #[test]
            fn $test() {
                agrees($name);
            }
        )*

        #[test]
        fn every_world_of_the_catalogue_is_checked() {
            let checked = [$($name),*];
            for entry in ENTRIES.iter().filter(|entry| entry.scenario().is_some()) {
                assert!(checked.contains(&entry.name), "{}", entry.name);
            }
        }
    };
}

agrees! {
    flaky: "flaky",
    blip: "blip",
    layers: "layers",
    cascade: "cascade",
    metastable: "metastable",
    trigger: "trigger",
    queue: "queue",
    loops: "loops",
    throttle: "throttle",
    small_clients: "small-clients",
    deadline: "deadline",
    priority: "priority",
    cache: "cache",
    tiers: "tiers",
}
