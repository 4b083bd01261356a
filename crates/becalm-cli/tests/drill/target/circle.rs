//! Does the circle close? The log of a service says what it can do, the simulator what its retries do then, and the
//! drill of the same service finds both. By hand: `scripts/prove circle`.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::front::{Behind, FORMAT, Front};
use super::{held, sharp};

/// How long a client waits, which no log without aborts shows: it is asked for.
const PATIENCE: &str = "250ms";

/// How full the service is while it writes its log.
const LOGGED: f64 = 0.65;

/// How often the log is written at most, until it is that of a service that stayed the same.
const WRITTEN: u32 = 3;

/// How full it is when it is to come back with a budget.
const FULL: f64 = 0.76;

/// Loads around the edge, as shares of what the simulator says.
const AROUND: [f64; 8] = [0.7, 0.8, 0.88, 0.95, 1.02, 1.1, 1.2, 1.35];

/// How far the edge may lie from what the simulator says, and the time to come back.
const EDGE: f64 = 0.15;
const TIME: (f64, f64) = (0.3, 1.0);

/// The drill's load that writes a log: nothing is broken.
fn written(folder: &Path, front: &Front, load: f64) {
    let load = format!("{load:.1}");
    let flags = [
        "--before",
        "20s",
        "--trigger",
        "10ms",
        "--after",
        "3s",
        "--fault",
        "load:1.01",
        "--compare",
        "attempts=1",
    ];
    let more = [
        "--load",
        &load,
        "--client-timeout",
        PATIENCE,
        "--max-rate",
        "2000",
        "--seed",
        "7",
    ];
    held(folder, &front.url, &[&flags[..], &more].concat());
}

/// The scenario that becalm fits to the log, with what only people know. None where becalm says that the service did not stay the same:
/// a log that was written while the machine stood still describes a service that no drill meets afterwards.
fn fitted(folder: &Path, log: &Path, behind: Behind) -> Option<String> {
    let scenario = folder.join("fitted.toml");
    let output = Command::new(env!("CARGO_BIN_EXE_becalm"))
        .arg("fit")
        .arg(log)
        .args(["--log-format", FORMAT, "--one-pool", "--json", "--out"])
        .arg(&scenario)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let fit = &document["fits"][0];
    let warnings: Vec<_> = fit["warnings"].as_array().unwrap().iter().collect();
    if fit["knee"] != "seen" || !warnings.is_empty() {
        println!("  knee {}, {warnings:?}", fit["knee"]);
        return None;
    }
    let text = fs::read_to_string(&scenario).unwrap();
    let known = text.lines().map(|line| match line.split(" = ").next() {
        Some("timeout") => format!("timeout = \"{PATIENCE}\""),
        Some("queue") => format!("queue = {}", behind.queue()),
        // The clients of a drill share one budget.
        Some("clients") => "clients = 1".into(),
        _ => line.to_owned(),
    });
    let known = known.collect::<Vec<_>>().join("\n");
    fs::write(&scenario, &known).unwrap();
    for line in known
        .lines()
        .filter(|it| it.starts_with("workers") || it.starts_with("arrivals"))
    {
        println!("  {line}");
    }
    Some(scenario.to_str().unwrap().into())
}

/// The largest load that survives a hang of two seconds, as the simulator says.
fn foretold(scenario: &str) -> f64 {
    let output = Command::new(env!("CARGO_BIN_EXE_becalm"))
        .args([
            "storm",
            scenario,
            "--compare",
            "budget=none",
            "--json",
            "--seed",
            "7",
        ])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let figures = document["contenders"][0]["figures"].as_array().unwrap();
    let figure = figures
        .iter()
        .find(|it| it["id"] == "largest_load")
        .unwrap();
    figure["value"].as_f64().unwrap()
}

fn closes(behind: Behind) {
    let Some(front) = Front::start(behind) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    println!("{behind:?}");
    let climb = [
        "--capacity",
        "--max-rate",
        "2000",
        "--client-timeout",
        PATIENCE,
    ];
    let capacity = held(folder.path(), &front.url, &climb)["capacity_per_s"]
        .as_f64()
        .unwrap();
    println!("  capacity measured: {capacity:.0}/s");
    let scenario = (0..WRITTEN)
        .find_map(|_| {
            fs::write(&front.log, "").unwrap();
            written(folder.path(), &front, LOGGED * capacity);
            let log = folder.path().join("written.log");
            fs::copy(&front.log, &log).unwrap();
            fitted(folder.path(), &log, behind)
        })
        .expect("a log of a service that stayed the same");
    let foretold = foretold(&scenario);
    println!("  largest load that survives, simulated: {foretold:.1}/s");

    let id = front.id.to_string();
    let broken = [
        "--client-timeout",
        PATIENCE,
        "--pid",
        &id,
        "--fault",
        "stop:children",
        "--max-rate",
        "2000",
    ];
    let mut came_back = Vec::new();
    for (share, seed) in AROUND
        .into_iter()
        .zip(["1", "2", "3", "4", "5", "6", "7", "8"])
    {
        let load = share * foretold;
        let text = format!("{load:.1}");
        let flags = ["--load", &text, "--compare", "budget=none", "--seed", seed];
        let document = sharp(folder.path(), &front.url, &[&broken[..], &flags].concat());
        let variant = &document["variants"][0];
        println!(
            "  {load:.0}/s: {} {}",
            variant["verdict"], variant["recovered_after_ms"]
        );
        came_back.push((load, variant["verdict"] == "back"));
    }
    let survived = came_back.iter().take_while(|(_, is_back)| *is_back).last();
    let down = came_back.iter().find(|(_, is_back)| !is_back);
    let (survived, down) = (
        survived.expect("the least is survived").0,
        down.expect("the most is not").0,
    );
    let edge = f64::midpoint(survived, down);
    println!(
        "  the edge: {survived:.0}/s to {down:.0}/s, {:+.0}%",
        (edge / foretold - 1.0) * 100.0
    );

    let load = format!("{:.1}", FULL * capacity);
    let flags = ["--load", &load, "--simulate", &scenario, "--seed", "7"];
    let document = sharp(folder.path(), &front.url, &[&broken[..], &flags].concat());
    let with = &document["variants"][1];
    println!("  {}", document["conclusion"]);
    let [measured, simulated] =
        [with, &with["simulated"]].map(|it| it["recovered_after_ms"].as_f64().unwrap() / 1e3);
    println!("  with the budget at {load}/s: back in {measured:.1} s, simulated {simulated:.1} s");
    assert!((edge / foretold - 1.0).abs() <= EDGE);
    assert!((measured - simulated).abs() <= TIME.0 * simulated + TIME.1);
}

#[test]
#[ignore = "five minutes each, by hand: scripts/prove circle"]
fn circle_of_gunicorn_in_full() {
    closes(Behind::Gunicorn);
}

#[test]
#[ignore = "five minutes each, by hand: scripts/prove circle"]
fn circle_of_php_fpm_in_full() {
    closes(Behind::PhpFpm);
}

#[test]
#[ignore = "five minutes each, by hand: scripts/prove circle"]
fn circle_of_uvicorn_in_full() {
    closes(Behind::Uvicorn);
}
