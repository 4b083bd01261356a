//! Which exit code does `becalm run` end with, and what does it try again?

mod run_support;

use std::process::Stdio;

use run_support::{Folder, becalm, becalm_at_once, in_time, report};

#[test]
fn success_is_success_at_once_or_later() {
    assert_eq!(becalm().sh("exit 0").code(), 0);
    let done = becalm_at_once().sh("echo $BECALM_ATTEMPT; [ $BECALM_ATTEMPT -eq 3 ]");
    assert_eq!((done.code(), done.out().as_str()), (0, "1\n2\n3\n"));
}

#[test]
fn giving_up_keeps_the_exit_code_of_the_command() {
    let done = becalm_at_once()
        .flags("--attempts 3")
        .sh("echo try; exit $((40 + BECALM_ATTEMPT))");
    assert_eq!((done.code(), done.out().as_str()), (43, "try\ntry\ntry\n"));
}

#[test]
fn death_by_signal_is_128_and_its_number() {
    for (signal, code) in [("KILL", 137), ("TERM", 143), ("SEGV", 139)] {
        let done = becalm_at_once()
            .flags("--attempts 2")
            .sh(&format!("echo try; kill -{signal} $$"));
        assert_eq!(
            (done.code(), done.out().as_str()),
            (code, "try\ntry\n"),
            "{signal}"
        );
    }
}

#[test]
fn a_command_that_is_not_there_is_127_and_not_tried_again() {
    let folder = Folder::new();
    let path = folder.path("report");
    let done = becalm_at_once()
        .flag("--report", &path)
        .flags("-- no-such-command-here")
        .run();
    assert_eq!(done.code(), 127);
    assert!(
        done.err().contains("cannot run no-such-command-here"),
        "{}",
        done.err()
    );
    let lines = report(&path);
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["ended"], "not_found");
    assert_eq!(lines[0]["reason"], "permanent");
}

#[test]
fn a_command_that_cannot_be_executed_is_126_and_not_tried_again() {
    let folder = Folder::new();
    let (path, plain) = (folder.path("report"), folder.file("plain", "no program"));
    let done = becalm_at_once()
        .flag("--report", &path)
        .flag("--", plain)
        .run();
    assert_eq!(done.code(), 126);
    let lines = report(&path);
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["ended"], "cannot_execute");
}

#[test]
fn the_commands_own_126_and_127_are_not_tried_again_unless_named() {
    for code in [126, 127] {
        let script = format!("echo try; exit {code}");
        let done = becalm_at_once().sh(&script);
        assert_eq!((done.code(), done.out().as_str()), (code, "try\n"));
        let done = becalm_at_once()
            .flags("--attempts 2 --retry-on 126-127")
            .sh(&script);
        assert_eq!((done.code(), done.out().as_str()), (code, "try\ntry\n"));
    }
    let folder = Folder::new();
    let path = folder.path("report");
    let flags = "--attempts 3 --retry-on 127 -- no-such-command-here";
    let done = becalm_at_once().flag("--report", &path).flags(flags).run();
    assert_eq!((done.code(), report(&path).len()), (127, 4));
}

#[test]
fn an_attempt_timeout_is_124_and_tried_again() {
    let run = |time: &str| {
        becalm_at_once()
            .flags("--attempts 2")
            .flag("--attempt-timeout", time)
            .sh("echo try; exec sleep 1000")
    };
    let done = in_time(run, |done| done.out() == "try\ntry\n");
    assert_eq!(done.code(), 124);
}

#[test]
fn a_deadline_that_ends_the_command_is_124() {
    let folder = Folder::new();
    let path = folder.path("report");
    let run = |time: &str| {
        becalm_at_once()
            .flag("--deadline", time)
            .flag("--report", &path)
            .sh("echo try; exec sleep 1000")
    };
    let done = in_time(run, |done| !done.out().is_empty());
    assert_eq!((done.code(), done.out().as_str()), (124, "try\n"));
    let lines = report(&path);
    assert_eq!(lines[0]["ended"], "deadline");
    assert_eq!(lines[1]["reason"], "deadline_exceeded");
}

#[test]
fn a_wait_that_does_not_fit_the_deadline_ends_with_the_commands_own_code_at_once() {
    let folder = Folder::new();
    let path = folder.path("report");
    let done = becalm()
        .flags("--base 1h --cap 1h --jitter none --deadline 30m")
        .flag("--report", &path)
        .sh("echo try; exit 9");
    assert_eq!((done.code(), done.out().as_str()), (9, "try\n"));
    assert_eq!(report(&path)[1]["reason"], "deadline_exceeded");
}

