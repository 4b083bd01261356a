//! What do the command, its hooks and a report learn of the retries, and what does the command say?

mod run_support;

use nix::sys::signal::Signal;
use run_support::{Folder, becalm, becalm_at_once, in_time, report};

#[test]
fn the_command_is_told_about_its_attempt() {
    let script = "echo $BECALM_ATTEMPT/$BECALM_ATTEMPTS ${BECALM_LAST_EXIT-none} \
                  ${BECALM_REMAINING_MS-none} ${BECALM_REASON-none}; exit $((6 + BECALM_ATTEMPT))";
    // Not what another becalm around this one has said.
    let done = becalm_at_once()
        .flags("--attempts 3")
        .env("BECALM_LAST_EXIT", "99")
        .env("BECALM_REMAINING_MS", "99")
        .env("BECALM_REASON", "99")
        .sh(script);
    assert_eq!(
        done.out(),
        "1/3 none none none\n2/3 7 none none\n3/3 8 none none\n"
    );
}

#[test]
fn the_command_is_told_the_time_that_is_left() {
    let done = becalm_at_once()
        .flags("--attempts 2 --deadline 1h")
        .sh("echo $BECALM_REMAINING_MS; exit 1");
    let left: Vec<u64> = done
        .out()
        .lines()
        .map(|line| line.parse().unwrap())
        .collect();
    assert!(left[0] >= left[1], "{left:?}");
    assert!(
        left.iter().all(|left| (1..=3_600_000).contains(left)),
        "{left:?}"
    );
}

/// It runs once, past every limit, and is told what enforcing would have done.
#[test]
fn a_run_that_only_observes_runs_once_and_says_what_it_would_have_done() {
    let folder = Folder::new();
    let file = folder.path("report");
    let flags = format!("--mode observe --report {} --deadline 1h", file.display());
    let done = becalm()
        .flags(&flags)
        .sh("echo $BECALM_ATTEMPT/$BECALM_ATTEMPTS; exit 7");
    assert_eq!((done.code(), done.out()), (7, "1/1\n".into()));
    let lines = done.err();
    assert!(
        lines.starts_with("becalm: only observing; enforcing would have retried it in "),
        "{lines}"
    );
    assert!(
        lines.ends_with(
            "gave up because all attempts were used, after 1 attempt (exit 7): /bin/sh\n"
        ),
        "{lines}"
    );
    let lines = report(&file);
    let types: Vec<_> = lines.iter().map(|line| line["type"].clone()).collect();
    assert_eq!(types, ["attempt", "observed", "summary"]);
    assert_eq!(
        (&lines[0]["decision"], &lines[0]["reason"]),
        (&"stop".into(), &"attempts_exhausted".into())
    );
    assert_eq!(lines[1]["would"], "retry");
    assert!(lines[1]["time_ms"].as_f64().is_some_and(|time| time > 0.0));
}

#[test]
fn a_run_that_only_observes_ends_no_command_and_tells_when_it_would_have() {
    let done = becalm()
        .flags("--mode observe --attempts 1 --attempt-timeout 100ms")
        .sh("sleep 0.3; echo done");
    assert_eq!((done.code(), done.out()), (0, "done\n".into()));
    let told = "becalm: only observing; enforcing would have ended it after 100ms\n\
                becalm: only observing; enforcing would not have retried it, because all attempts were used\n\
                becalm: only observing; enforcing would have failed, though the command succeeded\n";
    assert_eq!(done.err(), told);
}

#[test]
fn unlimited_attempts_are_a_number_too() {
    let done = becalm_at_once()
        .flags("--attempts unlimited")
        .sh("[ $BECALM_ATTEMPT -lt $BECALM_ATTEMPTS ] && [ $BECALM_ATTEMPT -eq 9 ]");
    assert_eq!((done.code(), done.err().lines().count()), (0, 8));
    assert!(
        done.err()
            .starts_with("becalm: attempt 1 failed (exit 1); retry in 0s\n")
    );
}

/// A policy file may be that of a service as well.
#[test]
fn what_bounds_many_calls_is_left_out_of_a_file_and_said() {
    let folder = Folder::new();
    let file = folder.file(
        "policy.toml",
        "base = \"0s\"\nbreaker = \"consecutive:1\"\nhedge = \"after:0s\"\nrate = \"cubic\"\n",
    );
    let run = || becalm().flag("--policy", &file).flags("--attempts 3");
    let done = run().sh("echo $BECALM_ATTEMPT; exit 7");
    assert_eq!((done.code(), &*done.out()), (7, "1\n2\n3\n"));
    let left_out = "becalm: one run is one call, so this is left out: rate cubic; hedge ";
    assert!(done.err().starts_with(left_out), "{}", done.err());
    assert_eq!(run().flags("--quiet").sh("true").err(), "");
}

