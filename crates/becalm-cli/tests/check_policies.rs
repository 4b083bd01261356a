//! `becalm check --out`: which policy files does it write, and where?

mod check_support;

use std::fs;

use check_support::{becalm, check, files};

const ENVOY: &str = "07-envoy-misplaced-budget.yaml";
const ISTIO: &str = "05-istio-forty.yaml";

#[test]
fn written_policies_say_where_each_key_comes_from_and_are_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("policies");
    let (code, stdout, _) = check(&[
        "--out",
        out.to_str().unwrap(),
        ENVOY,
        ISTIO,
        "18-httproute-retry.yaml",
    ]);
    assert_eq!(code, 0, "{stdout}");
    let envoy = fs::read_to_string(out.join("07-envoy-misplaced-budget.toml")).unwrap();
    for line in [
        "attempts = 4 # line 26: 3 retries and the first try",
        "base = \"500ms\" # line 28",
        "budget = \"concurrency:0,floor:3\" # default of envoy 1.40",
        "deadline = \"15s\" # line 23",
        "[retry_on] # line 25",
    ] {
        assert!(envoy.lines().any(|it| it == line), "{line}: {envoy}");
    }
    for name in [
        "05-istio-forty",
        "07-envoy-misplaced-budget",
        "18-httproute-retry",
    ] {
        let path = out.join(format!("{name}.toml"));
        let planned = becalm(&["plan", "--policy", path.to_str().unwrap()], folder.path());
        assert!(planned.status.success(), "{name}: {planned:?}");
    }
}

#[test]
fn a_policy_takes_no_checked_files_place_and_its_name_is_plain() {
    let folder = tempfile::tempdir().unwrap();
    let text = "attempts = 3 # my reason\nbase = \"100ms\"\n";
    fs::write(folder.path().join("own.toml"), text).unwrap();
    let output = becalm(&["check", "own.toml", "--out", "."], folder.path());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        stderr.contains("would take the place of ./own.toml"),
        "{output:?}"
    );
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        fs::read_to_string(folder.path().join("own.toml")).unwrap(),
        text
    );

    for flag in ["--report", "--sarif", "--write-baseline"] {
        let output = becalm(&["check", "own.toml", flag, "./own.toml"], folder.path());
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert_eq!(
            fs::read_to_string(folder.path().join("own.toml")).unwrap(),
            text
        );
    }

    let odd = "a\u{1b}[31m\n::error::x.yaml";
    fs::copy(files().join(ISTIO), folder.path().join(odd)).unwrap();
    let output = becalm(
        &["check", "--github", odd, "--out", "policies"],
        folder.path(),
    );
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(stderr, "policy: policies/a--31m---error--x.toml\n");
    assert!(!output.stdout.contains(&0x1b), "{output:?}");
    assert!(
        folder
            .path()
            .join("policies/a--31m---error--x.toml")
            .exists()
    );

    let missing = becalm(&["check", "no\u{1b}[31m"], folder.path());
    assert!(!missing.stderr.contains(&0x1b), "{missing:?}");
}

#[test]
fn three_thousand_policies_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let route = "  - match: {prefix: /}\n    route: {cluster: c, retry_policy: {retry_on: 5xx}}\n";
    let routes = route.repeat(3000);
    let text = format!("virtual_hosts:\n- name: a\n  domains: [\"*\"]\n  routes:\n{routes}");
    fs::write(folder.path().join("many.yaml"), text).unwrap();
    let output = becalm(&["check", "many.yaml", "--out", "o"], folder.path());
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(fs::read_dir(folder.path().join("o")).unwrap().count(), 3000);
}