#[test]
fn becalms_own_errors_are_125() {
    let command = "-- true";
    for flags in [
        "--no-such-flag",
        "--retry-on 0",
        "--retry-on seven",
        "--retry-on-output (",
        "--kill-after soon",
        "--base 10s --cap 1s",
        "--attempts 0",
        "--stdin somewhere",
        "--budget none --budget-file /no/such/folder/budget",
        "--budget per-minute:60 --budget-file /no/such/folder/budget",
        "--breaker consecutive:5",
        "--hedge p95",
        "--bulkhead calls:1",
        "--throttle accepts:2",
        "--rate cubic",
    ] {
        let done = becalm().flags(flags).flags(command).run();
        assert_eq!(done.code(), 125, "{flags}: {}", done.err());
        assert!(done.err().len() > 20, "{flags}: {}", done.err());
    }
    // What bounds many calls, and a budget that no file holds.
    for (flags, words) in [
        (
            "--breaker consecutive:5",
            "--breaker bounds what many calls",
        ),
        (
            "--budget-file x --budget per-minute:60",
            "shares a ratio budget",
        ),
    ] {
        let done = becalm().flags(flags).flags(command).run();
        assert!(done.err().contains(words), "{flags}: {}", done.err());
    }
    // No command at all.
    assert_eq!(becalm().run().code(), 125);
    assert_eq!(becalm().flags("--help").run().code(), 0);
}

#[test]
fn retry_on_names_what_is_tried_again() {
    let run = |code: i32| {
        let script = format!("echo try; exit {code}");
        becalm_at_once()
            .flags("--attempts 2 --retry-on 7,28,100-110")
            .sh(&script)
    };
    for (code, tries) in [
        (7, 2),
        (28, 2),
        (100, 2),
        (110, 2),
        (8, 1),
        (99, 1),
        (111, 1),
    ] {
        let done = run(code);
        assert_eq!((done.code(), done.out().lines().count()), (code, tries));
    }
}

#[test]
fn stop_on_wins_over_retry_on() {
    let run = |code: i32| {
        let script = format!("echo try; exit {code}");
        becalm_at_once()
            .flags("--attempts 2 --retry-on 1-20 --stop-on 9")
            .sh(&script)
    };
    assert_eq!(run(8).out(), "try\ntry\n");
    let done = run(9);
    assert_eq!((done.code(), done.out().as_str()), (9, "try\n"));
}

#[test]
fn a_spent_budget_ends_with_the_commands_own_code() {
    let folder = Folder::new();
    let path = folder.path("report");
    let done = becalm_at_once()
        .flags("--attempts 20 --budget ratio:0.001,burst:2")
        .flag("--report", &path)
        .sh("exit 5");
    assert_eq!(done.code(), 5);
    let lines = report(&path);
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[3]["reason"], "budget_exhausted");
}

#[test]
fn flags_of_the_command_are_the_commands() {
    let done = becalm().flags("echo --attempts -n --no-such-flag").run();
    assert_eq!(
        (done.code(), done.out().as_str()),
        (0, "--attempts -n --no-such-flag\n")
    );
}

#[test]
fn r7_a_shell_whose_reader_is_gone_is_not_tried_again() {
    let folder = Folder::new();
    let path = folder.path("report");
    let mut running = becalm_at_once()
        .flag("--report", &path)
        .start_sh("yes; exit $?");
    running.line();
    running.close_stdout();
    assert_eq!(running.finish().code(), 141);
    let lines = report(&path);
    assert_eq!((lines.len(), &lines[0]["ended"]), (2, &"exit".into()));
    // Named, it is tried again.
    let done = becalm_at_once()
        .flags("--attempts 2 --retry-on 141")
        .sh("echo try; exit 141");
    assert_eq!(done.out(), "try\ntry\n");
}

/// A program of its own in the folder.
fn program(folder: &Folder, name: &str, content: &str) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.file(name, content);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn r8_a_program_that_is_being_written_is_tried_again() {
    let folder = Folder::new();
    let (path, report_path) = (
        program(&folder, "program", "#!/bin/sh\necho it ran\n"),
        folder.path("report"),
    );
    let writer = std::fs::File::options().append(true).open(&path).unwrap();
    let mut running = becalm()
        .flags("--base 10ms --jitter none --backoff fixed --attempts unlimited")
        .flag("--report", &report_path)
        .flag("--", &path)
        .start();
    let line = running.error_line();
    assert!(line.contains("cannot run"), "{line}");
    assert!(
        running
            .error_line()
            .contains("could not be started); retry in 10ms")
    );
    drop(writer);
    let done = running.finish();
    assert_eq!((done.code(), done.out().as_str()), (0, "it ran\n"));
    assert_eq!(report(&report_path)[0]["ended"], "not_started");
}

