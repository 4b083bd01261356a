//! Is every figure and every chart of a study defined in the documentation, by its name and unit?

mod storm_support;

use std::collections::BTreeSet;

use becalm_sim::catalogue::ENTRIES;
use becalm_sim::study::WITHOUT_INTERVAL;
use serde_json::Value;
use storm_support::told;

const PAGE: &str = include_str!("../../../docs/figures.md");

/// The cells of each row of the page's tables that begins with a name.
fn rows() -> Vec<Vec<&'static str>> {
    let rows = PAGE.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect())
        .collect()
}

/// A service with a trigger, so that each figure has its place; and all its charts.
fn study() -> Value {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("orders.toml");
    let text = r#"
        horizon = "12s"
        [[service]]
        name = "orders"
        workers = 2
        queue = 50
        [[population]]
        name = "users"
        target = "orders"
        arrivals = "poisson:40"
        timeout = "200ms"
        [[trigger]]
        from = "3s"
        length = "1s"
        effect = "hang"
        service = "orders"
    "#;
    std::fs::write(&path, text).expect("the file is written");
    let path = path.to_str().expect("UTF-8");
    let printed = told(&[path, "--runs", "1", "--json"]);
    serde_json::from_str(&printed).expect("JSON")
}

#[test]
fn s1_each_figure_of_a_service_is_defined() {
    let asked = ["tiers", "--load", "10", "--horizon", "20s", "--runs", "1"];
    let printed = told(&[&asked[..], &["--quick", "--json"]].concat());
    let study: Value = serde_json::from_str(&printed).expect("JSON");
    let (_, page) = PAGE.split_once("## Of each service").expect("a section");
    let services = study["contenders"][0]["services"].as_array();
    let mut defined = 0;
    for service in services.expect("services") {
        for figure in service["figures"].as_array().expect("figures") {
            let text = |key: &str| figure[key].as_str().expect("a text");
            let row = format!("| `{}` | {} | {}", text("id"), text("title"), text("unit"));
            assert!(page.contains(row.trim_end()), "docs/figures.md: {row}");
            defined += 1;
        }
    }
    assert!(defined >= 15, "{defined}");
    for chart in study["services"].as_array().expect("charts") {
        let id = chart["id"].as_str().expect("a name");
        let (kind, _) = id.split_once('-').expect("a number");
        let row = format!("| `{kind}-1`");
        assert!(
            PAGE.contains(&row),
            "docs/figures.md does not say what {id} shows"
        );
    }
}

fn ids(of: &Value) -> BTreeSet<String> {
    let all = of.as_array().expect("an array").iter();
    all.map(|it| it["id"].as_str().expect("a name").to_owned())
        .collect()
}

#[test]
fn each_is_defined() {
    let study = study();
    let contender = &study["contenders"][0];
    for figure in contender["figures"].as_array().expect("figures") {
        let text = |key: &str| figure[key].as_str().expect("a text");
        let id = format!("`{}`", text("id"));
        let rows = rows();
        let row = rows.iter().find(|row| row[0] == id);
        let row = row.unwrap_or_else(|| panic!("docs/figures.md has no row for {id}"));
        assert_eq!(row[1], text("title"), "{id}");
        assert_eq!(row[2], text("unit"), "{id}");
        assert!(row[3].len() > 5, "{id} is not defined");
    }
    let charts = ids(&study["charts"]);
    for id in charts.union(&ids(&contender["charts"])) {
        let id = format!("`{id}`");
        let is_there = rows().iter().any(|row| row[0] == id);
        assert!(is_there, "docs/figures.md does not say what {id} shows");
    }
    assert!(charts.len() > 3, "{charts:?}");
}

/// The one is far below the other, and both are about load: each says what it is about.
#[test]
fn s7_the_hidden_capacity_is_told_apart_from_the_largest_load() {
    let study = study();
    let figures = study["contenders"][0]["figures"].as_array();
    let figures = figures.expect("figures");
    for (id, title) in [
        (
            "hidden_capacity",
            "Hidden capacity: safe if all attempts fail",
        ),
        ("largest_load", "Largest load that survives this trigger"),
    ] {
        let figure = figures.iter().find(|it| it["id"] == id).expect("a figure");
        assert_eq!(figure["title"], title);
    }
    let rows = rows();
    let hidden = rows
        .iter()
        .find(|row| row[0] == "`hidden_capacity`")
        .expect("a row");
    for part in ["The largest load below", "may be many times as much"] {
        assert!(hidden[3].contains(part), "{part}: {}", hidden[3]);
    }
}

/// A service from whose hang some runs come back and some do not.
const MIXED: &str = r#"
    horizon = "20s"
    [[service]]
    name = "orders"
    workers = 2
    time = "exponential:20ms"
    queue = 60
    [[population]]
    name = "users"
    target = "orders"
    arrivals = "poisson:45"
    timeout = "300ms"
    policy = { attempts = 3, budget = "none", base = "100ms" }
    [[trigger]]
    from = "5s"
    length = "1s"
    effect = "hang"
    service = "orders"
"#;