#[test]
fn what_is_listed_of_services_is_left_out_of_a_file_and_said() {
    let folder = Folder::new();
    let file = "base = \"0s\"\nretry_on = { statuses = [503], failures = [] }\n";
    let file = folder.file("policy.toml", file);
    let run = || becalm().flag("--policy", &file).flags("--attempts 2");
    let done = run().sh("echo $BECALM_ATTEMPT; exit 7");
    assert_eq!((done.code(), &*done.out()), (7, "1\n2\n"));
    let left_out = "becalm: --retry-on says which exits of a command are retried, so this is left out: retry_on \
                    statuses 503; failures none\n";
    assert!(done.err().starts_with(left_out), "{}", done.err());
    assert_eq!(run().flags("--quiet").sh("true").err(), "");
}

#[test]
fn a_report_has_a_line_for_each_attempt_and_a_summary() {
    let folder = Folder::new();
    let path = folder.path("report");
    let done = becalm()
        .flags("--base 1ms --jitter none --attempts 3")
        .flag("--report", &path)
        .sh("[ $BECALM_ATTEMPT -eq 1 ] && exit 7; kill -9 $$");
    assert_eq!(done.code(), 137);
    let mut lines = report(&path);
    let mut start = 0.0;
    for line in &mut lines {
        let line = line.as_object_mut().unwrap();
        assert!(line.remove("time").is_some() && line.remove("run").is_some());
    }
    for line in &mut lines[..3] {
        let line = line.as_object_mut().unwrap();
        let started = line.remove("started_ms").unwrap().as_f64().unwrap();
        assert!(started >= start);
        start = started + line.remove("duration_ms").unwrap().as_f64().unwrap();
    }
    let elapsed = lines[3]
        .as_object_mut()
        .unwrap()
        .remove("elapsed_ms")
        .unwrap();
    assert!(elapsed.as_f64().unwrap() >= start);
    let attempt = |attempt: u32, signal: Option<u32>, delay: Option<f64>| {
        serde_json::json!({
            "type": "attempt", "attempt": attempt,
            "ended": if signal.is_some() { "signal" } else { "exit" },
            "exit": signal.map_or(7, |signal| 128 + signal), "signal": signal,
            "matched": null, "class": "transient", "hint_ms": null,
            "decision": if delay.is_some() { "retry" } else { "stop" },
            "delay_ms": delay,
            "reason": if delay.is_some() { None } else { Some("attempts_exhausted") },
        })
    };
    let summary = serde_json::json!({
        "type": "summary", "outcome": "gave_up", "reason": "attempts_exhausted",
        "attempts": 3, "exit": 137,
    });
    let expected = [
        attempt(1, None, Some(1.0)),
        attempt(2, Some(9), Some(2.0)),
        attempt(3, Some(9), None),
        summary,
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_report_of_success_has_no_reason() {
    let folder = Folder::new();
    let path = folder.path("report");
    assert_eq!(becalm().flag("--report", &path).sh("exit 0").code(), 0);
    let lines = report(&path);
    assert_eq!(
        (&lines[0]["decision"], &lines[0]["class"]),
        (&"done".into(), &().into())
    );
    assert_eq!(
        (&lines[1]["outcome"], &lines[1]["reason"]),
        (&"success".into(), &().into())
    );
}

#[test]
fn a_seed_makes_the_delays_reproducible_and_its_absence_does_not() {
    let folder = Folder::new();
    let delays = |flags: &str| {
        let path = folder.path("report");
        becalm()
            .flags("--base 1ms --attempts 4")
            .flags(flags)
            .flag("--report", &path)
            .sh("exit 1");
        report(&path)[..3]
            .iter()
            .map(|line| line["delay_ms"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(delays("--seed 7"), delays("--seed 7"));
    assert_ne!(delays("--seed 7"), delays("--seed 8"));
    assert_ne!(delays(""), delays(""));
}

#[test]
fn a_hint_of_the_command_is_waited_for() {
    let folder = Folder::new();
    let path = folder.path("report");
    let mut running = becalm_at_once()
        .flag("--report", &path)
        .start_sh("echo 5 > $BECALM_HINT_FILE; exit 7");
    // No need to wait so long: the report is written before the wait.
    assert!(running.error_line().contains("retry in 5"));
    running.signal(Signal::SIGTERM);
    running.finish();
    let attempt = &report(&path)[0];
    assert_eq!(attempt["hint_ms"].as_f64(), Some(5_000.0));
    // The hint is a floor, and a tenth of it is the width of the jitter on top.
    let delay = attempt["delay_ms"].as_f64().unwrap();
    assert!((5_000.0..=5_500.0).contains(&delay), "{delay}");
}

#[test]
fn a_hint_is_for_one_attempt_and_garbage_is_none() {
    let folder = Folder::new();
    let path = folder.path("report");
    let done = becalm_at_once()
        .flags("--attempts 4")
        .flag("--report", &path)
        .sh("case $BECALM_ATTEMPT in
           1) echo 'Sun, 06 Nov 1994 08:49:37 GMT' > $BECALM_HINT_FILE;;
           2) ;;
           3) echo soon > $BECALM_HINT_FILE;;
         esac; exit 7");
    assert_eq!(done.code(), 7);
    let hints: Vec<_> = report(&path)[..3]
        .iter()
        .map(|line| line["hint_ms"].as_f64())
        .collect();
    assert_eq!(hints, [Some(0.0), None, None]);
}

#[test]
fn a_hint_that_is_too_long_ends_the_retries_with_the_commands_own_code() {
    let folder = Folder::new();
    let path = folder.path("report");
    for hint in ["3600", "99999999999999999999999999"] {
        let done = becalm_at_once()
            .flag("--report", &path)
            .sh(&format!("echo {hint} > $BECALM_HINT_FILE; exit 7"));
        assert_eq!(done.code(), 7);
        assert_eq!(report(&path)[1]["reason"], "hint_too_long");
    }
}

#[test]
fn the_hint_file_is_gone_afterwards() {
    let done = becalm().sh("[ -w $BECALM_HINT_FILE ] && echo $BECALM_HINT_FILE");
    assert_eq!(done.code(), 0);
    assert!(!std::path::Path::new(done.out().trim()).exists());
}

#[test]
fn hooks_are_told_and_their_output_is_not_the_commands() {
    let hook = "echo $BECALM_ATTEMPT/$BECALM_ATTEMPTS exit $BECALM_LAST_EXIT $BECALM_REASON \
                ${BECALM_DELAY_MS-none}";
    let done = becalm()
        .flags("--base 1ms --jitter none --attempts 3 --quiet")
        .flag("--on-retry", hook)
        .flag("--on-give-up", hook)
        .sh("echo out; [ $BECALM_ATTEMPT -eq 2 ] && kill -9 $$; exit 7");
    assert_eq!((done.code(), done.out().as_str()), (7, "out\nout\nout\n"));
    assert_eq!(
        done.err(),
        "1/3 exit 7 exit 1\n2/3 exit 137 signal 2\n\
         becalm: gave up because all attempts were used, after 3 attempts (exit 7): /bin/sh\n\
         3/3 exit 7 attempts_exhausted none\n"
    );
}

#[test]
fn hooks_stay_silent_on_success() {
    let done = becalm()
        .flag("--on-retry", "echo 1")
        .flag("--on-give-up", "echo 2")
        .sh("exit 0");
    assert_eq!(done.err(), "");
}

#[test]
fn a_hook_that_fails_changes_nothing_but_is_told() {
    let done = becalm_at_once()
        .flags("--quiet --attempts 2")
        .flag("--on-retry", "exit 3")
        .sh("echo try; exit 7");
    assert_eq!((done.code(), done.out().as_str()), (7, "try\ntry\n"));
    let told = "becalm: the hook exit 3 failed (exit 3)\n";
    assert!(done.err().starts_with(told), "{}", done.err());
}

#[test]
fn a_hook_that_outlasts_the_deadline_is_ended_and_the_code_is_the_commands() {
    let folder = Folder::new();
    let path = folder.path("report");
    let run = |time: &str| {
        becalm_at_once()
            .flag("--deadline", time)
            .flag("--report", &path)
            .flag("--on-retry", "echo hook >&2; exec sleep 1000")
            .sh("exit 7")
    };
    let done = in_time(run, |done| done.err().contains("\nhook\n"));
    assert_eq!(done.code(), 7);
    assert_eq!(report(&path)[1]["reason"], "deadline_exceeded");
}

#[test]
fn a_run_makes_the_attempts_that_it_is_asked_for_unless_a_budget_is_named() {
    let count = |flags: &str| {
        becalm_at_once()
            .flags(flags)
            .sh("echo x; exit 1")
            .out()
            .lines()
            .count()
    };
    assert_eq!(count("--attempts 25"), 25);
    assert_eq!(count("--attempts 25 --budget ratio:0.1,burst:3"), 4);
}

#[test]
fn a_report_to_a_dash_goes_to_standard_output() {
    let done = becalm_at_once()
        .flags("--attempts 1 --quiet --report -")
        .sh("exit 1");
    let lines: Vec<_> = done.out().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[1].contains("\"type\":\"summary\""), "{lines:?}");
}

#[test]
fn r10_runs_share_a_report_and_each_line_is_whole_and_has_its_time() {
    let folder = Folder::new();
    let path = folder.path("report");
    let running: Vec<_> = (0..10)
        .map(|_| {
            becalm_at_once()
                .flags("--attempts 3 --quiet")
                .flag("--report", &path)
                .start_sh("exit 1")
        })
        .collect();
    let ids: Vec<_> = running.iter().map(|running| running.child.id()).collect();
    for running in running {
        assert_eq!(running.finish().code(), 1);
    }
    let lines = run_support::reports(&path);
    assert_eq!(lines.len(), 40);
    for id in ids {
        let of_run: Vec<_> = lines.iter().filter(|line| line["run"] == id).collect();
        assert_eq!(of_run.len(), 4);
        let times: Vec<_> = of_run
            .iter()
            .map(|line| line["time"].as_str().unwrap())
            .collect();
        assert!(
            times.is_sorted() && times[0].starts_with("20") && times[0].ends_with('Z'),
            "{times:?}"
        );
    }
}

#[test]
fn r10_a_report_that_cannot_be_written_stops_nothing() {
    let mut paths = vec!["/no/such/folder/report"];
    if std::path::Path::new("/dev/full").exists() {
        paths.push("/dev/full");
    }
    for path in paths {
        let done = becalm().flag("--report", path).sh("echo it ran");
        assert_eq!((done.code(), done.out().as_str()), (0, "it ran\n"));
        assert_eq!(
            done.err().matches("cannot write the report").count(),
            1,
            "{}",
            done.err()
        );
    }
}

#[test]
fn r11_hints_are_read_as_people_write_them_and_others_are_told() {
    let folder = Folder::new();
    let path = folder.path("report");
    let done = becalm_at_once()
        .flags("--attempts 5")
        .flag("--report", &path)
        .sh("case $BECALM_ATTEMPT in
           1) echo 1ms;; 2) echo 0.002;; 3) echo 'Retry-After: 0';; *) echo soon;;
         esac > $BECALM_HINT_FILE; exit 7");
    let hints: Vec<_> = report(&path)[..5]
        .iter()
        .map(|line| line["hint_ms"].as_f64())
        .collect();
    assert_eq!(hints, [Some(1.0), Some(2.0), Some(0.0), None, None]);
    assert_eq!(
        done.err().matches("\"soon\" is no hint").count(),
        2,
        "{}",
        done.err()
    );
}

