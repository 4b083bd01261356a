//! Which policies fail the gate of `becalm check --service`, and does each output name the same ones?

mod check_support;

use std::fs;
use std::path::Path;

use check_support::becalm;
use serde_json::Value;

/// A service that retries without a budget keep down.
const SERVICE: &str = r#"
horizon = "20s"

[[service]]
name = "orders"
time = "exponential:10ms"
queue = 100

[[population]]
name = "users"
target = "orders"
arrivals = "poisson:40"
timeout = "200ms"

[[trigger]]
from = "5s"
length = "3s"
effect = "hang"
service = "orders"
"#;

/// What other findings there are.
const OTHERS: [&str; 3] = ["no-budget", "no-jitter", "no-total-time"];

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let eager = "attempts = 4\nbase = \"10ms\"\njitter = \"none\"\nbudget = \"none\"\n";
    put("service.toml", SERVICE);
    put("good.toml", "attempts = 1\n");
    for name in ["bad.toml", "again.toml", "known.toml"] {
        put(name, eager);
    }
    let comment = "# Of orders.\n# becalm: allow metastable (it is switched off)\n";
    put("allowed.toml", &format!("{comment}{eager}"));
    let (code, _) = checked(
        folder.path(),
        &["known.toml", "--write-baseline", "baseline.txt"],
    );
    assert_eq!(code, 0);
    folder
}

/// The exit code of a check with the service and with what else is found let pass, and what it prints.
fn checked(folder: &Path, more: &[&str]) -> (i32, String) {
    let mut words = vec!["check", "--as", "becalm", "--service", "service.toml"];
    words.extend(OTHERS.iter().flat_map(|it| ["--allow", *it]));
    words.extend(more);
    let output = becalm(&words, folder);
    let text = String::from_utf8(output.stdout).unwrap();
    (output.status.code().unwrap(), text)
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| panic!("JSON: {text}"))
}

/// The places and levels of what is metastable, in the order of the places.
fn sorted<'a>(found: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let mut found: Vec<_> = found.map(|it| format!("{} {}", it.0, it.1)).collect();
    found.sort();
    found
}

fn in_array<'a>(findings: &'a Value, of: impl Fn(&'a Value) -> [&'a Value; 3]) -> Vec<String> {
    let found = findings.as_array().unwrap().iter().map(of);
    let found = found.map(|it| it.map(|it| it.as_str().unwrap()));
    let found = found.filter(|it| it[0] == "metastable");
    sorted(found.map(|it| (it[1], it[2])))
}

fn in_json(text: &str) -> Vec<String> {
    in_array(&json(text)["findings"], |it| {
        [&it["code"], &it["file"], &it["severity"]]
    })
}

fn in_sarif(text: &str) -> Vec<String> {
    in_array(&json(text)["runs"][0]["results"], |it| {
        let place = &it["locations"][0]["physicalLocation"]["artifactLocation"];
        [&it["ruleId"], &place["uri"], &it["level"]]
    })
}

fn in_github(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|it| it.contains(",title=metastable::"));
    let found = lines.filter_map(|it| it.strip_prefix("::")?.split_once(" file="));
    sorted(found.filter_map(|(level, rest)| Some((rest.split_once(',')?.0, level))))
}

/// Of a terminal, `before` the name of the file, and of a page.
fn in_text(text: &str, before: &str) -> Vec<String> {
    let found = text.match_indices("[metastable]: ").filter_map(|(at, _)| {
        let level = text[..at].rsplit(|it: char| !it.is_alphabetic()).next()?;
        let (_, place) = text[at..].split_once(before)?;
        Some((place.split_once(':')?.0, level))
    });
    sorted(found)
}

/// Three of the five policies fail it: one comes back, and a comment lets one pass. That a baseline knows one is no reason.
#[test]
fn s1_each_output_names_the_policies_that_fail_the_gate() {
    let folder = folder();
    let files = [
        "good.toml",
        "bad.toml",
        "allowed.toml",
        "known.toml",
        "again.toml",
    ];
    let right = ["again.toml error", "bad.toml error", "known.toml error"];
    let given = [&files[..], &["--strict", "--baseline", "baseline.txt"]].concat();
    let reports = ["--sarif", "out.sarif", "--report", "page.html"];
    for (flags, read) in [
        (&["--all"][..], (|it| in_text(it, "--> ")) as fn(&str) -> _),
        (&["--json"], in_json),
        (&["--github"], in_github),
    ] {
        let (code, text) = checked(folder.path(), &[&given, &reports[..], flags].concat());
        assert_eq!(
            (code, read(&text)),
            (1, right.map(String::from).into()),
            "{flags:?}: {text}"
        );
        let written = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(in_sarif(&written("out.sarif")), right, "{flags:?}");
        assert_eq!(
            in_text(&written("page.html"), "[metastable]: "),
            right,
            "{flags:?}"
        );
        // The verdict is that of each, whatever lets it pass.
        if flags == ["--json"] {
            let mappings = json(&text)["mappings"].clone();
            let verdicts = mappings.as_array().unwrap().iter();
            let verdicts: Vec<_> = verdicts
                .map(|it| it["verdict"]["verdict"].clone())
                .collect();
            let down = ["metastable"; 4];
            assert_eq!(verdicts[1..], down, "{mappings}");
            assert_ne!(verdicts[0], "metastable");
        }
        // The worst is told first, each of a name with its file.
        if flags == ["--all"] {
            let words = "\nmetastable: the policy of bad.toml, the policy of allowed.toml, the";
            let [bad, good] = [words, "\nvulnerable: the policy of good"].map(|it| text.find(it));
            assert!(bad.is_some() && bad < good, "{text}");
        }
    }
}

