//! Is a scenario that ends too soon told as such, in every output, and never as a storm?

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

/// What waits after a hang of two seconds is served at the rate that the load leaves: a fifth of the capacity.
const SLOW: &str = r#"
    [[service]]
    name = "orders"
    workers = 4
    time = "exponential:20ms"

    [[population]]
    name = "users"
    target = "orders"
    arrivals = "poisson:160"
    timeout = "250ms"
    policy = { attempts = 1 }

    [[trigger]]
    from = "10s"
    length = "2s"
    effect = "hang"
    service = "orders"
"#;

/// The exit code, and what was printed.
fn told(folder: &Path, words: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_becalm"))
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!text.is_empty(), "{words:?}: {output:?}");
    (output.status.code(), text)
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| panic!("JSON: {text}"))
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
    put("short.toml", &format!("horizon = \"15s\"\n{SLOW}"));
    put("open.toml", SLOW);
    put("policy.toml", "attempts = 1\n");
    folder
}

#[test]
fn s4_storm_says_too_short_with_the_horizon_that_is_enough_and_its_gate_fails() {
    let folder = folder();
    let storm = ["storm", "short.toml", "--quick", "--strict"];
    let (code, text) = told(
        folder.path(),
        &[&storm[..], &["--report", "page.html"]].concat(),
    );
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("own: too-short"), "{text}");
    assert!(text.contains("Nothing is decided: the runs end"), "{text}");
    let page = fs::read_to_string(folder.path().join("page.html")).expect("a page");
    assert!(page.contains("too-short"));
    let (code, text) = told(folder.path(), &[&storm[..], &["--json"]].concat());
    assert_eq!(code, Some(1));
    let study = json(&text);
    let own = &study["contenders"][0];
    assert_eq!(own["verdict"], "too-short");
    assert_eq!(study["decision"]["take"], Value::Null);
    let figures = own["figures"].as_array().expect("figures");
    let needed = figures.iter().find(|it| it["id"] == "needed_horizon_s");
    let needed = needed.expect("a figure")["value"]
        .as_f64()
        .expect("seconds");
    let enough = format!("horizon = \"{needed}s\"\n{SLOW}");
    fs::write(folder.path().join("enough.toml"), enough).expect("a file");
    for file in ["enough.toml", "open.toml"] {
        let (code, text) = told(folder.path(), &["storm", file, "--quick", "--strict"]);
        assert_eq!(code, Some(0), "{file}: {text}");
    }
}

/// Written out, the default is what the user wants.
#[test]
fn s4_a_default_horizon_that_is_written_out_is_kept() {
    let folder = folder();
    let words = "storm trigger --load 95 --workers 1 --outage 10s --quick --runs 2 --compare attempts=1 --json";
    let words: Vec<&str> = words.split(' ').collect();
    let study = |more: &[&str]| json(&told(folder.path(), &[&words[..], more].concat()).1);
    let verdict = |study: &Value| study["contenders"][0]["verdict"].clone();
    let open = study(&[]);
    assert_eq!(verdict(&open), "vulnerable");
    let answer = open["answer"].as_str().expect("a sentence");
    assert!(answer.contains("The runs are "), "{answer}");
    assert_eq!(verdict(&study(&["--horizon", "60s"])), "too-short");
}

#[test]
fn s4_check_says_so_in_every_output_and_its_gate_fails() {
    let folder = folder();
    let check = |service: &str, more: &[&str]| {
        let words = ["check", "policy.toml", "--strict", "--service", service];
        told(folder.path(), &[&words[..], more].concat())
    };
    let (code, text) = check(
        "short.toml",
        &["--sarif", "out.sarif", "--report", "page.html"],
    );
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("warning[too-short]: "), "{text}");
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect("a file");
    let sarif = json(&read("out.sarif"));
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    let result = results.iter().find(|it| it["ruleId"] == "too-short");
    assert_eq!(result.expect("a result of its own")["level"], "warning");
    assert!(read("page.html").contains("too-short"));
    let (code, text) = check("short.toml", &["--github"]);
    assert_eq!(code, Some(1));
    assert!(
        text.lines()
            .any(|it| it.starts_with("::warning") && it.contains("too-short")),
        "{text}"
    );
    let (code, text) = check("short.toml", &["--json"]);
    assert_eq!(code, Some(1));
    let document = json(&text);
    assert_eq!(document["mappings"][0]["verdict"]["verdict"], "too-short");
    let (code, text) = check("open.toml", &[]);
    assert_eq!(code, Some(0), "{text}");
}
