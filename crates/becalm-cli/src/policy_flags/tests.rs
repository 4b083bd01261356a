//! Does each flag set its field, and only that?

use super::*;
use clap::{CommandFactory as _, Parser};

#[derive(Debug, Parser)]
struct Probe {
    #[command(flatten)]
    flags: PolicyFlags,
}

fn policy(arguments: &[&str]) -> Result<Policy, String> {
    let arguments = std::iter::once(&"probe").chain(arguments);
    Probe::try_parse_from(arguments)
        .map_err(|error| error.to_string())?
        .flags
        .policy()
}

#[test]
fn no_flag_is_the_default_policy() {
    assert_eq!(policy(&[]), Ok(Policy::default()));
}

#[test]
fn a_policy_that_only_observes_is_refused_where_it_is_to_act() {
    let probe = Probe::try_parse_from(["probe", "--mode", "observe"]).unwrap();
    assert!(probe.flags.policy().is_ok());
    let refused = probe.flags.enforced().unwrap_err();
    assert!(
        refused.ends_with("set mode enforce here (--mode)"),
        "{refused}"
    );
}

#[test]
fn the_help_explains_every_jitter() {
    let command = Probe::command();
    let mut all = command.get_arguments();
    let jitter = all.find(|it| it.get_long() == Some("jitter")).unwrap();
    let help = jitter.get_long_help().unwrap().to_string();
    for text in Jitter::SAMPLES.iter().map(Jitter::to_string) {
        let quoted = match text.split_once(':') {
            Some((kind, _)) => format!("\"{kind}:"),
            None => format!("\"{text}\""),
        };
        assert!(help.contains(&quoted), "{text}");
    }
}

#[test]
fn another_default_gives_way_to_a_preset_and_to_no_other_flag() {
    let by_default = Policy::default().attempts(9);
    let given = |arguments: &[&str]| {
        let arguments = std::iter::once(&"probe").chain(arguments);
        let flags = Probe::try_parse_from(arguments).unwrap().flags;
        flags.policy_from(by_default.clone()).unwrap()
    };
    assert_eq!(given(&[]), by_default);
    let base = Duration::from_millis(7);
    assert_eq!(given(&["--base", "7ms"]), by_default.clone().base(base));
    let grpc = Preset::by_name("grpc").unwrap().policy();
    assert_eq!(given(&["--preset", "grpc"]), grpc);
}

#[test]
fn a_flag_wins_over_the_preset_and_none_lifts_its_limit() {
    let preset = Preset::by_name("aws-standard-2026-11").unwrap().policy();
    let from_preset = |flags: &[&str]| {
        let flags = [&["--preset", "aws-standard-2026-11"], flags].concat();
        policy(&flags)
    };
    assert!(preset.throttled_base.is_some());
    assert_eq!(from_preset(&[]), Ok(preset.clone()));
    assert_eq!(
        from_preset(&["--attempts", "8"]),
        Ok(preset.clone().attempts(8))
    );
    let mut lifted = preset;
    lifted.throttled_base = None;
    assert_eq!(from_preset(&["--throttled-base", "none"]), Ok(lifted));
}

#[test]
fn none_lifts_what_the_file_protects() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("policy.toml");
    let text = "breaker = \"consecutive:5\"\nhedge = \"p95\"\nbulkhead = \"calls:5\"\n\
                throttle = \"accepts:2\"\nrate = \"cubic\"";
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let flags =
        ["breaker", "hedge", "bulkhead", "throttle", "rate"].map(|it| format!("--{it}=none"));
    let mut arguments = vec!["--policy", file];
    let protected = policy(&arguments).unwrap();
    assert!(protected.breaker.is_some() && protected.rate.is_some());
    arguments.extend(flags.iter().map(String::as_str));
    assert_eq!(policy(&arguments), Ok(Policy::default()));
}

