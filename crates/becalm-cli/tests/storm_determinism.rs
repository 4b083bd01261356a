//! Does `becalm storm` write the same bytes on any number of threads, for every scenario?

mod storm_support;

// How small a scenario can be made is known where its numbers are.
#[path = "../../becalm-sim/tests/fingerprint/sizes.rs"]
mod sizes;

use std::fs;
use std::path::Path;

use storm_support::told;

/// The JSON document, and the report as a page: both of one command.
fn written(scenario: &str, threads: &str, report: &Path) -> (String, String) {
    let mut arguments = vec![scenario.to_owned()];
    for (parameter, value) in sizes::of(scenario) {
        arguments.extend([format!("--{parameter}"), (*value).to_owned()]);
    }
    let report_path = report.to_str().expect("UTF-8");
    let rest = ["--runs", "2", "--compare", "equal", "--seed", "5", "--json"];
    arguments.extend(rest.map(String::from));
    arguments.extend(["--threads", threads, "--report", report_path].map(String::from));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let document = told(&arguments);
    let page = fs::read_to_string(report).expect("the report is written");
    (document, page)
}

fn is_the_same(scenario: &str) {
    let scratch = tempfile::tempdir().expect("a new directory");
    // One path for all: the command that is told is part of the document.
    let report = scratch.path().join("report.html");
    let (document, page) = written(scenario, "1", &report);
    assert!(document.len() > 100 && page.len() > 1000, "{scenario}");
    let again = written(scenario, "2", &report);
    assert!(again.0 == document, "{scenario}: the JSON document differs");
    assert!(again.1 == page, "{scenario}: the page differs");
}

macro_rules! is_the_same {
    ($($test:ident: $name:literal,)*) => {
        $(
            #[test]
            fn $test() {
                is_the_same($name);
            }
        )*

        #[test]
        fn every_scenario_of_the_catalogue_is_written_twice() {
            let names = [$($name),*];
            assert!(becalm_sim::catalogue::ENTRIES.iter().map(|entry| entry.name).eq(names));
        }
    };
}

is_the_same! {
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
