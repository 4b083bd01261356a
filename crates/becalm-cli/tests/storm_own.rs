//! Does `becalm storm FILE.toml` study a scenario of one's own?

mod storm_support;

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use storm_support::{refused, storm, told};
use tempfile::TempDir;

/// A service of 100 requests per second with 60 per second, which hangs for 3 s.
const SERVICE: &str = r#"
name = "orders"
horizon = "40s"

[[service]]
name = "orders"
time = "exponential:10ms"
queue = 100

[[population]]
name = "users"
target = "orders"
arrivals = "poisson:60"
timeout = "200ms"
CLIENTS

[[trigger]]
from = "10s"
length = "3s"
effect = "hang"
service = "orders"
"#;

fn own(policy: &str) -> (TempDir, String) {
    let folder = tempfile::tempdir().expect("a directory");
    let path: PathBuf = folder.path().join("orders.toml");
    fs::write(&path, SERVICE.replace("CLIENTS", policy)).expect("the file is written");
    let path = path.to_str().expect("UTF-8").to_owned();
    (folder, path)
}

const UNPROTECTED: &str = "policy = { jitter = \"none\", base = \"10ms\", budget = \"none\" }";

fn verdict<'a>(document: &'a Value, name: &str) -> &'a Value {
    let contenders = document["contenders"].as_array().expect("an array");
    let found = contenders.iter().find(|it| it["name"] == name);
    &found.unwrap_or_else(|| panic!("{name}: {document}"))["verdict"]
}

#[test]
fn a_file_without_a_budget_stays_down_and_with_one_it_does_not() {
    let (_folder, path) = own(UNPROTECTED);
    let arguments = [
        &*path,
        "--compare",
        "own,own;budget=ratio:0.1,burst:10",
        "--runs",
        "3",
        "--quick",
        "--json",
    ];
    let document: Value = serde_json::from_str(&told(&arguments)).expect("JSON");
    assert_eq!(verdict(&document, "own"), "metastable");
    // Quickly: nothing is searched for, and no map is drawn.
    for contender in document["contenders"].as_array().expect("an array") {
        let figures = contender["figures"].as_array().expect("an array");
        let longest = figures.iter().find(|it| it["id"] == "longest_outage_s");
        assert_eq!(longest.expect("the figure")["value"], Value::Null);
        let charts = contender["charts"].as_array().expect("an array");
        let ids: Vec<_> = charts.iter().map(|chart| &chart["id"]).collect();
        assert_eq!(ids, ["latency"]);
    }
    assert_ne!(
        verdict(&document, "own;budget=ratio:0.1,burst:10"),
        "metastable"
    );
}

/// The api calls orders, which call a database of 100 requests per second: 40 come per second, and it
/// hangs for 3 s.
const TIERS: &str = r#"
horizon = "40s"

[[service]]
name = "api"
workers = "unlimited"
time = "1ms"
calls = [{ service = "orders", timeout = "2s", policy = { attempts = 3, budget = "none" } }]

[[service]]
name = "orders"
workers = "unlimited"
time = "1ms"
calls = [{ service = "database", timeout = "200ms", policy = { attempts = 3, budget = "none" } }]

[[service]]
name = "database"
time = "exponential:10ms"
queue = 100

[[population]]
name = "users"
target = "api"
arrivals = "poisson:40"
timeout = "8s"
policy = { attempts = 1 }

[[trigger]]
from = "10s"
length = "3s"
effect = "hang"
service = "database"
"#;