/// Every scenario of the catalogue, small and short.
const SMALL: [&str; 20] = [
    "occ --clients 20 --runs 3",
    "herd --clients 200 --horizon 2m --runs 3",
    "clipped --clients 200 --runs 2",
    "appointments --clients 500 --capacity 50 --runs 2",
    "moments --calls 1000",
    "flaky --load 20 --horizon 10s --quick --runs 2",
    "blip --load 50 --quick --runs 2",
    "layers --load 2 --horizon 40s --quick --runs 2",
    "cascade --load 50 --capacity 60 --horizon 60s --quick --runs 2",
    "metastable --load 70 --workers 1 --queue 100 --horizon 30s --quick --runs 2",
    "trigger --load 60 --workers 1 --horizon 30s --quick --runs 2",
    "queue --load 90 --workers 1 --horizon 30s --quick --runs 2",
    "loops --clients 10 --horizon 20s --quick --runs 2",
    "throttle --load 50 --accepts 5 --horizon 60s --quick --runs 2",
    "small-clients --load 10 --clients 100 --horizon 30s --quick --runs 2",
    "fleet --processes 20 --load 400 --horizon 45s --quick --runs 2",
    "deadline --load 20 --workers 20 --horizon 150s --quick --runs 2",
    "priority --critical 10 --load 10 --accepts 30 --quick --runs 2",
    "cache --load 50 --keys 50 --horizon 30s --quick --runs 2",
    "tiers --load 10 --horizon 30s --quick --runs 2",
];

/// The list of the page is that of the simulator.
#[test]
fn s3_figures_without_an_interval_are_listed_with_the_reason() {
    let (_, section) = PAGE
        .split_once("## Figures without an interval")
        .expect("a section");
    let (section, _) = section.split_once("\n## ").expect("another section");
    let rows = section
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(str::to_owned);
    let listed = WITHOUT_INTERVAL
        .iter()
        .map(|(id, why)| format!("| `{id}` | {why} |"));
    assert_eq!(rows.collect::<Vec<_>>(), listed.collect::<Vec<_>>());
}

/// Fails for a figure that has a value, and neither an interval nor a reason; counts the others.
fn check_intervals(of: &Value, path: &str, seen: &mut BTreeSet<String>) {
    let number = |key: &str| of[key].as_f64();
    match of {
        Value::Object(keys) if keys.contains_key("unit") && keys.contains_key("value") => {
            let id = of["id"].as_str().expect("a name");
            if number("value").is_none() {
                return;
            }
            let (Some(low), Some(high)) = (number("low"), number("high")) else {
                let is_listed = WITHOUT_INTERVAL.iter().any(|(listed, _)| *listed == id);
                assert!(
                    is_listed,
                    "{path}: {id} has no interval and is in no list: {of}"
                );
                return;
            };
            let value = number("value").unwrap();
            // Of runs that are all alike the three are one number, to the last digit or so.
            let room = 1e-9 * value.abs().max(1.0);
            assert!(low <= value + room && value <= high + room, "{path}: {of}");
            seen.insert(id.to_owned());
        }
        // What is drawn is no figure.
        Value::Object(keys) => {
            for (key, value) in keys.iter().filter(|(key, _)| *key != "charts") {
                check_intervals(value, &format!("{path}.{key}"), seen);
            }
        }
        Value::Array(all) if path.ends_with(".phases") => {
            for phase in all {
                check_phase(phase, path);
            }
        }
        Value::Array(all) => {
            for (at, value) in all.iter().enumerate() {
                check_intervals(value, &format!("{path}[{at}]"), seen);
            }
        }
        Value::Number(_) => {
            let counts = ["$.schema", "$.seed", "$.runs", "$.events"];
            assert!(counts.contains(&path), "{path}: a number that is no figure");
        }
        _ => (),
    }
}

/// Each number of a phase of a service has its interval by its name, or that of its place.
fn check_phase(phase: &Value, path: &str) {
    let has = |key: &str| phase["intervals"][key]["low"].is_number();
    for (key, value) in phase.as_object().expect("a phase") {
        let is_told = !value.is_number() || has(key);
        assert!(is_told, "{path}: {key} of {phase}");
    }
    for attempts in phase["attempts"].as_array().expect("places") {
        let place = attempts["place"].as_str().expect("a name");
        assert!(has(place), "{path}: {place} of {phase}");
    }
}

#[test]
fn s3_each_figure_has_its_interval_or_stands_in_the_list() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("orders.toml");
    std::fs::write(&path, MIXED).expect("the file is written");
    let file = path.to_str().expect("UTF-8");
    let mut asked: Vec<Vec<&str>> = vec![
        vec![file, "--runs", "6", "--compare", "own,default"],
        vec![file, "--runs", "4", "--sweep", "load=0.5|1"],
        vec!["tune", file, "--runs", "2", "--policies", "4"],
        vec![
            "tiers",
            "--load",
            "10",
            "--horizon",
            "20s",
            "--runs",
            "3",
            "--quick",
        ],
    ];
    asked.extend(SMALL.iter().map(|line| line.split(' ').collect()));
    let named: BTreeSet<&str> = asked.iter().map(|it| it[0]).collect();
    for entry in ENTRIES {
        assert!(named.contains(entry.name), "{} is not asked", entry.name);
    }
    let mut seen = BTreeSet::new();
    for words in asked {
        let study: Value =
            serde_json::from_str(&told(&[&words[..], &["--json"]].concat())).expect("JSON");
        let mut of_study = study.clone();
        // Pictures of each service.
        of_study
            .as_object_mut()
            .expect("an object")
            .remove("services");
        check_intervals(&of_study, "$", &mut seen);
    }
    for id in [
        "recovered_share",
        "recovery_p50_s",
        "first_answer_p50_s",
        "lost_share",
        "latency_p99_ms",
        "queue_most",
    ] {
        assert!(
            seen.contains(id),
            "{id} was not seen with an interval: {seen:?}"
        );
    }
    assert!(seen.len() > 50, "{seen:?}");
}
