//! Do processes that share a budget file keep its law, whatever becomes of them?

mod run_support;

use std::path::Path;

use nix::sys::signal::Signal;
use run_support::{Folder, RunCommand, becalm, becalm_at_once, report};

/// A budget that only its burst can pay from.
fn shared(run: RunCommand, burst: u32, path: &Path) -> RunCommand {
    run.flag("--budget", format!("ratio:0.000001,burst:{burst}"))
        .flag("--budget-file", path)
}

/// Attempts that a run of many makes.
fn attempts(burst: u32, path: &Path) -> usize {
    let done = shared(becalm_at_once().flags("--attempts 30"), burst, path).sh("echo try; exit 3");
    assert_eq!(done.code(), 3, "{}", done.err());
    done.out().lines().count()
}

#[test]
fn one_run_after_another_spends_one_burst() {
    let folder = Folder::new();
    let path = folder.path("budget");
    assert_eq!(attempts(5, &path), 6);
    assert_eq!(attempts(5, &path), 1);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(attempts(5, &path), 6);
}

/// The budget earns two tokens a second. A run waits for its second token; that is one report line and one hook.
#[test]
fn a_run_waits_for_a_token_of_the_file() {
    let folder = Folder::new();
    let (path, lines) = (folder.path("budget"), folder.path("report"));
    let run_with = |floor, flags| {
        becalm()
            .flags("--base 20ms --attempts 3")
            .flag("--budget", format!("ratio:0.1,burst:1,floor:{floor}"))
            .flag("--on-retry", "echo hook")
            .flag("--budget-file", &path)
            .flag("--report", &lines)
            .flags(flags)
            .sh("echo try $BECALM_ATTEMPT; [ $BECALM_ATTEMPT -eq 3 ]")
    };
    let run = |flags| run_with("2", flags);
    let stops = run("--deadline 30s");
    assert_eq!(stops.code(), 1, "{}", stops.err());
    std::fs::remove_file(&path).unwrap();
    std::fs::remove_file(&lines).unwrap();
    let waits = run("--deadline 30s --when-spent wait");
    assert_eq!(waits.code(), 0, "{}", waits.err());
    assert!(waits.err().contains("waits for a token"), "{}", waits.err());
    assert_eq!(waits.err().matches("hook").count(), 2, "{}", waits.err());
    let report = report(&lines);
    assert_eq!(report.len(), 4, "three attempts and a summary: {report:?}");
    assert!(
        report[3]["elapsed_ms"].as_f64().unwrap() > 300.0,
        "{report:?}"
    );
    std::fs::remove_file(&path).unwrap();
    let late = run_with("0", "--deadline 2s --when-spent wait");
    assert!(
        late.err().contains("the retry budget is spent"),
        "{}",
        late.err()
    );
}

#[test]
fn a_preset_without_a_budget_shares_the_librarys() {
    let folder = Folder::new();
    let path = folder.path("budget");
    let run = |flags| {
        becalm_at_once()
            .flags(flags)
            .flag("--budget-file", &path)
            .sh("echo try; exit 3")
    };
    let done = run("--preset command --attempts 30");
    // A burst of ten, and the first try.
    assert_eq!((done.code(), done.out().lines().count()), (3, 11));
    let refused = run("--preset command --budget none");
    assert_eq!(refused.code(), 125);
    assert!(refused.err().contains("--budget none asks for none"));
    let other = run("--preset aws-standard-2026-11");
    assert_eq!(other.code(), 125);
    assert!(
        other.err().contains("set --budget ratio:0.1"),
        "{}",
        other.err()
    );
}

#[test]
fn successes_deposit_or_first_tries() {
    let folder = Folder::new();
    // Three successes are worth one and a half, three first tries and its own are worth two.
    for (kind, attempts) in [("ratio", 2), ("first-tries", 3)] {
        let path = folder.path(kind);
        let run = |script| {
            becalm_at_once()
                .flags("--attempts 30")
                .flag("--budget", format!("{kind}:0.5,burst:2"))
                .flag("--budget-file", &path)
                .sh(script)
        };
        assert_eq!(run("echo try; exit 3").out().lines().count(), 3);
        for _ in 0..3 {
            assert_eq!(run("exit 0").code(), 0);
        }
        let lines = run("echo try; exit 3").out().lines().count();
        assert_eq!(lines, attempts, "{kind}");
    }
}