#[test]
fn s1_retries_below_the_first_tier_are_in_the_table_the_charts_and_the_verdict() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("tiers.toml");
    fs::write(&path, TIERS).expect("the file is written");
    let path = path.to_str().expect("UTF-8");
    let pictures = folder.path().join("pictures");
    let pictures = pictures.to_str().expect("UTF-8");
    let asked = [path, "--runs", "2", "--quick", "--svg", pictures];
    let printed = told(&[&asked[..], &["--csv", pictures]].concat());
    let flat = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "own: metastable",
        "users: 1 attempt; api->orders and orders->database: 3 attempts",
        "Retries multiply the requests at database by ",
        "for each call of api->orders",
        "database: amplification during the trigger ",
        "orders: attempts for each call to it ",
        "database: longest queue 100",
        "Requests that arrive at database",
    ] {
        assert!(flat.contains(part), "{part}: {printed}");
    }
    assert!(!flat.contains("no retries"), "{printed}");
    let picture = folder.path().join("pictures/arrivals-3.svg");
    let picture = fs::read_to_string(picture).expect("a picture of the database");
    assert!(picture.contains("Requests that arrive at database"));
    let figures = folder.path().join("pictures/figures.csv");
    let figures = fs::read_to_string(figures).expect("the figures");
    assert!(
        figures.contains("own,database: amplification,"),
        "{figures}"
    );

    let printed = told(&[path, "--runs", "2", "--quick", "--json"]);
    let document: Value = serde_json::from_str(&printed).expect("JSON");
    let database = &document["contenders"][0]["services"][2];
    let end = &database["phases"][3];
    assert_eq!(
        (&database["name"], &end["name"]),
        (&"database".into(), &"end".into())
    );
    let amplification = end["amplification"].as_f64().expect("a number");
    assert!((8.0..9.5).contains(&amplification), "{amplification}");
    assert_eq!(end["attempts"][0]["place"], "orders->database");
    assert_eq!(document["services"][0]["id"], "arrivals-3");
}

#[test]
fn strict_fails_a_build_that_would_storm() {
    let (_folder, path) = own(UNPROTECTED);
    let code = |compare: &str| {
        let output = storm(&[
            &path,
            "--compare",
            compare,
            "--runs",
            "3",
            "--quick",
            "--strict",
        ]);
        output.status.code()
    };
    assert_eq!(code("own"), Some(1));
    assert_eq!(code("own;budget=ratio:0.1,burst:10"), Some(0));
}

