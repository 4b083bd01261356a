//! Help, completions and the manual tell every flag.

use std::process::Command;

const POLICY_FLAGS: [&str; 23] = [
    "--mode",
    "--preset",
    "--policy",
    "--attempts",
    "--base",
    "--cap",
    "--floor",
    "--multiplier",
    "--backoff",
    "--jitter",
    "--deadline",
    "--attempt-timeout",
    "--budget",
    "--breaker",
    "--hedge",
    "--bulkhead",
    "--throttle",
    "--rate",
    "--throttled-base",
    "--hint",
    "--max-hint",
    "--max-waiting",
    "--seed",
];

const FOR_MANY_CALLS: [&str; 6] = [
    "--breaker",
    "--hedge",
    "--bulkhead",
    "--throttle",
    "--rate",
    "--max-waiting",
];

const PLAN_FLAGS: [&str; 5] = ["--json", "--svg", "--sample", "--rows", "--throttled"];

fn stdout(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_becalm"))
        .args(arguments)
        .output()
        .expect("the binary starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "becalm {arguments:?}: {stderr}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn help_mentions_every_flag() {
    for command in [&["plan"][..], &["run"], &["drill"], &["drill", "http"]] {
        let (short, long) = (
            stdout(&[command, &["-h"]].concat()),
            stdout(&[command, &["--help"]].concat()),
        );
        // A run is one call, and lists nothing that bounds many.
        let listed = |flag: &&str| command != ["run"] || !FOR_MANY_CALLS.contains(flag);
        for flag in POLICY_FLAGS.into_iter().filter(listed) {
            assert!(
                short.contains(flag) && long.contains(flag),
                "becalm {command:?}: {flag}"
            );
        }
    }
    let long = stdout(&["plan", "--help"]);
    for flag in PLAN_FLAGS {
        assert!(long.contains(flag), "becalm plan: {flag}");
    }
}

#[test]
fn help_groups_the_flags_and_gives_examples() {
    let long = stdout(&["plan", "--help"]);
    for part in [
        "Policy: where it starts from:",
        "Policy: limits:",
        "Policy: protection of what is called:",
        "Policy: delays:",
        "Examples:",
        "cumulative_mean_ms",
    ] {
        assert!(long.contains(part), "becalm plan --help: {part}");
    }
    let short = stdout(&["--help"]);
    for part in [
        "run",
        "plan",
        "drill",
        "completions",
        "man",
        "Examples:",
        "125",
    ] {
        assert!(short.contains(part), "becalm --help: {part}");
    }
}

/// The document that `--help` shows is what `--json` prints.
#[test]
fn help_documents_the_real_json() {
    let help = stdout(&["plan", "--help"]);
    let shape: String = help
        .split("needed:")
        .nth(1)
        .expect("the shape")
        .split_whitespace()
        .collect();
    let (document, _) = shape
        .split_once("\"retries\"holds")
        .expect("the end of the shape");
    let mut documented: serde_json::Value = serde_json::from_str(document).expect("JSON");
    documented["lints"] = serde_json::json!([]);
    let printed = stdout(&["plan", "--attempts", "2", "--json"]);
    let printed: String = printed.split_whitespace().collect();
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&printed).expect("JSON"),
        documented
    );
}

#[test]
fn completions_mention_every_flag_in_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = stdout(&["completions", shell]);
        for flag in POLICY_FLAGS.iter().chain(&PLAN_FLAGS) {
            let name = if shell == "fish" { &flag[2..] } else { flag };
            assert!(script.contains(name), "{shell}: {flag}");
        }
    }
}

