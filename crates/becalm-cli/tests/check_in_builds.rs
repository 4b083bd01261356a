//! Do the line for a cluster, the hook of pre-commit and the action of GitHub run `becalm check` as its page says?

mod check_support;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use check_support::{check, files};

/// A folder with this program alone in it, before all others.
fn path(folder: &Path) -> std::ffi::OsString {
    let own = Path::new(env!("CARGO_BIN_EXE_becalm")).parent().unwrap();
    let rest = std::env::var_os("PATH").unwrap_or_default();
    let all = [folder, own].map(Path::to_path_buf);
    std::env::join_paths(all.into_iter().chain(std::env::split_paths(&rest))).unwrap()
}

fn shown(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

const KUBECTL: &str = r#"#!/bin/sh
case "$*" in
  api-resources*) printf 'configmaps\nsecrets\nvirtualservices.networking.istio.io\nvirtualservicesXnetworkingXistioXio\n' ;;
  "get configmaps,virtualservices.networking.istio.io -A -o yaml") cat <<'END'
apiVersion: v1
kind: List
items:
- apiVersion: networking.istio.io/v1
  kind: VirtualService
  metadata: {name: orders, namespace: shop}
  spec: {hosts: [orders], http: [{route: [{destination: {host: orders}}], timeout: 5s, retries: {attempts: 3}}]}
END
  ;;
  *) echo "unexpected: $*" >&2; exit 1 ;;
esac
"#;

#[test]
fn the_line_for_a_cluster_asks_for_what_it_has_and_is_read() {
    let (code, text, _) = check(&["--cluster"]);
    assert!(code == 0 && text.lines().count() == 1, "{text}");
    let folder = tempfile::tempdir().unwrap();
    let kubectl = folder.path().join("kubectl");
    fs::write(&kubectl, KUBECTL).unwrap();
    fs::set_permissions(&kubectl, fs::Permissions::from_mode(0o755)).unwrap();
    let ran = Command::new("sh")
        .args(["-c", &text])
        .env("PATH", path(folder.path()))
        .output()
        .unwrap();
    let told = shown(&ran);
    assert!(
        ran.status.success() && told.contains("4 attempts"),
        "{told}"
    );
    assert!(told.contains("VirtualService shop/orders: "), "{told}");
    assert_eq!(check(&["--cluster", "--strict"]).0, 2);
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_hook_of_pre_commit_fails_for_what_strict_does() {
    let program = root().join("target/pypi/bin/pre-commit");
    if !program.exists() {
        assert!(
            std::env::var_os("CI").is_none(),
            "install pre-commit, as scripts/test does"
        );
        eprintln!("not tried: pre-commit is not installed");
        return;
    }
    let hooks = tempfile::tempdir().unwrap();
    let project = tempfile::tempdir().unwrap();
    let git = |directory: &Path, arguments: &[&str]| {
        let own = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
        let ran = Command::new("git")
            .args(own)
            .args(arguments)
            .current_dir(directory)
            .output()
            .unwrap();
        assert!(ran.status.success(), "{}", shown(&ran));
    };
    fs::copy(
        root().join(".pre-commit-hooks.yaml"),
        hooks.path().join(".pre-commit-hooks.yaml"),
    )
    .unwrap();
    let route = |retry: &str| {
        format!(
            "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {{name: a}}\nspec:\n  hosts: [a]\n  http:\n  - match: [{{method: {{exact: GET}}}}]\n    route: [{{destination: {{host: a}}}}]\n    {retry}\n"
        )
    };
    fs::write(
        project.path().join("good.yaml"),
        route("retries: {attempts: 0}"),
    )
    .unwrap();
    fs::write(
        project.path().join("bad.yaml"),
        route("retires: {attempts: 3}"),
    )
    .unwrap();
    fs::write(project.path().join("notes.txt"), "retries: 3\n").unwrap();
    for directory in [hooks.path(), project.path()] {
        git(directory, &["init", "-q"]);
        git(directory, &["add", "."]);
        git(directory, &["commit", "-qm", "a"]);
    }
    let run = |file: &str| {
        let ran = Command::new(&program)
            .args([
                "try-repo",
                &hooks.path().to_string_lossy(),
                "becalm-check",
                "--files",
                file,
            ])
            .current_dir(project.path())
            .env("PATH", path(project.path()))
            .env("PRE_COMMIT_HOME", hooks.path().join("cache"))
            .output();
        ran.unwrap()
    };
    let good = run("good.yaml");
    assert!(
        good.status.success() && shown(&good).contains("Passed"),
        "{}",
        shown(&good)
    );
    let bad = run("bad.yaml");
    assert!(
        !bad.status.success() && shown(&bad).contains("no-such-field"),
        "{}",
        shown(&bad)
    );
    assert!(shown(&run("notes.txt")).contains("Skipped"));
}

/// Runs the second step of the action as a runner does.
#[test]
fn the_action_annotates_and_fails() {
    let action = fs::read_to_string(root().join("action.yml")).unwrap();
    let (_, script) = action.rsplit_once("run: |\n").unwrap();
    for (file, code, told) in [
        (
            "07-envoy-misplaced-budget.yaml",
            1,
            "::error file=07-envoy-misplaced-budget.yaml,line=",
        ),
        ("missing.yaml", 2, "cannot read missing.yaml"),
    ] {
        let ran = Command::new("bash")
            .args(["-e", "-c", script])
            .current_dir(files())
            .env("PATH", path(&files()))
            .env("ARGUMENTS", "--allow no-budget")
            .env("FILES", file)
            .output()
            .unwrap();
        assert_eq!(ran.status.code(), Some(code), "{}", shown(&ran));
        assert!(shown(&ran).contains(told), "{}", shown(&ran));
    }
}
