//! The policy flags of the real command: what is refused, how, and with which exit code.

use std::process::Command;

struct Refusal {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn becalm(arguments: &str) -> Refusal {
    let output = Command::new(env!("CARGO_BIN_EXE_becalm"))
        .args(arguments.split_whitespace())
        .output()
        .expect("the binary starts");
    Refusal {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into(),
        stderr: String::from_utf8_lossy(&output.stderr).into(),
    }
}

/// Flags that are refused, and what the sentence must name: the flag and the remedy.
const REFUSED: [(&str, [&str; 2]); 43] = [
    ("--attempts 0", ["--attempts", "at least 1"]),
    ("--attempts many", ["--attempts", "unlimited"]),
    ("--attempts -1", ["--attempts", "negative"]),
    ("--base 90", ["--base", "250ms"]),
    ("--base -1s", ["--base", "negative"]),
    ("--base 30s", ["--base", "raise cap"]),
    ("--base", ["--base", "<DURATION>"]),
    ("--cap 0", ["--cap", "longest delay"]),
    ("--cap 999999999999d", ["--cap", "584 years"]),
    ("--floor 20s", ["--floor", "below cap"]),
    ("--multiplier 0.5", ["--multiplier", "at least 1"]),
    ("--multiplier nan", ["--multiplier", "at least 1"]),
    ("--multiplier inf", ["--multiplier", "finite"]),
    ("--multiplier -2", ["--multiplier", "negative"]),
    ("--backoff cubic", ["--backoff", "fibonacci"]),
    ("--jitter half", ["--jitter", "full"]),
    ("--jitter proportional:2", ["--jitter", "at most 1"]),
    ("--jitter proportional", ["--jitter", "proportional:0.25"]),
    ("--jitter additive:21s", ["--jitter", "at most cap"]),
    ("--jitter decorrelated --base 0", ["--base", "full jitter"]),
    ("--deadline 0", ["--deadline", "leave it out"]),
    ("--attempt-timeout 0s", ["--attempt-timeout", "0"]),
    ("--budget 10%", ["--budget", "ratio:"]),
    ("--budget ratio:0", ["--budget", "none"]),
    ("--budget ratio:0.1,burst:0", ["--budget", "burst"]),
    ("--budget tokens:0", ["--budget", "capacity"]),
    ("--budget ratio:0.1+ratio:0.2", ["--budget", "twice"]),
    ("--max-waiting 0", ["--max-waiting", "attempts 1"]),
    ("--breaker sometimes", ["--breaker", "consecutive:"]),
    ("--breaker share:2", ["--breaker", "share"]),
    ("--breaker consecutive:5,open:0s", ["--breaker", "open"]),
    ("--hedge 50ms", ["--hedge", "after:50ms"]),
    ("--hedge p95,copies:9", ["--hedge", "copies"]),
    ("--bulkhead 50", ["--bulkhead", "calls:"]),
    ("--bulkhead calls:5,max-wait:1s", ["--bulkhead", "waiting"]),
    ("--throttle 2", ["--throttle", "accepts:"]),
    ("--throttle accepts:2,max:0", ["--throttle", "max"]),
    ("--rate reno", ["--rate", "cubic"]),
    ("--hint obey", ["--hint", "ignore"]),
    ("--seed x", ["--seed", "invalid"]),
    ("--preset grcp", ["--preset", "did you mean `grpc`"]),
    ("--preset storm", ["--preset", "becalm presets"]),
    (
        "--policy /nonexistent.toml",
        ["--policy", "/nonexistent.toml"],
    ),
];

#[test]
fn p2_flags_that_contradict_each_other_are_refused() {
    for (flags, flag, remedy) in [
        (
            "--jitter decorrelated --multiplier 3",
            "--multiplier",
            "another --jitter",
        ),
        (
            "--jitter decorrelated-clamped --multiplier 2",
            "--multiplier",
            "another --jitter",
        ),
        (
            "--jitter decorrelated --backoff fixed",
            "--backoff",
            "another --jitter",
        ),
        (
            "--backoff fixed --multiplier 3",
            "--multiplier",
            "--backoff exponential",
        ),
        (
            "--backoff linear --multiplier 3",
            "--multiplier",
            "--backoff exponential",
        ),
        (
            "--preset failsafe-go --multiplier 3",
            "--multiplier",
            "--backoff exponential",
        ),
        (
            "--hint ignore --max-hint 5s",
            "--max-hint",
            "another --hint",
        ),
        (
            "--preset stripe --max-hint 5s",
            "--max-hint",
            "another --hint",
        ),
    ] {
        for (command, code) in [("plan", 2), ("run", 125)] {
            let refusal = becalm(&format!("{command} {flags} -- true"));
            let refusal = if command == "plan" {
                becalm(&format!("plan {flags}"))
            } else {
                refusal
            };
            assert_eq!(refusal.code, Some(code), "{flags}: {}", refusal.stderr);
            for part in [flag, remedy, "no effect"] {
                assert!(
                    refusal.stderr.contains(part),
                    "{flags}: no `{part}` in: {}",
                    refusal.stderr
                );
            }
        }
    }
    // A setting of a comparison is a flag.
    for (text, other) in [
        ("decorrelated;multiplier=3", "jitter decorrelated"),
        ("backoff=fixed;multiplier=3", "backoff fixed"),
        ("hint=ignore;max-hint=5s", "hint ignore"),
    ] {
        let refusal = becalm(&format!("storm herd --clients 10 --compare {text}"));
        assert_eq!(refusal.code, Some(2), "{text}: {}", refusal.stderr);
        let why = format!("has no effect: {other}");
        assert!(refusal.stderr.contains(&why), "{text}: {}", refusal.stderr);
    }
    // What a preset or a file brings along is not refused: nobody asked for it here.
    for flags in [
        "--jitter decorrelated --preset spring-retry",
        "--jitter decorrelated --cap 5s --base 200ms",
        "--backoff exponential --multiplier 3",
        "--backoff fixed --preset resilience4j-exponential-random",
        "--hint clamp --max-hint 5s",
    ] {
        let plan = becalm(&format!("plan {flags}"));
        assert_eq!(plan.code, Some(0), "{flags}: {}", plan.stderr);
    }
}

#[test]
fn p2_the_head_of_a_plan_names_the_growth_that_is_used() {
    let head = |flags: &str| {
        let plan = becalm(&format!("plan {flags}"));
        assert_eq!(plan.code, Some(0), "{flags}: {}", plan.stderr);
        plan.stdout.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(
        head("--jitter decorrelated --base 50ms"),
        "from 50ms to 3 x the last wait, cap 20s, jitter decorrelated"
    );
    assert_eq!(
        head("--backoff linear"),
        "linear from 100ms, cap 20s, jitter full"
    );
    let json = becalm("plan --json --jitter decorrelated").stdout;
    assert!(
        json.contains("from 100ms to 3 x the last wait, cap 20s"),
        "{json}"
    );
}

#[test]
fn what_cannot_be_kept_is_refused_with_field_and_remedy() {
    for (flags, named) in REFUSED {
        let refusal = becalm(&format!("plan {flags}"));
        assert_eq!(refusal.code, Some(2), "{flags}: {}", refusal.stderr);
        assert_eq!(refusal.stdout, "", "{flags}");
        for word in named {
            assert!(
                refusal.stderr.contains(word),
                "{flags}: no `{word}` in: {}",
                refusal.stderr
            );
        }
        assert!(
            !refusal.stderr.contains("panicked"),
            "{flags}: {}",
            refusal.stderr
        );
    }
}

/// The other exit codes of `run` belong to its child.
#[test]
fn an_unreadable_command_line_is_2_but_125_for_run() {
    for (arguments, code) in [
        ("", 2),
        ("--bogus", 2),
        ("bogus", 2),
        ("plan --bogus", 2),
        ("plan --base x", 2),
        ("drill --base x", 2),
        ("completions tcsh", 2),
        ("run --bogus", 125),
        ("run --base x -- true", 125),
        ("run --base -1s -- true", 125),
    ] {
        let refusal = becalm(arguments);
        assert_eq!(
            refusal.code,
            Some(code),
            "becalm {arguments}: {}",
            refusal.stderr
        );
        assert_ne!(refusal.stderr, "", "becalm {arguments}");
    }
}

#[test]
fn none_lifts_a_limit() {
    let text = becalm("plan --deadline none --attempt-timeout none --max-waiting none");
    assert_eq!((text.code, &*text.stderr), (Some(0), ""));
    assert!(
        !text.stdout.contains("the whole call ends"),
        "{}",
        text.stdout
    );
}

/// Base, cap and attempts, each set by another source, and by several.
#[test]
fn defaults_yield_to_the_preset_the_file_and_the_flags() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("policy.toml");
    std::fs::write(&file, "base = \"300ms\"\nattempts = 6\n").expect("written");
    let file = file.to_str().expect("UTF-8");
    let told = |flags: &str| {
        let plan = becalm(&format!("plan {flags}"));
        assert_eq!(plan.code, Some(0), "{flags}: {}", plan.stderr);
        let lines: Vec<_> = plan.stdout.lines().take(2).collect();
        lines.join("; ")
    };
    let preset = "--preset grpc";
    for (flags, expected) in [
        (
            String::new(),
            "exponential from 100ms x 2, cap 20s, jitter full; \
             4 attempts, budget ratio:0.1,burst:5s,min:10,floor:10/h",
        ),
        (
            preset.to_owned(),
            "exponential from 100ms x 2, cap 1s, jitter proportional:0.2; \
             4 attempts, budget grpc:10,ratio:0.1",
        ),
        (
            format!("--policy {file}"),
            "exponential from 300ms x 2, cap 20s, jitter full; \
             6 attempts, budget ratio:0.1,burst:5s,min:10,floor:10/h",
        ),
        (
            format!("--attempts 9 --policy {file} {preset}"),
            "exponential from 300ms x 2, cap 1s, jitter proportional:0.2; \
             9 attempts, budget grpc:10,ratio:0.1",
        ),
    ] {
        assert_eq!(told(&flags), expected, "{flags}");
    }
}

#[test]
fn a_policy_file_is_refused_with_its_name_and_the_remedy() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("policy.toml");
    for (text, flags, named) in [
        ("atempts = 5", "", "did you mean `attempts`"),
        ("base = 5", "", "base"),
        ("base = \"30s\"", "", "raise cap"),
        ("base = = 5", "", "line 1"),
        ("preset = \"grcp\"", "", "did you mean `grpc`"),
        (
            "preset = \"grpc\"",
            "--preset envoy",
            "leave out --preset envoy",
        ),
    ] {
        std::fs::write(&file, text).expect("written");
        let refusal = becalm(&format!("plan --policy {} {flags}", file.display()));
        assert_eq!(refusal.code, Some(2), "{text}: {}", refusal.stderr);
        for word in ["policy.toml", named] {
            assert!(
                refusal.stderr.contains(word),
                "{text}: no `{word}` in: {}",
                refusal.stderr
            );
        }
        assert_eq!(
            refusal.stderr.lines().count(),
            1,
            "{text}: {}",
            refusal.stderr
        );
    }
}