#[test]
fn s1_the_gate_fails_for_one_policy_that_nothing_lets_pass_in_each_output() {
    let folder = folder();
    let known = &["--baseline", "baseline.txt"][..];
    for (files, flags, code) in [
        (&["good.toml"][..], &["--json"][..], 0),
        (&["good.toml", "bad.toml"], &["--github"], 1),
        (&["bad.toml", "good.toml"], &["--json"], 1),
        (&["bad.toml"], &["--github", "--allow", "metastable"], 0),
        (&["bad.toml"], &["--allow", "overloaded"], 1),
        (&["good.toml", "allowed.toml"], &["--quiet"], 0),
        (&["known.toml"], &["--quiet"], 1),
        (&["known.toml"], known, 1),
        (&["good.toml"], known, 0),
        (&["known.toml", "bad.toml"], known, 1),
    ] {
        let given = [files, flags].concat();
        let strict = checked(folder.path(), &[&given[..], &["--strict"]].concat());
        assert_eq!(strict.0, code, "{given:?}: {}", strict.1);
        assert_eq!(checked(folder.path(), &given).0, 0, "{given:?}");
    }
}

/// Two attempts come back, two of two do not, though each layer alone does.
#[test]
fn s1_layers_are_judged_together_in_each_output() {
    let folder = folder();
    let put = |name: &str, attempts: u32| {
        let text = format!(
            "attempts = {attempts}\nbase = \"10ms\"\njitter = \"none\"\nbudget = \"none\"\n"
        );
        fs::write(folder.path().join(name), text).unwrap();
    };
    let longer = SERVICE.replace("20s", "40s");
    fs::write(folder.path().join("service.toml"), longer).unwrap();
    put("outer.toml", 2);
    put("inner.toml", 2);
    put("still.toml", 1);
    let words = |inner| {
        let reports = ["--sarif", "out.sarif", "--report", "page.html"];
        let allowed = ["--strict", "--allow", "outlives-caller"];
        [&["outer.toml", inner, "--layers"][..], &allowed, &reports].concat()
    };
    for (flags, read) in [
        (&["--all"][..], (|it| in_text(it, "--> ")) as fn(&str) -> _),
        (&["--json"], in_json),
        (&["--github"], in_github),
    ] {
        for (inner, code, right) in [
            ("inner.toml", 1, &["outer.toml error"][..]),
            ("still.toml", 0, &[]),
        ] {
            let (exit, text) = checked(folder.path(), &[&words(inner), flags].concat());
            assert_eq!(
                (exit, &read(&text)[..]),
                (
                    code,
                    &right.iter().map(ToString::to_string).collect::<Vec<_>>()[..]
                ),
                "{flags:?}: {text}"
            );
            let written = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
            assert_eq!(in_sarif(&written("out.sarif")), right);
            let page = written("page.html");
            assert_eq!(in_text(&page, "[metastable]: "), right);
            assert!(page.contains("the layers together"), "{page}");
            if flags == ["--json"] {
                let told = json(&text);
                let alone = told["mappings"].as_array().unwrap().iter();
                assert!(
                    alone.clone().count() == 2
                        && alone
                            .clone()
                            .all(|it| it["verdict"]["verdict"] != "metastable")
                );
                let together = &told["layers"]["verdict"]["verdict"];
                assert_eq!(together == "metastable", code == 1, "{told}");
            }
        }
    }
}

const HEAD: &str =
    "apiVersion: networking.istio.io/v1\nkind: VirtualService\nspec:\n  hosts: [a]\n  http:\n";

fn route(retries: &str) -> String {
    format!("  - {{route: [{{destination: {{host: a}}}}], retries: {{attempts: {retries}}}}}\n")
}

/// Of a policy that stays down it knows what else was found, also where its verdict stands in the file.
#[test]
fn s1_a_baseline_knows_no_verdict() {
    let folder = folder();
    let path = folder.path().join("baseline.txt");
    let written = fs::read_to_string(&path).unwrap();
    assert!(
        written.contains("no-budget") && !written.contains("metastable"),
        "{written}"
    );
    let (_, text) = checked(folder.path(), &["known.toml", "--json"]);
    let told = json(&text);
    let found = told["findings"].as_array().unwrap().iter();
    let lines = found.map(|it| {
        let parts = [&it["file"], &it["code"], &it["sentence"]].map(|it| it.as_str().unwrap());
        parts.join("\t") + "\n"
    });
    let all: String = lines.collect();
    assert!(all.contains("metastable"), "{all}");
    fs::write(&path, all).unwrap();
    let words = [
        "known.toml",
        "--strict",
        "--json",
        "--baseline",
        "baseline.txt",
    ];
    let (code, text) = checked(folder.path(), &words);
    assert_eq!(
        (code, in_json(&text)),
        (1, vec!["known.toml error".to_owned()])
    );
    assert_eq!(
        json(&text)["findings"].as_array().unwrap().len(),
        1,
        "{text}"
    );
}