#[test]
fn r11_what_a_killed_becalm_left_goes_when_the_next_one_starts() {
    let folder = Folder::new();
    let run = || {
        becalm_at_once()
            .env("TMPDIR", folder.path(""))
            .stdin_piped()
    };
    let mut living = run().start_sh("echo $BECALM_HINT_FILE; read line");
    let needed = living.line();
    let left = std::path::Path::new(&needed).with_file_name("hint-left");
    std::fs::write(&left, "").unwrap();
    let exists = |path: &str| std::path::Path::new(path).exists();
    assert_eq!(run().sh("exit 0").code(), 0);
    assert!(!left.exists() && exists(&needed));
    living.finish();
    assert!(!exists(&needed));
}

#[test]
fn r13_a_hook_has_a_time_of_its_own() {
    for hook in ["--on-retry", "--on-give-up"] {
        let done = becalm_at_once()
            .flags("--attempts 2 --hook-timeout 50ms")
            .flag(hook, "exec sleep 1000")
            .sh("exit 7");
        assert_eq!(done.code(), 7);
        let told = "the hook exec sleep 1000 was ended, since it took longer than --hook-timeout";
        assert_eq!(done.err().matches(told).count(), 1, "{}", done.err());
    }
}

#[test]
fn r13_quiet_hides_the_retries_and_not_why_becalm_gave_up() {
    let done = becalm_at_once().flags("--quiet --attempts 3").sh("exit 7");
    assert_eq!(
        done.err(),
        "becalm: gave up because all attempts were used, after 3 attempts (exit 7): /bin/sh\n"
    );
    assert_eq!(becalm().flags("--quiet").sh("exit 0").err(), "");
}