#[test]
fn every_flag_sets_its_field_and_no_other() {
    let by_default = Policy::default;
    let second = Duration::from_secs(1);
    for (arguments, expected) in vec![
        (["--attempts", "7"], by_default().attempts(7)),
        (
            ["--attempts", "unlimited"],
            by_default().attempts(Policy::UNLIMITED),
        ),
        (["--deadline", "1s"], by_default().deadline(second)),
        (
            ["--attempt-timeout", "1s"],
            by_default().attempt_timeout(second),
        ),
        (["--budget", "none"], by_default().budget(Budget::None)),
        (
            ["--budget", "ratio:0.2,burst:5"],
            by_default().budget(Budget::ratio(0.2).burst(5.0)),
        ),
        (
            ["--budget", "ratio:0.2+per-minute:60"],
            by_default().budget(Budget::ratio(0.2).and(Budget::per_minute(60))),
        ),
        (
            ["--budget", "tokens:500"],
            by_default().budget(Budget::tokens()),
        ),
        (["--max-waiting", "3"], by_default().max_waiting(3)),
        (["--mode", "observe"], by_default().mode(Mode::Observe)),
        (
            ["--breaker", "consecutive:5,open:30s"],
            by_default().breaker(Breaker::consecutive(5).open(Duration::from_secs(30))),
        ),
        (
            ["--hedge", "p95"],
            by_default().hedge(Hedge::at_quantile(0.95)),
        ),
        (
            ["--bulkhead", "calls:50,waiting:10"],
            by_default().bulkhead(Bulkhead::calls(50).waiting(10)),
        ),
        (
            ["--throttle", "accepts:2,within:2m"],
            by_default().throttle(Throttle::default()),
        ),
        (
            ["--rate", "cubic"],
            by_default().rate(AdaptiveRate::cubic()),
        ),
        (
            ["--backoff", "fibonacci"],
            by_default().backoff(Backoff::Fibonacci),
        ),
        (["--base", "1s"], by_default().base(second)),
        (
            ["--throttled-base", "1s"],
            by_default().throttled_base(second),
        ),
        (["--multiplier", "1.5"], by_default().multiplier(1.5)),
        (["--cap", "1s"], by_default().cap(second)),
        (["--floor", "1s"], by_default().floor(second)),
        (
            ["--jitter", "proportional:0.25"],
            by_default().jitter(Jitter::Proportional(0.25)),
        ),
        (
            ["--jitter", "additive:1s"],
            by_default().jitter(Jitter::Additive(second)),
        ),
        (["--hint", "clamp"], by_default().hint(HintMode::Clamp)),
        (["--max-hint", "1s"], by_default().max_hint(second)),
        (["--seed", "1"], by_default()),
    ] {
        assert_eq!(policy(&arguments), Ok(expected), "{arguments:?}");
    }
    let patient = by_default().when_spent(WhenSpent::Wait).deadline(second);
    let arguments = ["--when-spent", "wait", "--deadline", "1s"];
    assert_eq!(policy(&arguments), Ok(patient));
}

/// Each section of the page has the same policy as flags and as a file.
#[test]
fn the_flags_of_the_page_which_protection_when_are_its_files() {
    // Read when the test runs: no page is in the package.
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/which-protection.md"
    );
    let page = std::fs::read_to_string(path).unwrap();
    let sections = page.split("\n## ").skip(1);
    let mut compared = 0;
    for section in sections {
        let block = |start: &str| Some(section.split_once(start)?.1.split_once("\n```")?.0);
        let (Some(file), Some(line)) = (block("```toml\n"), block("$ becalm plan")) else {
            continue;
        };
        let flags = line.split('#').next().unwrap_or_default();
        let flags: Vec<_> = flags.split_whitespace().collect();
        let file: Policy = toml::from_str(file).unwrap();
        assert_eq!(policy(&flags), Ok(file), "{line}");
        compared += 1;
    }
    assert_eq!(compared, 13, "sections with a file and flags");
}

#[test]
fn what_cannot_be_kept_is_refused_with_its_flag() {
    for (arguments, flag) in [
        (&["--attempts", "0"][..], "--attempts"),
        (&["--when-spent", "wait"], "--when-spent"),
        (&["--attempts", "many"], "--attempts"),
        (&["--attempts=-1"], "--attempts"),
        (&["--deadline", "0"], "--deadline"),
        (&["--deadline", "soon"], "--deadline"),
        (&["--attempt-timeout", "0"], "--attempt-timeout"),
        (&["--budget", "ratio:0"], "--budget"),
        (&["--budget", "10%"], "--budget"),
        (&["--budget", "ratio:0.1+ratio:0.2"], "--budget"),
        (&["--budget", "tokens:0"], "--budget"),
        (&["--breaker", "consecutive:0"], "--breaker"),
        (&["--breaker", "sometimes"], "--breaker"),
        (&["--hedge", "p100"], "--hedge"),
        (&["--hedge", "50ms"], "--hedge"),
        (&["--bulkhead", "calls:0"], "--bulkhead"),
        (&["--bulkhead", "50"], "--bulkhead"),
        (&["--throttle", "accepts:0.5"], "--throttle"),
        (&["--rate", "reno"], "--rate"),
        (&["--max-waiting", "0"], "--max-waiting"),
        (&["--max-waiting", "few"], "--max-waiting"),
        (&["--backoff", "cubic"], "--backoff"),
        (&["--base", "90"], "--base"),
        (&["--base", "30s"], "--base"),
        (&["--throttled-base", "x"], "--throttled-base"),
        (&["--multiplier", "0.5"], "--multiplier"),
        (&["--multiplier=-2"], "--multiplier"),
        (&["--multiplier", "nan"], "--multiplier"),
        (&["--multiplier", "two"], "--multiplier"),
        (&["--cap", "0"], "--cap"),
        (&["--cap", "99999999999999999999s"], "--cap"),
        (&["--floor", "20s"], "--floor"),
        (&["--jitter", "half"], "--jitter"),
        (&["--jitter", "proportional:2"], "--jitter"),
        (&["--jitter", "proportional"], "--jitter"),
        (&["--jitter", "additive:21s"], "--jitter"),
        (&["--jitter", "decorrelated", "--base", "0"], "--base"),
        (&["--hint", "obey"], "--hint"),
        (&["--max-hint=-1s"], "--max-hint"),
        (&["--seed=-1"], "--seed"),
        (&["--preset", "grcp"], "did you mean `grpc`"),
        (&["--preset", "x"], "becalm presets"),
        (&["--policy", "/nonexistent"], "--policy"),
    ] {
        let refusal = policy(arguments).expect_err(&format!("{arguments:?} is accepted"));
        assert!(refusal.contains(flag), "{arguments:?}: {refusal}");
    }
}