#[test]
fn s1_a_baseline_knows_each_finding_as_often_as_it_stands_there() {
    let folder = tempfile::tempdir().unwrap();
    let exit = |routes: usize, flags: &[&str]| {
        let text = HEAD.to_owned() + &route("9, perTryTimeout: 200ms").repeat(routes);
        fs::write(folder.path().join("mesh.yaml"), text).unwrap();
        let words = [&["check", "mesh.yaml", "--strict"], flags].concat();
        becalm(&words, folder.path()).status.code()
    };
    assert_eq!(exit(1, &["--write-baseline", "known"]), Some(1));
    let known = ["--baseline", "known"];
    assert_eq!([1, 2].map(|it| exit(it, &known)), [Some(0), Some(1)]);
}

/// Three routes of one fault, and one of other figures.
#[test]
fn s1_a_cause_is_one_finding_of_which_each_place_may_pass() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mesh.yaml");
    let check = |text: &str, flags: &[&str]| {
        fs::write(&path, text).unwrap();
        let output = becalm(&[&["check", "mesh.yaml"], flags].concat(), folder.path());
        String::from_utf8(output.stdout).unwrap()
    };
    let found = |text: &str, flags: &[&str]| -> Vec<Vec<u64>> {
        let told = json(&check(text, &[&["--json"], flags].concat()));
        let all = told["findings"].as_array().unwrap().iter();
        let lines = |it: &Value| {
            let also = it["also"].as_array().unwrap();
            let all = std::iter::once(it).chain(also);
            all.map(|it| it["line"].as_u64().unwrap()).collect()
        };
        let all = all.filter(|it| it["code"] == "no-budget" && it["severity"] == "warning");
        all.map(lines).collect()
    };
    let bad = route("9, perTryTimeout: 200ms");
    let other = route("8, perTryTimeout: 200ms");
    let text = HEAD.to_owned() + &bad.repeat(2) + &other + &bad;
    assert_eq!(found(&text, &[]), [vec![6, 7, 9], vec![8]]);
    let screen = check(&text, &[]);
    assert!(screen.contains("also at lines 7, 9\n"), "{screen}");
    let warnings = json(&check(&text, &["--json"]));
    let warnings = warnings["findings"].as_array().unwrap().iter();
    let warnings = warnings.filter(|it| it["severity"] == "warning").count();
    assert!(
        screen.contains(&format!(", {warnings} warnings,")),
        "{screen}"
    );
    // The first place passes, and then each that the baseline knows.
    let comment = "  # becalm: allow no-budget (it is known)\n";
    let allowed = HEAD.to_owned() + comment + &text[HEAD.len()..];
    assert_eq!(found(&allowed, &[]), [vec![8, 10], vec![9]]);
    check(&text, &["--write-baseline", "known"]);
    let grown = text.clone() + &bad.repeat(2);
    assert_eq!(found(&grown, &["--baseline", "known"]), [[10, 11]]);
}

#[cfg(target_os = "linux")] // /dev/full
#[test]
fn s1_what_cannot_be_printed_fails() {
    let folder = folder();
    for words in [
        &["check", "good.toml", "--json"][..],
        &["check", "bad.toml", "--github"],
        &["storm", "service.toml", "--quick", "--runs", "1"],
    ] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let status = std::process::Command::new(env!("CARGO_BIN_EXE_becalm"))
            .args(words)
            .current_dir(folder.path())
            .stdout(full)
            .status();
        assert_eq!(status.unwrap().code(), Some(1), "{words:?}");
    }
}

/// Of ten thousand policies each has a verdict, though the reports tell of fewer.
#[test]
fn s1_the_last_of_very_many_policies_is_judged() {
    let folder = folder();
    let last = route("9, perTryTimeout: 200ms, retryOn: 5xx");
    let text = HEAD.to_owned() + &route("0").repeat(10_000) + &last;
    fs::write(folder.path().join("mesh.yaml"), text).unwrap();
    let words = ["check", "mesh.yaml", "--service", "service.toml", "--json"];
    let output = becalm(&words, folder.path());
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(in_json(&text), ["mesh.yaml error"]);
}

/// It ends before anybody could see what comes of its trigger.
#[test]
fn s4_a_scenario_without_a_verdict_is_refused_by_each_judge() {
    let folder = folder();
    let short = SERVICE.replace("20s", "8500ms");
    fs::write(folder.path().join("service.toml"), short).unwrap();
    for words in [
        &["check", "good.toml", "--service", "service.toml"][..],
        &["storm", "service.toml"],
        &["storm", "tune", "service.toml"],
        &["storm", "service.toml", "--sweep", "load=1"],
    ] {
        let output = becalm(words, folder.path());
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {told}");
        assert!(told.contains("the horizon of 8.5s is too short"), "{told}");
    }
}
