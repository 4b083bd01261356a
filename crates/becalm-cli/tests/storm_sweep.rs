//! Do `becalm storm --sweep` and `becalm storm tune` work for every kind of scenario, say why not
//! where they do not, and write the same bytes on any number of threads?

mod storm_support;

use std::fs;

use serde_json::Value;
use storm_support::told;
use tempfile::TempDir;

/// A service of 50 requests per second with 20 per second, which hangs for 2 s.
const SERVICE: &str = r#"
name = "orders"
horizon = "30s"

[[service]]
name = "orders"
time = "exponential:20ms"
queue = 50

[[population]]
name = "users"
target = "orders"
arrivals = ARRIVALS
timeout = "200ms"

[[trigger]]
from = "10s"
length = "2s"
effect = "hang"
service = "orders"
"#;

fn own(arrivals: &str) -> (TempDir, String) {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("orders.toml");
    fs::write(&path, SERVICE.replace("ARRIVALS", arrivals)).expect("the file is written");
    let path = path.to_str().expect("UTF-8").to_owned();
    (folder, path)
}

fn document(arguments: &[&str]) -> Value {
    serde_json::from_str(&told(arguments)).expect("JSON")
}

fn figure(contender: &Value, id: &str) -> Option<f64> {
    let figures = contender["figures"].as_array().expect("an array");
    let found = figures.iter().find(|it| it["id"] == id);
    found.and_then(|it| it["value"].as_f64())
}

#[test]
fn a_herd_is_swept_by_policy_and_by_parameter() {
    let small = [
        "herd",
        "--clients",
        "300",
        "--outage",
        "10s",
        "--horizon",
        "2m",
    ];
    let arguments = [
        &small[..],
        &["--sweep", "base=100ms|2s,cap=5s|20s", "--json"],
    ]
    .concat();
    let swept = document(&arguments);
    let contenders = swept["contenders"].as_array().expect("an array");
    assert_eq!(contenders.len(), 4);
    for contender in contenders {
        assert_eq!(contender["verdict"], Value::Null);
        for id in [
            "peak",
            "reconnect_p50_s",
            "reconnect_p99_s",
            "reconnect_last_s",
        ] {
            assert!(figure(contender, id).is_some(), "{id}");
        }
    }
    let charts = swept["charts"].as_array().expect("an array");
    assert!(
        charts
            .iter()
            .any(|it| it["kind"] == "map" && it["id"] == "sweep_map_peak")
    );
    let text = told(&[&small[..], &["--sweep", "clients=100|300"]].concat());
    assert!(
        text.contains("clients=300") && !text.contains("verdict"),
        "{text}"
    );
}

#[test]
fn a_file_is_swept_by_its_load_and_its_outage() {
    let (_folder, path) = own("\"poisson:20\"");
    let sweep = "load=0.5|1,outage=1s|3s";
    let swept = document(&[
        &path, "--sweep", sweep, "--budget", "none", "--runs", "2", "--json",
    ]);
    let contenders = swept["contenders"].as_array().expect("an array");
    let verdicts: Vec<_> = contenders.iter().map(|it| it["verdict"].as_str()).collect();
    assert_eq!(verdicts.len(), 4);
    // Four attempts each: with 10 per second they come to 40 of 50, with 20 to 80.
    assert_ne!(verdicts[0], Some("metastable"), "{verdicts:?}");
    assert_eq!(verdicts[3], Some("metastable"), "{verdicts:?}");
    let goodput = |place: usize| figure(&contenders[place], "goodput_before").expect("a figure");
    let ratio = goodput(2) / goodput(0);
    assert!(
        (1.7..2.4).contains(&ratio),
        "{ratio} times the calls of the file"
    );
}

#[test]
fn a_closed_loop_has_a_number_of_clients_in_place_of_a_load() {
    let (_folder, path) = own("{ closed = \"exponential:1s\" }");
    let studied = document(&[&path, "--compare", "own", "--runs", "10", "--json"]);
    let own = &studied["contenders"][0];
    assert_eq!(figure(own, "largest_load"), None);
    assert!(figure(own, "most_clients").is_some(), "{own}");
}

#[test]
fn any_number_of_threads_writes_the_same() {
    let (_folder, path) = own("\"poisson:20\"");
    for arguments in [
        &[
            "herd",
            "--clients",
            "200",
            "--outage",
            "10s",
            "--sweep",
            "base=100ms|1s",
            "--json",
        ][..],
        &[
            "occ",
            "--clients",
            "10",
            "--runs",
            "3",
            "--sweep",
            "jitter=full|none",
            "--json",
        ],
        &[
            &path,
            "--sweep",
            "load=1|2,attempts=2|4",
            "--runs",
            "2",
            "--json",
        ],
        &["tune", &path, "--policies", "3", "--runs", "2", "--json"],
    ] {
        let on = |threads| told(&[arguments, &["--threads", threads]].concat());
        assert_eq!(on("1"), on("2"), "{arguments:?}");
    }
}
