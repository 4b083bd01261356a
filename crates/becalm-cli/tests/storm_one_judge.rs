//! Do `storm`, `check --service` in each of its outputs, and `tune` find the same of a policy, also where some runs come back
//! and some do not? And do flags say the same in any order?

mod storm_support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use storm_support::told;

/// A service that can serve 50 requests a second gets `load` a second.
fn service(load: u32, queue: u32) -> String {
    format!(
        r#"
        horizon = "20s"

        [[service]]
        name = "orders"
        workers = 1
        time = "exponential:20ms"
        queue = {queue}

        [[population]]
        name = "users"
        target = "orders"
        arrivals = "poisson:{load}"
        timeout = "300ms"
        policy = {{ attempts = 1 }}

        [[trigger]]
        from = "5s"
        length = "1s"
        effect = "hang"
        service = "orders"
        "#
    )
}

const POLICIES: [(&str, &str); 3] = [
    ("once.toml", "attempts = 1\n"),
    ("half.toml", "attempts = 4\nbudget = \"ratio:0.5\"\n"),
    ("eager.toml", "attempts = 3\nbudget = \"none\"\n"),
];

/// What `--strict` fails for.
const CODES: [&str; 3] = ["metastable", "overloaded", "too-short"];

/// `becalm` in the folder: whether it exits with 1, and what it prints.
fn becalm(folder: &Path, words: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_becalm"))
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let code = output.status.code().expect("a code");
    assert!(code < 2, "{words:?}: {output:?}");
    (code == 1, text)
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| panic!("JSON: {text}"))
}

/// The codes of what `--strict` fails for, of these findings.
fn codes<'a>(findings: &'a Value, key: &str) -> Vec<&'a str> {
    let findings = findings.as_array().expect("findings").iter();
    let codes = findings.map(|it| it[key].as_str().expect("a code"));
    codes.filter(|it| CODES.contains(it)).collect()
}

/// What `check` finds of a policy in each output: its verdict, and the code that its gate fails for.
fn checked(folder: &Path, policy: &str) -> (String, Option<String>) {
    // Other findings are no matter of the service.
    let lints = ["no-budget", "large-budget", "no-total-time"];
    let mut words = vec![
        "check",
        policy,
        "--as",
        "becalm",
        "--service",
        "service.toml",
    ];
    words.push("--strict");
    words.extend(lints.iter().flat_map(|it| ["--allow", *it]));
    let check = |more: &[&str]| becalm(folder, &[&words[..], more].concat());
    let (fails, text) = check(&["--json"]);
    let document = json(&text);
    let found = codes(&document["findings"], "code")
        .first()
        .map(ToString::to_string);
    let verdict = document["mappings"][0]["verdict"]["verdict"].as_str();
    assert_eq!(fails, found.is_some(), "--json: {text}");
    let (fails, text) = check(&["--sarif", "out.sarif"]);
    let in_text = CODES.iter().find(|it| text.contains(&format!("[{it}]: ")));
    assert_eq!(
        (fails, in_text.copied()),
        (found.is_some(), found.as_deref()),
        "{text}"
    );
    let sarif = json(&fs::read_to_string(folder.join("out.sarif")).expect("a file"));
    let results = codes(&sarif["runs"][0]["results"], "ruleId");
    assert_eq!(results.first().copied(), found.as_deref(), "--sarif");
    let (fails, text) = check(&["--github"]);
    let annotated = CODES
        .iter()
        .find(|it| text.contains(&format!("title={it}")));
    assert_eq!(
        (fails, annotated.copied()),
        (found.is_some(), found.as_deref()),
        "{text}"
    );
    (verdict.expect("a verdict").to_owned(), found)
}

/// Of the first service five runs of `half` are another verdict than ten, of the second those of `once`; of the third no policy passes.
#[test]
fn s1_all_that_judge_find_the_same_of_a_policy() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let (mut seen, mut gates) = (BTreeSet::new(), BTreeSet::new());
    let mut is_changed = false;
    for (load, queue) in [(30, 60), (46, 30), (48, 60)] {
        fs::write(folder.join("service.toml"), service(load, queue)).expect("a file");
        for (name, policy) in POLICIES {
            fs::write(folder.join(name), policy).expect("a file");
            let path = format!("./{name}");
            let storm = [
                "storm",
                "service.toml",
                "--compare",
                &path,
                "--strict",
                "--json",
            ];
            let (fails, text) = becalm(folder, &storm);
            let study = json(&text);
            let verdict = study["contenders"][0]["verdict"].as_str().expect("one");
            assert_eq!(fails, CODES.contains(&verdict), "storm: {verdict}");
            let (found, code) = checked(folder, name);
            assert_eq!(found, verdict, "check: {name} {load}");
            assert_eq!(code.as_deref(), fails.then_some(verdict), "{name} {load}");
            let tune = [
                "storm",
                "tune",
                "service.toml",
                "--policy",
                name,
                "--policies",
                "1",
                "--strict",
                "--json",
            ];
            let (fails, text) = becalm(folder, &tune);
            let tuned = &json(&text)["recommended"];
            assert_eq!(tuned["given_verdict"], verdict, "tune: {name} {load}");
            let recommended = tuned["verdict"].as_str().expect("a verdict");
            assert_eq!(fails, CODES.contains(&recommended), "{recommended}");
            let policy = tuned["policy"].as_str().expect("a policy");
            fs::write(folder.join("tuned.toml"), policy).expect("a file");
            assert_eq!(checked(folder, "tuned.toml").0, recommended, "{policy}");
            is_changed |= recommended != verdict;
            gates.insert(fails);
            seen.insert(verdict.to_owned());
        }
    }
    assert!(seen.len() >= 3 && gates.len() == 2, "{seen:?} {gates:?}");
    assert!(is_changed, "no policy is better than the given ones");
}

/// Three of the four policies are the same, and the fourth is as good.
#[test]
fn s2_flags_say_the_same_in_any_order_and_a_tie_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("service.toml");
    fs::write(&path, service(6, 60)).expect("a file");
    let path = path.to_str().expect("UTF-8");
    let [runs, seed] = [["--runs", "2"], ["--seed", "1"]];
    let compare = |list: &'static str| ["--compare", list];
    let said = |flags: &[[&str; 2]]| {
        let flags = [&[path, "--quick"], flags.as_flattened()].concat();
        let text = told(&flags);
        let said = text.split("\n\n").nth(1).expect("a second paragraph");
        let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let document = json(&told(&[&flags[..], &["--json"]].concat()));
        (words, document["decision"].clone())
    };
    let all = compare(
        "attempts=4;budget=none,attempts=4;budget=none;jitter=full,attempts=4;budget=none;base=100ms,attempts=2;base=5s",
    );
    let (words, decision) = said(&[runs, seed, all]);
    assert_eq!(decision["equals"].as_array().expect("names").len(), 3);
    assert!(words.contains(" Equally good: "), "{words}");
    let back = compare(
        "attempts=2;base=5s,attempts=4;budget=none;base=100ms,attempts=4;budget=none;jitter=full,attempts=4;budget=none",
    );
    let [a, b] = [
        "attempts=4;budget=none;jitter=full,attempts=2;base=5s",
        "attempts=4;budget=none,attempts=4;budget=none;base=100ms",
    ];
    for flags in [
        &[all, seed, runs][..],
        &[seed, back, runs],
        &[runs, compare(a), seed, compare(b)],
        &[compare(b), runs, compare(a), seed],
    ] {
        assert_eq!(said(flags), (words.clone(), decision.clone()), "{flags:?}");
    }
}
