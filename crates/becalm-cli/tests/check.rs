//! `becalm check` as a process: what it prints, writes and exits with.

mod check_support;

use std::fs;
use std::path::Path;
use std::process::Command;

use check_support::{becalm, check, files};
use serde_json::Value;

const ENVOY: &str = "07-envoy-misplaced-budget.yaml";
const ISTIO: &str = "05-istio-forty.yaml";

#[test]
fn a_finding_shows_its_line() {
    let (code, stdout, _) = check(&[ENVOY]);
    let expected = "\
error[no-such-field]: envoy 1.40 has no field `retry_budget` in a RetryPolicy,
  and refuses the file
  --> 07-envoy-misplaced-budget.yaml:29:21
   |
29 |                     retry_budget:
   |                     ^^^^^^^^^^^^
   = move it to `circuit_breakers.thresholds` of the cluster, which has it
";
    assert!(stdout.contains(expected), "{stdout}");
    assert!(
        stdout.contains("(4 attempts, exponential from 500ms x 2"),
        "{stdout}"
    );
    assert!(
        stdout.starts_with("1 file: 2 errors, 1 warning, 2 notes; 1 policy\n"),
        "{stdout}"
    );
    assert_eq!(code, 0);
}

/// Of each kind the first are kept, and each output says how many more there are.
#[test]
fn many_findings_of_a_kind_are_counted_in_each_output() {
    let folder = tempfile::tempdir().unwrap();
    let entry = |at: u32| format!("{{\"name\": [{{\"service\": \"s{}\"}}]}}", at / 2);
    let entries: Vec<_> = (0..21_000).map(entry).collect();
    let entries = entries.join(",\n");
    let text = format!("{{\"methodConfig\": [\n{entries}\n]}}\n");
    fs::write(folder.path().join("a.json"), text).unwrap();
    let run = |arguments: &[&str]| {
        let output = becalm(&[&["check", "a.json"], arguments].concat(), folder.path());
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    let (code, text) = run(&["--strict"]);
    assert_eq!(code, Some(1));
    assert!(text.starts_with("1 file: 10,500 errors,"), "{text}");
    assert!(
        text.contains("error[refused]: and 500 more findings"),
        "{text}"
    );
    let more = "and 10,400 more findings of this kind";
    let (_, json) = run(&["--json", "--sarif", "a.sarif", "--report", "a.html"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["more"][0]["findings"], 10_400);
    assert!(run(&["--github"]).1.contains(more));
    for written in ["a.sarif", "a.html"] {
        let written = fs::read_to_string(folder.path().join(written)).unwrap();
        assert!(written.contains(more), "{written}");
    }
    let (_, all) = run(&["--all"]);
    assert_eq!(all.matches("error[refused]").count(), 10_500);
    assert_eq!(run(&["--write-baseline", "known"]).0, Some(0));
    let (code, text) = run(&["--strict", "--baseline", "known"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.starts_with("1 file: 0 errors,"), "{text}");
}

#[test]
fn what_is_strict_fails_and_what_cannot_be_read_exits_with_2() {
    assert_eq!(check(&["--strict", ENVOY]).0, 1);
    let (code, _, stderr) = check(&["missing.yaml"]);
    assert!(
        code == 2 && stderr.contains("cannot read missing.yaml"),
        "{stderr}"
    );
    assert_eq!(check(&["19-helm-template.yaml"]).0, 2);
    for flags in [
        &["--strict", "19-helm-template.yaml", ENVOY][..],
        &["--strict", "--allow", "template", "19-helm-template.yaml"],
    ] {
        for output in ["--all", "--json", "--github"] {
            assert_eq!(check(&[flags, &[output]].concat()).0, 2, "{flags:?}");
        }
    }

    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in [
        ("broken.yaml", &b"retries: [b"[..]),
        ("deep.json", &[&b"{\"retry\": "[..], &[b'['; 3000]].concat()),
        ("second.yaml", b"a: 1\n---\nattempts: {{ .x }}\n---\nb: 2\n"),
    ] {
        fs::write(folder.path().join(name), bytes).unwrap();
        let output = becalm(&["check", name], folder.path());
        assert_eq!(output.status.code(), Some(2), "{name}: {output:?}");
    }
    for (name, bytes) in [
        ("latin-1.yaml", &b"a: \xe9"[..]),
        ("plain.yaml", b"a: [b"),
        ("plain-deep.json", &[b'['; 3000]),
        ("image.yaml", b"\x89PNG\0\0\0"),
        ("template.yaml", b"a: {{ .x }}\n"),
    ] {
        fs::write(folder.path().join(name), bytes).unwrap();
        let output = becalm(&["check", name], folder.path());
        assert_eq!(output.status.code(), Some(0), "{name}: {output:?}");
    }
    fs::write(folder.path().join("other.yaml"), "a: 1\n").unwrap();
    for (flags, code) in [(&["--strict"][..], 0), (&["--as", "envoy"], 2)] {
        let output = becalm(&[&["check", "other.yaml"], flags].concat(), folder.path());
        assert_eq!(output.status.code(), Some(code), "of no system: {output:?}");
    }
}

#[test]
fn a_program_reads_the_findings_and_the_policies() {
    let (_, stdout, _) = check(&["--json", ISTIO]);
    let document: Value = serde_json::from_str(&stdout).unwrap();
    let finding = &document["findings"][0];
    assert_eq!(finding["code"], "no-budget");
    assert_eq!(
        (&finding["line"], &finding["column"], &finding["length"]),
        (&10.into(), &5.into(), &7.into())
    );
    let mapping = &document["mappings"][0];
    assert_eq!(mapping["system"], "istio");
    assert_eq!(mapping["policy"]["attempts"], 41);
    assert_eq!(mapping["amplification"], 41.0);
    assert_eq!(mapping["origins"]["deadline"]["line"], 14);
    assert_eq!(mapping["origins"]["base"]["from"], "default");
    assert_eq!(
        (&document["layers"], &mapping["verdict"]),
        (&Value::Null, &Value::Null)
    );
}

#[test]
fn code_review_and_a_build_read_them_too() {
    let folder = tempfile::tempdir().unwrap();
    let sarif = folder.path().join("findings.sarif");
    let (_, stdout, _) = check(&["--github", "--sarif", sarif.to_str().unwrap(), ENVOY]);
    assert!(
        stdout.lines().any(|line| line.starts_with("::error file=07-envoy-misplaced-budget.yaml,line=29,col=21,title=no-such-field::envoy 1.40 has no field")),
        "{stdout}"
    );
    let written: Value = serde_json::from_str(&fs::read_to_string(sarif).unwrap()).unwrap();
    assert_eq!(written["version"], "2.1.0");
    let results = written["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), stdout.lines().count());
}

#[test]
fn what_a_file_says_is_escaped_wherever_it_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let text = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nspec:\n  hosts: [\"\\e[31m<script>x\"]\n  http:\n  \
                - route: [{destination: {host: \"\\e[31m<script>x\\u202e\"}}]\n    retries: {attempts: 2, \"\\e]0;x\\a<b>\\u202e\\L\": 1} # \u{1b}[31m\n";
    let path = folder.path().join("hostile.yaml");
    // YAML itself forbids the raw control character, of which the snippet must be safe nevertheless.
    fs::write(&path, text.replace(" # \u{1b}[31m", "")).unwrap();
    let run = |arguments: &[&str]| {
        let output = becalm(
            &[&["check", "hostile.yaml"], arguments].concat(),
            folder.path(),
        );
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    for stdout in [run(&[]), run(&["--github"]), run(&["--json"])] {
        assert!(!stdout.contains(['\u{1b}', '\u{7}']), "{stdout}");
        assert!(stdout.contains("no-such-field"), "{stdout}");
    }
    run(&[
        "--report", "r.html", "--sarif", "s.sarif", "--out", "policies",
    ]);
    let page = fs::read_to_string(folder.path().join("r.html")).unwrap();
    assert!(!page.contains("<script>x") && !page.contains("<b>"));
    assert!(!page.contains(['\u{1b}', '\u{202e}', '\u{2028}']), "{page}");
    for file in ["s.sarif", "policies/hostile.toml"] {
        let written = fs::read_to_string(folder.path().join(file)).unwrap();
        assert!(!written.contains('\u{1b}'), "{file}: {written}");
    }
}

#[cfg(unix)]
#[test]
fn a_name_that_is_no_text_breaks_nothing() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let folder = tempfile::tempdir().unwrap();
    let odd = OsStr::from_bytes(b"\xff.yaml");
    fs::copy(files().join(ISTIO), folder.path().join(odd)).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_becalm"))
        .arg("check")
        .arg(odd)
        .args(["--report", "r.html"])
        .current_dir(folder.path())
        .output()
        .expect("the binary starts");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn what_is_allowed_lets_a_strict_build_pass() {
    let all = ["no-budget", "repeats-non-idempotent"];
    let mut arguments = vec!["--strict", ISTIO];
    for code in all {
        assert_eq!(check(&arguments).0, 1, "{code}");
        arguments.extend(["--allow", code]);
    }
    let (code, stdout, _) = check(&arguments);
    assert_eq!(code, 0, "{stdout}");
    assert!(
        stdout.contains("1 error, 1 warning"),
        "they are still told: {stdout}"
    );
    let (code, _, stderr) = check(&["--allow", "no-bugdet", ISTIO]);
    assert!(
        code == 2 && stderr.contains("did you mean `no-budget`?"),
        "{stderr}"
    );
}

#[test]
fn layers_multiply_or_are_not_guessed() {
    let (code, stdout, _) = check(&["--layers", ISTIO, ENVOY, "18-httproute-retry.yaml"]);
    let told = "layers: 656 attempts at the innermost for one request (41 x 4 x 4)";
    assert!(code == 0 && stdout.contains(told), "{stdout}");
    let (code, _, stderr) = check(&["--layers", ISTIO, "19-helm-template.yaml"]);
    assert!(
        code == 2 && stderr.contains("has no retries to multiply"),
        "{stderr}"
    );

    let folder = tempfile::tempdir().unwrap();
    let service = |name: &str| {
        format!(
            "---\napiVersion: networking.istio.io/v1\nkind: VirtualService\nspec:\n  hosts: [{name}]\n  http:\n  - route: [{{destination: {{host: {name}}}}}]\n    retries: {{attempts: 2}}\n    timeout: 1s\n"
        )
    };
    let write = |name: &str, text: String| fs::write(folder.path().join(name), text).unwrap();
    write("two.yaml", service("orders") + &service("payments"));
    write("other.yaml", service("stock"));
    write("full.yaml", service("payments.shop.svc.cluster.local"));
    let output = becalm(
        &["check", "--layers", "full.yaml", "two.yaml"],
        folder.path(),
    );
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains("9 attempts at the innermost"), "{output:?}");
    assert!(!stdout.contains("no name says"), "{output:?}");
    // An outer layer that has given up before the inner one fails the gate.
    write("slow.yaml", service("payments").replace("1s", "9s"));
    let gate = [
        "check",
        "--strict",
        "full.yaml",
        "--allow",
        "repeats-what-may-be-done",
    ];
    for (more, code) in [
        (&["slow.yaml"][..], 0),
        (&["slow.yaml", "--layers"], 1),
        (&["slow.yaml", "--layers", "--allow", "outlives-caller"], 0),
        (&["two.yaml", "--layers"], 0),
    ] {
        let output = becalm(&[&gate, more].concat(), folder.path());
        assert_eq!(output.status.code(), Some(code), "{more:?}: {output:?}");
    }
    let output = becalm(
        &["check", "--layers", "full.yaml", "other.yaml"],
        folder.path(),
    );
    let told = String::from_utf8_lossy(&output.stdout).replace('\n', " ");
    assert!(
        told.contains("no name says that one request passes them all"),
        "{told}"
    );
    let output = becalm(
        &["check", "--layers", "other.yaml", "two.yaml"],
        folder.path(),
    );
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(2) && stderr.contains("two.yaml has 2 places that retry"),
        "{output:?}"
    );

    let route = "{match: {prefix: /}, route: {cluster: a, retry_policy: {retry_on: 5xx}}}";
    let hostile = route.replace("{match", "{name: \"\\e[31m\\n\", match");
    write(
        "hostile.yaml",
        format!("virtual_hosts: [{{routes: [{route}, {hostile}]}}]\n"),
    );
    let output = becalm(
        &["check", "--layers", "hostile.yaml", "full.yaml"],
        folder.path(),
    );
    assert_eq!(output.status.code(), Some(2));
    assert!(!output.stderr.contains(&0x1b), "{output:?}");
}

#[test]
fn only_a_service_gives_a_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = "horizon = \"40s\"\n[[service]]\nname = \"orders\"\nworkers = 12\ntime = \"exponential:20ms\"\nqueue = 600\n\
                    [[population]]\nname = \"clients\"\ntarget = \"orders\"\narrivals = \"poisson:360\"\ntimeout = \"500ms\"\n\
                    [[trigger]]\nservice = \"orders\"\neffect = \"hang\"\nfrom = \"5s\"\nlength = \"2s\"\n";
    let path = folder.path().join("orders.toml");
    fs::write(&path, scenario).unwrap();
    let (code, stdout, stderr) = check(&["--json", "--service", path.to_str().unwrap(), ISTIO]);
    assert_eq!(code, 0, "{stderr}");
    let document: Value = serde_json::from_str(&stdout).unwrap();
    let verdict = &document["mappings"][0]["verdict"];
    assert_eq!(verdict["verdict"], "metastable", "{verdict}");
    let capacity = verdict["hidden_capacity"].as_f64().unwrap();
    assert!((14.0..15.0).contains(&capacity), "600 / 41: {capacity}");
    // The gate holds it in every output, and fails for it alone.
    let service = path.to_str().unwrap();
    let mut strict = vec!["--strict", "--service", service];
    for code in [
        "no-budget",
        "no-jitter",
        "repeats-non-idempotent",
        "attempt-timeout-fills-deadline",
    ] {
        strict.extend(["--allow", code]);
    }
    let without: Vec<_> = [&strict[..1], &strict[3..], &[ISTIO]].concat();
    assert_eq!(check(&without).0, 0, "{}", check(&without).1);
    let (code, stdout, _) = check(&[&strict[..], &[ISTIO]].concat());
    assert_eq!(code, 1, "{stdout}");
    assert!(stdout.contains("error[metastable]: "), "{stdout}");
    assert!(
        document["findings"]
            .as_array()
            .unwrap()
            .iter()
            .any(|it| it["code"] == "metastable")
    );
    let sarif = folder.path().join("findings.sarif");
    let (code, stdout, _) = check(
        &[
            &strict[..],
            &["--github", "--sarif", sarif.to_str().unwrap(), ISTIO],
        ]
        .concat(),
    );
    assert_eq!(code, 1);
    assert!(stdout.contains(",title=metastable::"), "{stdout}");
    let written: Value = serde_json::from_str(&fs::read_to_string(sarif).unwrap()).unwrap();
    let run = &written["runs"][0];
    let mut results = run["results"].as_array().unwrap().iter();
    let result = results.find(|it| it["ruleId"] == "metastable").unwrap();
    assert_eq!(result["level"], "error");
    let at = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
    let rule = &run["tool"]["driver"]["rules"][at];
    assert!(
        rule["id"] == "metastable" && rule["helpUri"].as_str().unwrap().contains("docs/check.md"),
        "{rule}"
    );
    assert_eq!(
        check(&[&strict[..], &["--allow", "metastable", ISTIO]].concat()).0,
        0
    );
    // More load than the service can serve fails as well, one that comes back does not.
    for (from, to, code, word) in [
        ("poisson:360", "poisson:900", 1, "error[overloaded]: "),
        ("poisson:360", "poisson:5", 0, ""),
    ] {
        fs::write(&path, scenario.replace(from, to)).unwrap();
        let (exit, stdout, _) = check(&[&strict[..], &[ISTIO]].concat());
        assert!(exit == code && stdout.contains(word), "{to}: {stdout}");
    }
    let (code, _, stderr) = check(&["--service", "missing.toml", ISTIO]);
    assert!(code == 2 && stderr.contains("missing.toml"), "{stderr}");
}

#[test]
fn many_findings_of_a_kind_are_counted_in_every_output() {
    let folder = tempfile::tempdir().unwrap();
    let profiles =
        (0..600).map(|at| format!("[profile p{at}]\nretry_mode = legacy\nmax_attempts = 4\n"));
    fs::write(
        folder.path().join("config.ini"),
        profiles.collect::<String>(),
    )
    .unwrap();
    let run = |arguments: &[&str]| {
        let output = becalm(
            &[
                &["check", "--sarif", "s", "--report", "r.html", "config.ini"],
                arguments,
            ]
            .concat(),
            folder.path(),
        );
        String::from_utf8(output.stdout).unwrap()
    };
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let document: Value = serde_json::from_str(&run(&["--json"])).unwrap();
    let findings = document["findings"].as_array().unwrap();
    let of = |code: &str| findings.iter().filter(|it| it["code"] == code).count();
    let more = document["more"].as_array().unwrap();
    let kind = more[0]["code"].as_str().unwrap();
    assert!(of(kind) == 1 && more[0]["findings"] == 0, "{more:?}");
    let first = findings.iter().find(|it| it["code"] == kind).unwrap();
    let also = first["also"].as_array().unwrap().len();
    assert!(also == 99 && more[0]["places"] == 500, "{more:?}");
    assert_eq!(
        document["mappings"].as_array().unwrap().len() as u64
            + document["more_mappings"].as_u64().unwrap(),
        600
    );
    let github = run(&["--github"]);
    assert!(
        github.lines().count() == findings.len() + more.len()
            && github.contains("::and 500 more places of this kind")
    );
    let sarif: Value = serde_json::from_str(&read("s")).unwrap();
    assert_eq!(
        sarif["runs"][0]["results"].as_array().unwrap().len(),
        github.lines().count()
    );
    assert!(read("r.html").contains("and 500 more places of this kind"));
    let all = run(&["--all", "--github"]);
    let (_, places) = all.split_once("also at lines ").unwrap();
    let (places, _) = places.split_once('\n').unwrap();
    assert!(places.split(", ").count() == 599 && !all.contains("of this kind"));
}

/// docs/proving.md: its first file storms in the scenario beside it, and what it writes in its place does not.
#[test]
fn the_page_about_proving_is_right_about_its_two_files() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let page = fs::read_to_string(docs.join("proving.md")).unwrap();
    let yaml: Vec<_> = page.split("```yaml\n").skip(1).collect();
    let block = |at: usize| yaml[at].split("```").next().unwrap().to_owned();
    let first = block(0);
    let better = first.split("      retries:").next().unwrap().to_owned() + &block(1);
    let directory = tempfile::tempdir().unwrap();
    let orders = docs.join("orders.toml");
    for (text, verdict) in [(first, "metastable"), (better, "stable")] {
        fs::write(directory.path().join("mesh.yaml"), text).unwrap();
        let arguments = [
            "check",
            "--json",
            "--service",
            orders.to_str().unwrap(),
            "mesh.yaml",
        ];
        let output = becalm(&arguments, directory.path());
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let found = &document["mappings"][0]["verdict"]["verdict"];
        assert_eq!(found, verdict, "{document}");
    }
    // The build of the page passes with the file of the page.
    let line = page
        .lines()
        .find(|it| it.starts_with("- run: becalm check"))
        .unwrap();
    let allowed: Vec<_> = line
        .split_whitespace()
        .skip_while(|it| *it != "--allow")
        .collect();
    assert!(!allowed.is_empty(), "{line}");
    let arguments = [&["check", "--strict", "mesh.yaml"], &allowed[..]].concat();
    let output = becalm(&arguments, directory.path());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}
