//! When does a drill break nothing, or say nothing of the target?

use std::fs;

use serde_json::Value;

use super::server::Server;
use super::{SHORT, held, target, text};

#[test]
fn what_may_not_or_cannot_be_broken_is_refused_before_a_call() {
    let folder = tempfile::tempdir().unwrap();
    let request = folder.path().join("post.toml");
    fs::write(&request, "method = \"POST\"\n").unwrap();
    let request = request.to_str().unwrap();
    let scenario = folder.path().join("orders.toml");
    fs::write(
        &scenario,
        "name = \"a\"\nhorizon = \"1s\"\n[[service]]\nname = \"a\"\n[[population]]\nname = \"b\"\ntarget = \"a\"\n\
         arrivals = \"poisson:40\"\n",
    )
    .unwrap();
    let scenario = scenario.to_str().unwrap();
    let server = Server::start(|_| "200 OK".into());
    let refused = |url: &str, flags: &[&str], words: &str| {
        let output = target(folder.path(), url, flags).output().unwrap();
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {told}");
        assert!(told.contains(words), "{flags:?}: {told}");
        assert_eq!(text(&output.stdout), "", "{flags:?}");
    };
    refused("http://192.0.2.7/", &SHORT, "--i-own 192.0.2.7");
    refused("https://127.0.0.1/", &SHORT, "TLS");
    refused("127.0.0.1:80", &SHORT, "http://HOST:PORT");
    for (flags, words) in [
        (&["--load", "501"][..], "--max-rate"),
        (&["--load", "400", "--fault", "load:2"], "--max-rate"),
        (&["--load", "0"], "--load"),
        (&[], "--load"),
        (&["--load", "9", "--after", "1s"], "--after"),
        (&["--load", "9", "--after", "3m"], "--max-time"),
        (&["--load", "9", "--request", request], "Idempotency-Key"),
        (&["--load", "9", "--fault", "fire"], "--fault"),
        (&["--load", "9", "--fault", "stop"], "--pid"),
        (&["--load", "9", "--dependency", ":1"], "--dependency"),
        (
            &["--load", "9", "--dependency", ":1=192.0.2.7:1"],
            "--i-own",
        ),
        (
            &["--load", "9", "--dependency", ":9=127.0.0.1:9"],
            "to itself",
        ),
        (&["--load", "9", "--compare", "ful"], "did you mean"),
        (&["--load", "9", "--simulate", "no.toml"], "no.toml"),
        (
            &[
                "--load",
                "9",
                "--simulate",
                scenario,
                "--fault",
                "reset",
                "--dependency",
                ":0=127.0.0.1:9",
            ],
            "does not know what reset of what it calls",
        ),
        (&["--arrivals", "no.csv"], "no.csv"),
        (&["--capacity", "--load", "9"], "--capacity"),
        (&["--capacity", "--fault", "reset"], "breaks nothing"),
    ] {
        refused(&server.url, flags, words);
    }
    assert!(server.asked().is_empty());
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        2,
        "nothing is left behind"
    );
}

#[test]
fn a_target_that_redirects_or_is_unwell_is_asked_for_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for (answer, words) in [
        (
            "302 Found\r\nLocation: http://192.0.2.7/",
            "redirects elsewhere",
        ),
        ("302 Found\r\nLocation: /login", "redirects to"),
        ("404 Not Found", "404"),
    ] {
        let server = Server::start(move |_| answer.into());
        for flags in [&["--load", "40"][..], &["--capacity"]] {
            let output = target(folder.path(), &server.url, flags)
                .args(["--settle", "1s"])
                .output()
                .unwrap();
            let told = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{told}");
            assert!(
                told.contains(words) && told.contains("before any load"),
                "{told}"
            );
        }
        assert!(server.asked().len() < 100, "single requests");
    }
}

#[test]
fn a_target_that_takes_its_time_is_well_and_the_time_before_the_fault_is_to_be_long_enough() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(|_| {
        std::thread::sleep(std::time::Duration::from_millis(1_500));
        "200 OK".into()
    });
    let flags = |before| {
        let mut flags = [
            &SHORT[..],
            &["--client-timeout", "20s", "--compare", "attempts=2"],
        ]
        .concat();
        flags[1] = before;
        flags
    };
    let output = target(folder.path(), &server.url, &flags("3s"))
        .output()
        .unwrap();
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(
        told.contains("--before 3s") && told.contains("at least 6s"),
        "{told}"
    );
    assert!(server.asked().len() < 20, "single requests");

    let document = held(folder.path(), &server.url, &flags("6s"));
    let variant = &document["variants"][0];
    assert_eq!(variant["good_before"], 1.0, "{}", document["conclusion"]);
}