#[test]
fn the_flags_start_from_the_policy_of_the_file() {
    let (_folder, path) = own(UNPROTECTED);
    let printed = told(&[&path, "--attempts", "2", "--runs", "1", "--quick", "--json"]);
    let document: Value = serde_json::from_str(&printed).expect("JSON");
    let names: Vec<_> = document["contenders"]
        .as_array()
        .expect("an array")
        .iter()
        .map(|it| it["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(names, ["own", "yours"]);
    let policy = document["contenders"][1]["policy"]
        .as_str()
        .expect("a policy");
    assert!(
        policy.contains("2 attempts") && policy.contains("10ms"),
        "{policy}"
    );
}

#[test]
fn a_sweep_judges_every_point() {
    let (_folder, path) = own(UNPROTECTED);
    let sweep = "budget=none|ratio:0.1,burst:10,attempts=1|4";
    let printed = told(&[&path, "--sweep", sweep, "--runs", "2", "--json"]);
    let document: Value = serde_json::from_str(&printed).expect("JSON");
    let contenders = document["contenders"].as_array().expect("an array");
    assert_eq!(contenders.len(), 4, "{printed}");
    assert_eq!(verdict(&document, "budget=none attempts=4"), "metastable");
    assert_ne!(
        verdict(&document, "budget=ratio:0.1,burst:10 attempts=4"),
        "metastable"
    );
    assert!(refused(&[&path, "--sweep", "bas=1s"]).contains("--sweep"));
    // A point that is too short to judge is named.
    let refusal = refused(&["metastable", "--sweep", "horizon=60s|9s"]);
    assert!(
        refusal.contains("--sweep: horizon: \"9s\" is refused: the horizon of 9s is too short"),
        "{refusal}"
    );
}

#[test]
fn tuning_recommends_a_policy_that_can_be_used() {
    let (folder, path) = own(UNPROTECTED);
    let out = folder.path().join("tuned.toml");
    let out = out.to_str().expect("UTF-8");
    let arguments = [
        "tune",
        &*path,
        "--policies",
        "4",
        "--runs",
        "1",
        "--json",
        "--out",
        out,
    ];
    let document: Value = serde_json::from_str(&told(&arguments)).expect("JSON");
    let file = fs::read_to_string(out).expect("the policy is written");
    assert_eq!(document["recommended"]["policy"], Value::from(&*file));
    assert!(
        !document["recommended"]["reasons"]
            .as_array()
            .expect("an array")
            .is_empty()
    );
    let printed = told(&[
        &path,
        "--policy",
        out,
        "--compare",
        "yours",
        "--runs",
        "1",
        "--quick",
        "--json",
    ]);
    let document: Value = serde_json::from_str(&printed).expect("JSON");
    assert_ne!(verdict(&document, "yours"), "metastable");
}

#[test]
fn slips_are_refused_by_file_line_and_remedy() {
    let (_folder, path) = own("polcy = { preset = \"grpc\" }");
    let refusal = refused(&[&path]);
    assert!(
        refusal.contains("orders.toml") && refusal.contains("did you mean `policy`"),
        "{refusal}"
    );
    assert!(refused(&["nowhere.toml"]).contains("nowhere.toml"));
    let (_folder, path) = own("");
    assert!(refused(&[&path, "--clients", "3"]).contains("--clients"));
    // All its clients have one policy: whichever name it is called by, it is that of the file.
    told(&[&path, "--compare", "yours", "--runs", "1", "--quick"]);
    let mixed =
        "variants = [{ share = 0.5, policy = { attempts = 3 } }, { share = 0.5, policy = {} }]";
    let (_folder, path) = own(mixed);
    let refusal = refused(&[&path, "--compare", "yours"]);
    assert!(
        refusal.contains("write own for the file as it stands"),
        "{refusal}"
    );
}

#[test]
fn its_flags_are_told() {
    let help = told(&["orders.toml", "--help"]);
    for flag in ["--compare", "--seed", "--attempts", "--strict"] {
        assert!(help.contains(flag), "{flag}");
    }
}

#[test]
fn a_file_without_a_name_is_called_as_it_is() {
    let (folder, path) = own("");
    let named = fs::read_to_string(&path).expect("the file");
    let path = folder.path().join("the shop.toml");
    let nameless = named.replacen("name = \"orders\"\n", "", 1);
    fs::write(&path, nameless).expect("the file is written");
    let path = path.to_str().expect("UTF-8");
    let printed = told(&[path, "--runs", "1", "--quick", "--json"]);
    let document: Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(document["scenario"], "the shop");
    assert_eq!(document["question"], "What happens to the shop?");
}

#[test]
fn a_build_fails_on_a_load_that_nobody_can_serve_too() {
    let (_folder, path) = own("");
    let busy = fs::read_to_string(&path).expect("the file");
    fs::write(&path, busy.replace("poisson:60", "poisson:160")).expect("written");
    let arguments = [&*path, "--runs", "2", "--quick", "--json"];
    let document: Value = serde_json::from_str(&told(&arguments)).expect("JSON");
    assert_eq!(verdict(&document, "own"), "overloaded");
    let strict = [&arguments[..], &["--strict"]].concat();
    assert_eq!(storm(&strict).status.code(), Some(1));
}

#[test]
fn a_verdict_over_hardly_any_calls_says_so() {
    let (_folder, path) = own("");
    let quiet = fs::read_to_string(&path).expect("the file");
    fs::write(&path, quiet.replace("poisson:60", "poisson:1")).expect("written");
    let printed = told(&[&path, "--runs", "3", "--quick", "--json"]);
    let document: Value = serde_json::from_str(&printed).expect("JSON");
    for text in [&document["answer"], &document["contenders"][0]["evidence"]] {
        let text = text.as_str().expect("a sentence");
        assert!(
            text.contains("calls begin after the trigger in a run, which says little"),
            "{text}"
        );
    }
}

/// A study that takes long says so before it begins. Nobody waits for its end here.
#[test]
fn what_takes_long_is_told_at_once_with_the_remedy() {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    let (_folder, path) = own("");
    let large = fs::read_to_string(&path).expect("the file");
    let large = large
        .replace("poisson:60", "poisson:60000")
        .replace("time = \"exponential:10ms\"", "time = \"10us\"")
        .replace("horizon = \"40s\"", "horizon = \"2h\"");
    fs::write(&path, large).expect("written");
    let mut child = Command::new(env!("CARGO_BIN_EXE_becalm"))
        .args(["storm", &path, "--json"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut line = String::new();
    let stderr = child.stderr.take().expect("a pipe");
    let read = BufReader::new(stderr).read_line(&mut line);
    child.kill().expect("it is still at it");
    child.wait().expect("it ends");
    read.expect("a line");
    for part in ["this may take some", "--quick", "--runs"] {
        assert!(line.contains(part), "{line}");
    }
}

/// Three tiers, each with retries and none with a budget; the database fails over for 3 s.
const THREE_TIERS: &str = r#"
name = "tiers"
horizon = "20s"

[[service]]
name = "edge"
workers = "unlimited"
time = "exponential:2ms"

[[service.calls]]
service = "orders"
timeout = "1s"
policy = { attempts = 3, base = "20ms", cap = "500ms", budget = "none" }

[[service]]
name = "orders"
workers = "unlimited"
time = "exponential:2ms"

[[service.calls]]
service = "database"
timeout = "500ms"
policy = { attempts = 3, base = "20ms", cap = "500ms", budget = "none" }

[[service]]
name = "database"
workers = 2
time = "exponential:30ms"
queue = 70

[[population]]
name = "users"
clients = 5
target = "edge"
arrivals = "poisson:20"
timeout = "2s"
policy = { attempts = 3, base = "100ms", cap = "2s", budget = "none" }

[[trigger]]
from = "4s"
length = "3s"
effect = "hang"
service = "database"
"#;

fn tiers() -> (TempDir, String) {
    let (folder, path) = own("");
    fs::write(&path, THREE_TIERS).expect("written");
    (folder, path)
}

/// The names and the verdicts of what is studied.
fn verdicts(arguments: &[&str]) -> Vec<(String, Value)> {
    let document: Value = serde_json::from_str(&told(arguments)).expect("JSON");
    let contenders = document["contenders"].as_array().expect("an array").iter();
    let pairs = contenders.map(|it| {
        (
            it["name"].as_str().unwrap().to_owned(),
            it["verdict"].clone(),
        )
    });
    pairs.collect()
}

#[test]
fn s2_every_policy_of_a_file_is_compared_swept_and_set_by_its_place() {
    let (_folder, path) = tiers();
    let quick = ["--runs", "1", "--quick", "--json"];
    let list = "own,users: budget=ratio:0.1; edge->orders: attempts=1; orders->database: attempts=1,\
                all: attempts=1";
    let compared = verdicts(&[&[&*path, "--compare", list], &quick[..]].concat());
    let is_down = |it: &(String, Value)| it.1 == "metastable";
    assert_eq!(
        compared.iter().map(is_down).collect::<Vec<_>>(),
        [true, false, false]
    );

    // At one place a budget is too little, at all it is enough.
    let flags = |at: &str| {
        let arguments = [
            &*path,
            "--at",
            at,
            "--budget",
            "ratio:0.1",
            "--compare",
            "yours",
        ];
        verdicts(&[&arguments[..], &quick].concat())
    };
    assert!(is_down(&flags("orders->database")[0]));
    assert!(!is_down(&flags("all")[0]));

    let axes = "all.budget=none|ratio:0.1,orders->database.attempts=1|3";
    let swept = verdicts(&[&[&*path, "--sweep", axes], &quick[..]].concat());
    let names: Vec<_> = swept.iter().map(|it| it.0.as_str()).collect();
    assert_eq!(names[1], "all.budget=none orders->database.attempts=3");
    assert_eq!(
        swept.iter().map(is_down).collect::<Vec<_>>(),
        [true, true, false, false]
    );
    let at = ["--at", "orders->database", "--sweep", "attempts=1|3"];
    let swept = verdicts(&[&[&*path], &at[..], &quick].concat());
    assert!(swept.iter().all(is_down), "{swept:?}");
}

#[test]
fn s2_a_place_that_is_not_there_is_refused_with_all_that_are() {
    let (_folder, path) = tiers();
    for arguments in [
        ["--at", "orders->databse"],
        ["--compare", "orders->databse: default"],
        ["--compare", "own,orders->databse.attempts=2"],
        ["--sweep", "orders->databse.attempts=1..6"],
    ] {
        let refusal = refused(&[&[&*path], &arguments[..]].concat());
        for part in [
            arguments[0],
            "did you mean `orders->database`",
            "there are users, edge->orders, orders->database, and all",
        ] {
            assert!(refusal.contains(part), "{arguments:?}: {refusal}");
        }
    }
    assert!(refused(&["herd", "--at", "a->b"]).contains("no place of this scenario"));
    let help = told(&[&path, "--help"]);
    for part in [
        "--at <PLACE>",
        "orders->db: budget=none",
        "orders->db.attempts=1..6",
    ] {
        assert!(help.contains(part), "{part}: {help}");
    }
}

/// The scenario file with other lines under its sections, as becalm says to write them.
fn rewritten(text: &str, lines: &Value) -> String {
    let mut text = text.to_owned();
    for line in lines.as_array().expect("an array") {
        let section = line["section"].as_str().expect("a section");
        let line = line["line"].as_str().expect("a line");
        let key = match section.split_once(' ').expect("a place").1.split_once("->") {
            Some((_, callee)) => format!("[[service.calls]]\nservice = \"{callee}\""),
            None => "[[population]]".to_owned(),
        };
        let from = text
            .find(&key)
            .unwrap_or_else(|| panic!("{section}: {text}"));
        let (before, rest) = text.split_at(from);
        let at = rest.find("policy = ").expect("a policy");
        let (head, old) = rest.split_at(at);
        let end = old.find('\n').expect("an end");
        text = format!("{before}{head}{line}{}", &old[end..]);
    }
    text
}

#[test]
fn s2_a_bad_verdict_ends_with_the_smallest_change_that_helps_and_the_lines_to_write() {
    let (_folder, path) = tiers();
    let document: Value =
        serde_json::from_str(&told(&[&path, "--runs", "1", "--json"])).expect("JSON");
    assert_eq!(verdict(&document, "own"), "metastable");
    let remedy = &document["remedy"];
    let sentence = remedy["sentence"].as_str().expect("a sentence");
    for part in [
        "The smallest change found",
        "comes back in 1 of 1 run, typically",
    ] {
        assert!(sentence.contains(part), "{sentence}");
    }
    let compare = remedy["compare"].as_str().expect("a comparison");
    let quick = ["--runs", "1", "--quick", "--json"];
    let compared = verdicts(&[&[&*path, "--compare", compare], &quick[..]].concat());
    assert_eq!(compared[0].1, "metastable");
    assert_ne!(compared[1].1, "metastable", "{compare}");
    fs::write(&path, rewritten(THREE_TIERS, &remedy["lines"])).expect("written");
    let after = verdicts(&[&[&*path], &quick[..]].concat());
    assert_eq!(
        after[0].1, compared[1].1,
        "the lines say what the comparison does"
    );
    // What holds has no remedy, and a comparison that has the answer needs none.
    let after: Value = serde_json::from_str(&told(&[&[&*path], &quick[..]].concat())).unwrap();
    assert_eq!(after.get("remedy"), None);
}

#[test]
fn s2_tuning_says_which_policies_to_change_and_what_to_write() {
    let (folder, path) = tiers();
    let out = folder.path().join("tuned.toml");
    let arguments = ["--policies", "2", "--runs", "1", "--json", "--out"];
    let arguments = [&["tune", &*path], &arguments[..], &[out.to_str().unwrap()]].concat();
    let document: Value = serde_json::from_str(&told(&arguments)).expect("JSON");
    let recommended = &document["recommended"];
    let first = recommended["reasons"][0].as_str().expect("a reason");
    assert!(first.starts_with("Change "), "{first}");
    fs::write(&path, rewritten(THREE_TIERS, &recommended["lines"])).expect("written");
    let after = verdicts(&[&path, "--runs", "1", "--quick", "--json"]);
    assert_ne!(after[0].1, "metastable", "{first}");
    // And what is written is a policy.
    let plan = [
        "--policy",
        out.to_str().unwrap(),
        "--at",
        "orders->database",
    ];
    verdicts(&[&[&*path], &plan[..], &["--runs", "1", "--quick", "--json"]].concat());
    // Whoever tunes one place changes no other.
    let arguments = ["--policies", "1", "--runs", "1", "--json", "--at", "users"];
    let printed = told(&[&["tune", &*path], &arguments[..]].concat());
    let document: Value = serde_json::from_str(&printed).expect("JSON");
    for contender in document["contenders"].as_array().expect("an array") {
        let policy = contender["policy"].as_str().expect("a policy");
        assert!(!policy.contains("->"), "{policy}");
    }
}
