//! Does the same seed give the same bytes, in every build, on every platform and any number of
//! threads?
//!
//! One small study of each scenario of the catalogue, and one run of its world, are reduced to a
//! number that is written down in `fingerprint/golden.rs`. The release build asserts the same
//! numbers: `bench` includes this file among its tests, since it builds the simulator optimised
//! anyway.

mod fingerprint;

use becalm::{Jitter, Policy};
use becalm_sim::catalogue::{self, Candidate, Parameters};
use becalm_sim::study::{Plan, Study};
use becalm_sim::world;
use fingerprint::{Fingerprint, golden, sizes};

/// Small sizes of an entry, and two policies: its own, and one that draws otherwise.
fn studied(name: &str, threads: usize) -> (Parameters, Policy, Study) {
    let entry = catalogue::find(name).expect("an entry of the catalogue");
    let mut parameters = Parameters::of(entry.parameters);
    for (parameter, value) in sizes::of(name) {
        parameters.set(parameter, value).expect("a parameter");
    }
    let own = (entry.policy)();
    let equal = own.clone().jitter(Jitter::Equal).attempts(3);
    let candidates =
        [("own", own.clone()), ("equal", equal)].map(|(name, policy)| Candidate::new(name, policy));
    let mut plan = Plan::default();
    plan.runs = Some(2);
    plan.threads = threads;
    let study = entry
        .study(&parameters, &candidates, &plan)
        .expect("valid parameters");
    (parameters, own, study)
}

/// Compares with what is written down.
fn agrees(name: &str) {
    let (parameters, own, study) = studied(name, 2);
    let mut got = Fingerprint::new();
    got.study(&study);
    let entry = catalogue::find(name).expect("an entry of the catalogue");
    if let Some(build) = entry.scenario() {
        got.recording(&world::run(&build(&parameters, &own), 1));
    }
    let (got, golden) = (got.value(), golden::of(name));
    assert_eq!(
        got, golden,
        "{name}: the fingerprint is {got:#018x}, not {golden:#018x}. If a decision, the simulator \
         or the scenario was meant to change, write the new number into \
         crates/becalm-sim/tests/fingerprint/golden.rs. Otherwise the same seed gives other bytes \
         in this build or on this platform: look for what depends on them."
    );
}

/// All of it: the sentences, too.
fn is_the_same_on_two_threads(name: &str) {
    // As text: a cell of a map that has no value is not a number, which equals nothing.
    let [one, two] = [1, 2].map(|threads| format!("{:?}", studied(name, threads).2));
    assert_eq!(one, two, "{name}");
}

macro_rules! agrees {
    ($($test:ident: $name:literal,)*) => {
        mod golden_fingerprint {
            $(
                #[test]
                fn $test() {
                    super::agrees($name);
                }
            )*
        }

        mod threads {
            $(
                #[test]
                fn $test() {
                    super::is_the_same_on_two_threads($name);
                }
            )*
        }

        #[test]
        fn every_scenario_of_the_catalogue_has_a_fingerprint() {
            let names = [$($name),*];
            assert!(catalogue::ENTRIES.iter().map(|entry| entry.name).eq(names));
        }
    };
}

agrees! {
    occ: "occ",
    herd: "herd",
    clipped: "clipped",
    appointments: "appointments",
    moments: "moments",
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
    fleet: "fleet",
    deadline: "deadline",
    priority: "priority",
    cache: "cache",
    tiers: "tiers",
}
