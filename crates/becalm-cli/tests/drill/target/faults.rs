//! Which faults become a storm of gunicorn's? Nine of them, ten times each, by hand: `scripts/prove drill-target`.

use std::net::TcpListener;

use serde_json::Value;

use super::gunicorn::Gunicorn;
use super::server::Server;
use super::{held, sharp};

/// How often each is tried; `BECALM_RUNS` says otherwise.
const RUNS: u32 = 10;

/// How full gunicorn is, by what it serves on this machine: far above the loads that come back, and far enough below what it serves
/// that a hiccup of the machine becomes no storm where the fault makes none.
const FULL: f64 = 0.66;

/// A fault in the syntax of its flag, and whether retries without a budget make it a storm.
const FAULTS: [(&str, bool); 9] = [
    ("hold", true),
    ("hold:forward", true),
    ("delay:400ms", true),
    ("stop:children", true),
    ("load:2", true),
    ("dependency", true),
    ("reset", false),
    ("status:503", false),
    ("loss:0.3", false),
];

/// The load of a drill, a second.
fn load(fault: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let depends = Server::start(|_| "200 OK".into());
    let is_behind = fault == "dependency";
    let gunicorn = Gunicorn::start(4, "0.010", is_behind.then_some(&*depends.url))?;
    let climb = ["--capacity", "--max-rate", "2000"];
    let measured = held(folder.path(), &gunicorn.url, &climb);
    let capacity = measured["capacity_per_s"].as_f64().unwrap();
    // A call through a proxy costs Python some of its capacity.
    let share = if is_behind { FULL - 0.1 } else { FULL };
    println!("{fault}: it serves {capacity:.0}/s");
    Some(format!("{:.1}", share * capacity))
}

/// What came of one drill.
fn outcome(fault: &str, load: &str) -> Option<Value> {
    let folder = tempfile::tempdir().unwrap();
    let depends = Server::start(|_| "200 OK".into());
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let through = format!("http://{free}");
    let is_behind = fault == "dependency";
    let gunicorn = Gunicorn::start(4, "0.010", is_behind.then_some(&*through))?;
    let id = gunicorn.id().to_string();
    let dependency = format!("{free}={}", depends.url);
    let mut flags = vec!["--client-timeout", "250ms", "--max-rate", "600"];
    flags.extend(["--load", load]);
    flags.extend(match fault {
        "dependency" => ["--dependency", &*dependency, "--fault", "hold"].to_vec(),
        "stop:children" => ["--pid", &*id, "--fault", fault].to_vec(),
        _ => ["--fault", fault].to_vec(),
    });
    Some(sharp(folder.path(), &gunicorn.url, &flags))
}

#[test]
#[ignore = "half an hour to an hour, by hand: scripts/prove drill-target"]
fn drill_target_in_full() {
    let runs = std::env::var("BECALM_RUNS")
        .ok()
        .and_then(|it| it.parse().ok());
    let only = std::env::var("BECALM_FAULT").ok();
    let mut wrong = 0;
    for (fault, is_storm) in FAULTS {
        if only.as_ref().is_some_and(|only| only != fault) {
            continue;
        }
        let Some(load) = load(fault) else { return };
        let mut said = Vec::new();
        for _ in 0..runs.unwrap_or(RUNS) {
            let Some(document) = outcome(fault, &load) else {
                return;
            };
            let of = |index: usize| {
                let variant = &document["variants"][index];
                let back = variant["recovered_after_ms"].as_f64();
                back.map_or(variant["verdict"].as_str().unwrap_or("-").into(), |ms| {
                    format!("{:.1} s", ms / 1e3)
                })
            };
            let finding = document["finding"].as_str().unwrap();
            wrong += u32::from(
                (finding == "storm") != is_storm || document["variants"][1]["verdict"] != "back",
            );
            said.push(format!("{finding} ({} / {})", of(0), of(1)));
        }
        println!("{fault}: {}", said.join(", "));
    }
    assert_eq!(wrong, 0);
}