#[test]
fn the_manual_has_a_page_for_every_command() {
    let manual = stdout(&["man"]);
    for page in [
        "becalm",
        "becalm-run",
        "becalm-plan",
        "becalm-drill",
        "becalm-drill-http",
        "becalm-drill-target",
        "becalm-drill-listen",
        "becalm-drill-ws",
        "becalm-man",
    ] {
        assert!(manual.contains(&format!(".TH {page} 1")), "{page}");
    }
    for flag in POLICY_FLAGS.iter().chain(&PLAN_FLAGS) {
        assert!(manual.contains(&flag.replace('-', "\\-")), "{flag}");
    }

    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("man1");
    stdout(&["man", "--dir", path.to_str().expect("UTF-8")]);
    let page = std::fs::read_to_string(path.join("becalm-plan.1")).expect("the page is there");
    assert!(page.contains("cumulative_mean_ms"), "{page}");
}

/// man-pages(7) names the sections.
#[test]
fn p3_the_manual_of_run_has_the_sections_that_readers_look_for() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().to_str().expect("UTF-8");
    stdout(&["man", "--dir", path]);
    let page = std::fs::read_to_string(directory.path().join("becalm-run.1")).expect("a page");
    for (section, part) in [
        ("EXAMPLES", "pg_dump"),
        ("\"EXIT STATUS\"", "125"),
        ("ENVIRONMENT", "BECALM_HINT_FILE"),
        ("ENVIRONMENT", "BECALM_REASON"),
        ("SIGNALS", "USR1"),
        ("REPORT", "gave_up"),
    ] {
        let text = page.split(&format!("\n.SH {section}\n")).nth(1);
        let text = text.unwrap_or_else(|| panic!("no {section} in {page}"));
        let text = text.split("\n.SH ").next().expect("a part");
        assert!(text.contains(part), "{section}: no {part} in {text}");
    }
    assert!(!page.contains("NOTES"), "{page}");
    // The notes of others stay what they are.
    assert!(stdout(&["man"]).contains("\n.SH NOTES\n"));
}

/// In `presets` and `plan`, as text and as JSON, by a flag and by a file.
#[test]
fn what_a_system_does_otherwise_is_told_wherever_its_preset_is() {
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let all = stdout(&["presets", "--json"]);
    let mut all = all.lines();
    let file = std::env::temp_dir().join(format!("becalm-preset-{}.toml", std::process::id()));
    for preset in becalm::preset::Preset::all() {
        let name = preset.name();
        let line: serde_json::Value =
            serde_json::from_str(all.next().expect("a line")).expect("JSON");
        std::fs::write(&file, format!("preset = \"{name}\"\n")).expect("it writes");
        let policy = file.to_str().expect("a text");
        let ways = [["--preset", name], ["--policy", policy]];
        for way in ways {
            let plan = stdout(&[["plan"].as_slice(), &way, &["--json"]].concat());
            let plan: serde_json::Value = serde_json::from_str(&plan).expect("JSON");
            for told in [&plan["preset"], &line] {
                assert_eq!(told["name"], name);
                assert_eq!(told["source"], preset.source());
                assert_eq!(told["differs"].as_str(), preset.differs());
            }
            let plan = one_line(&stdout(&[["plan"].as_slice(), &way].concat()));
            let presets = one_line(&stdout(&["presets", name]));
            assert!(plan.contains(&one_line(preset.source())), "{plan}");
            if let Some(differs) = preset.differs() {
                assert!(plan.contains(&one_line(differs)), "{plan}");
                assert!(presets.contains(&one_line(differs)), "{presets}");
            }
        }
    }
    assert!(all.next().is_none());
    std::fs::remove_file(&file).expect("it was written");
}

#[test]
fn presets_tell_their_source_their_policy_and_what_differs() {
    let all = stdout(&["presets"]);
    for preset in becalm::preset::Preset::all() {
        assert!(
            all.lines().any(|line| line == preset.name()),
            "{}",
            preset.name()
        );
    }
    assert!(all.lines().all(|line| line.chars().count() <= 80), "{all}");
    let one = stdout(&["presets", "aws-standard-2026-11"]);
    for part in [
        "AWS",
        "50ms x 2",
        "from 1s when throttled",
        "3 attempts",
        "differs: ",
    ] {
        assert!(one.contains(part), "{one}");
    }
    assert_eq!(
        one.lines().filter(|line| !line.starts_with(' ')).count(),
        1,
        "{one}"
    );
}