#[test]
fn r8_a_script_without_a_first_line_runs_as_under_env() {
    let folder = Folder::new();
    let path = program(&folder, "plain-script", "echo $0 \"$@\"; exit 3\n");
    let done = becalm()
        .flags("--attempts 1")
        .flag("--", &path)
        .flag("a b", "c")
        .run();
    let expected = format!("{} a b c\n", path.display());
    assert_eq!((done.code(), done.out()), (3, expected), "{}", done.err());
    let search = format!(
        "/no/such/folder:{}:/bin:/usr/bin",
        path.parent().unwrap().display()
    );
    let done = becalm()
        .env("PATH", search)
        .flags("--attempts 1 -- plain-script")
        .run();
    assert_eq!(done.code(), 3, "{}", done.err());
}

#[test]
fn r12_words_of_other_tools_draw_a_tip() {
    for (line, tip) in [
        (
            "--timeout 5s -- true",
            "--attempt-timeout bounds one attempt, --deadline all",
        ),
        ("--retries 3 -- true", "--attempts counts all attempts"),
        ("-n 3 true", "--attempts counts all attempts"),
        ("--delay 1s -- true", "--base is the first wait"),
        ("--max-delay 1s -- true", "--cap is the longest wait"),
    ] {
        let done = becalm().flags(line).run();
        assert_eq!(done.code(), 125, "{line}");
        assert!(done.err().contains(tip), "{line}: {}", done.err());
        assert!(!done.err().contains("use '-- -"), "{line}: {}", done.err());
        assert!(
            !done.err().contains("hook-timeout"),
            "{line}: {}",
            done.err()
        );
    }
    let done = becalm().flag("--", "true | false").run();
    assert_eq!(done.code(), 127);
    assert!(
        done.err().contains("sh -c 'true | false'"),
        "{}",
        done.err()
    );
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_becalm"))
        .args(["curl", "https://localhost"])
        .output()
        .unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("becalm run -- curl"), "{told}");
    // A slip is put right; a word that only looks like another is not.
    let done = becalm().flags("--jiter full -- true").run();
    assert!(done.err().contains("'--jitter'"), "{}", done.err());
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_becalm"))
        .args(["storm", "herd", "--nested", "allow"])
        .output()
        .unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.contains("--nested") && !told.contains("--seed"),
        "{told}"
    );
}

#[test]
fn r12_a_number_that_is_none_is_told_in_plain_words() {
    for flags in [
        "--seed x",
        "--multiplier two",
        "--attempts x",
        "--max-waiting x",
        "--retry-on x",
    ] {
        let done = becalm().flags(flags).flags("-- true").run();
        assert_eq!(done.code(), 125);
        assert!(done.err().contains("write "), "{flags}: {}", done.err());
        assert!(
            !done.err().contains("found in string"),
            "{flags}: {}",
            done.err()
        );
        assert!(!done.err().contains("literal"), "{flags}: {}", done.err());
    }
}

#[test]
fn r12_help_lists_only_what_works() {
    let help = becalm().flags("--help").run().out();
    for flag in [
        "--breaker",
        "--hedge",
        "--bulkhead",
        "--throttle",
        "--rate",
        "--max-waiting",
    ] {
        assert!(!help.contains(&format!("{flag} <")), "{flag}");
        let done = becalm().flags(flag).flags(match flag {
            "--breaker" => "consecutive:5",
            "--hedge" => "p95",
            "--bulkhead" => "calls:1",
            "--throttle" => "accepts:2",
            "--rate" => "cubic",
            _ => "3",
        });
        let done = done.flags("-- true").run();
        assert!(
            done.err().contains("a run is one call"),
            "{flag}: {}",
            done.err()
        );
    }
    assert!(help.contains("--attempts") && help.contains("--budget-file"));
}

/// A system that has no room for what becalm itself needs has none for a command.
#[cfg(target_os = "linux")] // prlimit(1)
#[test]
fn too_few_files_for_becalm_itself_are_waited_for() {
    use std::process::Command;
    let becalm = |files: u32, flags: &str, command: &mut Command| {
        let script = format!(
            "ulimit -S -n {files}; exec {} run --base 10ms {flags} -- echo ok",
            env!("CARGO_BIN_EXE_becalm")
        );
        *command = Command::new("sh");
        command.args(["-c", &script]).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
    };
    for (files, flags) in [(4, "--attempts 2"), (5, "--attempts 2 --stdin replay")] {
        let done = becalm_at_once().with(|it| becalm(files, flags, it)).run();
        assert_eq!(done.code(), 126, "{}", done.err());
        assert!(done.err().contains("attempt 1 of 2"), "{}", done.err());
    }
    let unlimited = |it: &mut Command| becalm(4, "--attempts unlimited", it);
    let mut running = becalm_at_once().with(unlimited).start();
    while !running.error_line().contains("could not be started") {}
    let mut raise = Command::new("prlimit");
    raise.args(["--nofile=64", "--pid", &running.id()]);
    assert!(raise.status().unwrap().success());
    let done = running.finish();
    assert_eq!((done.code(), done.out().as_str()), (0, "ok\n"));
}