/// A client waits as long as its policy says, and so does what asks whether the target is well.
#[test]
fn the_attempt_timeout_of_a_policy_is_the_time_that_an_answer_may_take() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(|_| {
        std::thread::sleep(std::time::Duration::from_millis(150));
        "200 OK".into()
    });
    let flags = [
        &SHORT[..],
        &[
            "--client-timeout",
            "50ms",
            "--attempt-timeout",
            "10s",
            "--compare",
            "yours",
            "--fault",
            "load:1.1",
        ],
    ];
    let document = held(folder.path(), &server.url, &flags.concat());
    let variant = &document["variants"][0];
    assert_eq!(variant["good_before"], 1.0, "{}", document["conclusion"]);
}

#[test]
fn a_target_that_fails_under_load_is_not_broken() {
    fails_under_load("500 Internal Server Error");
}

/// As a gateway may that has too much to do.
#[test]
fn a_target_that_redirects_under_load_is_not_broken() {
    fails_under_load("302 Found\r\nLocation: /sorry");
}

fn fails_under_load(failure: &'static str) {
    let folder = tempfile::tempdir().unwrap();
    // What asks whether it is well is answered, and of the load every other call is not.
    let server = Server::start(move |number| {
        let fails = (10..150).contains(&number) && number % 2 == 0;
        if fails { failure } else { "200 OK" }.into()
    });
    let flags = [&SHORT[..], &["--compare", "attempts=1,default", "--strict"]].concat();
    let output = target(folder.path(), &server.url, &flags)
        .arg("--json")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["finding"], "unwell", "{}", document["conclusion"]);
    assert!(
        document["conclusion"]
            .as_str()
            .unwrap()
            .contains("before anything was broken")
    );
    let variants = document["variants"].as_array().unwrap();
    assert_eq!(variants.len(), 1, "it ends there");
    assert_eq!(variants[0]["verdict"], "unwell");
    assert!(variants[0]["good_before"].as_f64().unwrap() < 0.95);
    assert_eq!(document["proxy"]["held"], 0, "the fault never began");
}

/// As after a round that left a worker stuck, which nobody sees without load.
#[test]
fn what_a_round_left_behind_is_waited_for_and_the_next_one_is_held_again() {
    let folder = tempfile::tempdir().unwrap();
    let flags = [
        "--load",
        "40",
        "--before",
        "1s",
        "--trigger",
        "100ms",
        "--after",
        "3s",
        "--fault",
        "load:1.1",
        "--compare",
        "attempts=2,attempts=1",
        "--seed",
        "7",
    ];
    let well = Server::start(|_| "200 OK".into());
    let calls = |document: &Value, index: usize| {
        let calls = &document["variants"][index]["calls"];
        usize::try_from(calls.as_u64().unwrap()).unwrap()
    };
    let document = held(folder.path(), &well.url, &flags);
    let all = well.asked().len();
    assert_eq!(document["variants"][1]["verdict"], "back", "{document}");
    let first = calls(&document, 0);
    let asides = (all - 2 * first) / 3;

    let next = asides + first + asides;
    let left = Server::start(move |number| {
        let is_bad = (next..next + 20).contains(&number);
        if is_bad { "503 Busy" } else { "200 OK" }.into()
    });
    let document = held(folder.path(), &left.url, &flags);
    assert_eq!(document["variants"][1]["verdict"], "back", "{document}");
    assert!(left.asked().len() > all + 20, "one round more");
}

#[test]
fn a_drill_of_few_calls_breaks_nothing_and_says_nothing_of_the_target() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(|_| "200 OK".into());
    // One in three hours, and one in the time before the fault.
    for load in ["0.0001", "1"] {
        let flags = [
            &SHORT[..6],
            &[
                "--load", load, "--seed", "7", "--strict", "--json", "figures",
            ],
        ];
        let output = target(folder.path(), &server.url, &flags.concat())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        let figures = fs::read_to_string(folder.path().join("figures")).unwrap();
        let document: Value = serde_json::from_str(&figures).unwrap();
        let conclusion = document["conclusion"].as_str().unwrap();
        assert_eq!(document["finding"], "idle", "{conclusion}");
        assert_eq!(document["variants"][0]["verdict"], "idle");
        assert!(conclusion.contains("nothing was broken"), "{conclusion}");
    }
}
