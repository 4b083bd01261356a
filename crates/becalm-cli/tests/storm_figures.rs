//! Is every figure and every chart of a study defined in the documentation, by its name and unit?

mod storm_support;

use std::collections::BTreeSet;

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