#[test]
fn twenty_processes_at_once_are_never_granted_more_than_there_is() {
    let folder = Folder::new();
    let path = folder.path("budget");
    let running: Vec<_> = (0..20)
        .map(|_| shared(becalm_at_once(), 7, &path).start_sh("echo try; exit 3"))
        .collect();
    let done: Vec<_> = running
        .into_iter()
        .map(run_support::Running::finish)
        .collect();
    assert!(done.iter().all(|done| done.code() == 3));
    let attempts: usize = done.iter().map(|done| done.out().lines().count()).sum();
    assert_eq!(attempts, 20 + 7);
}

#[test]
fn a_process_that_is_killed_in_its_wait_loses_its_own_token_and_no_more() {
    let folder = Folder::new();
    for (signal, left) in [(Signal::SIGKILL, 3), (Signal::SIGTERM, 4)] {
        let path = folder.path(signal.as_str());
        let waits = becalm().flags("--base 1h --cap 1h --jitter none");
        let mut running = shared(waits, 4, &path).start_sh("exit 3");
        assert!(running.error_line().ends_with("retry in 1h"));
        running.signal(signal);
        let status = running.finish().0.status;
        assert!(!status.success());
        // Neither a lock is left, nor half a state. A wait that was ended in order gives back.
        assert_eq!(attempts(4, &path), 1 + left, "{signal}");
    }
}

#[test]
fn a_storm_of_killed_processes_leaves_a_sound_file() {
    let folder = Folder::new();
    let (path, burst) = (folder.path("budget"), 1_000_000);
    for round in 0..12 {
        let mut running: Vec<_> = (0..4)
            .map(|_| {
                let busy = becalm_at_once().flags("--attempts unlimited --quiet");
                shared(busy, burst, &path).start_sh("echo try; exit 3")
            })
            .collect();
        for running in &mut running {
            for _ in 0..=round {
                assert_eq!(running.line(), "try");
            }
            running.signal(Signal::SIGKILL);
        }
        for running in running {
            assert_eq!(running.finish().0.status.code(), None);
        }
    }
    // Had a write been cut in two, the file would be refused.
    assert_eq!(attempts(burst, &path), 30);
}

#[test]
fn a_file_that_becomes_foreign_denies_and_says_so() {
    let folder = Folder::new();
    let (path, report_path) = (folder.path("budget"), folder.path("report"));
    let run = becalm_at_once()
        .flag("--report", &report_path)
        .env("BUDGET", &path);
    let done = shared(run, 5, &path).sh("echo buy milk > $BUDGET; exit 3");
    assert_eq!(done.code(), 3);
    assert_eq!(report(&report_path)[1]["reason"], "budget_exhausted");
    assert!(
        done.err().contains("is not a budget file of becalm"),
        "{}",
        done.err()
    );
}

#[test]
fn r9_a_budget_file_that_cannot_be_used_does_not_stop_the_first_try() {
    let folder = Folder::new();
    let foreign = folder.file("notes", "buy milk\n");
    let damaged = folder.path("damaged");
    assert_eq!(attempts(5, &damaged), 6);
    let content = std::fs::read_to_string(&damaged).unwrap();
    std::fs::write(&damaged, content.replace("check=", "check=0")).unwrap();
    let nowhere = folder.path("no/such/folder");
    let mut files = vec![foreign, damaged, nowhere, "/dev/null".into()];
    if Path::new("/dev/full").exists() {
        files.push("/dev/full".into());
    }
    for path in files {
        for (script, code) in [("echo try; exit 3", 3), ("echo try", 0)] {
            let done = becalm_at_once().flag("--budget-file", &path).sh(script);
            assert_eq!(
                (done.code(), done.out().as_str()),
                (code, "try\n"),
                "{path:?}"
            );
            let warnings = done.err().matches("without it no retry is granted").count();
            assert_eq!(warnings, 1, "{path:?}: {}", done.err());
        }
    }
}
