//! What happens when becalm runs in becalm?

#![cfg(target_os = "linux")] // what still runs is read from /proc

mod run_support;

use run_support::{Folder, becalm, becalm_at_once, in_time, is_running, report};

const BECALM: &str = concat!(env!("CARGO_BIN_EXE_becalm"), " run");

/// A script with becalm in it.
fn nested(script: &str) -> String {
    script.replace("@run", BECALM)
}

#[test]
fn r6_layers_add_and_do_not_multiply() {
    let flags = "--base 0 --attempts 3 --quiet";
    for (script, attempts) in [
        (format!("@run {flags} -- sh -c 'echo try; exit 7'"), 5),
        (
            format!("@run {flags} -- @run {flags} -- sh -c 'echo try; exit 7'"),
            7,
        ),
    ] {
        let done = becalm().flags(flags).sh(&nested(&script));
        assert_eq!(
            (done.code(), done.out().lines().count()),
            (7, attempts),
            "{}",
            done.err()
        );
    }
    // Nor does the time of the outer one end while the inner one goes on.
    let folder = Folder::new();
    let path = folder.path("report");
    let done = becalm()
        .flags("--deadline 1h --attempts 1")
        .env("REPORT", &path)
        .sh(&nested(
            "@run --base 2h --cap 2h --jitter none --report $REPORT -- sh -c 'exit 7'",
        ));
    assert_eq!(done.code(), 7);
    assert_eq!(report(&path)[1]["reason"], "deadline_exceeded");
}

#[test]
fn r6_a_refused_command_line_of_an_inner_becalm_is_not_tried_again() {
    for flags in [
        "--no-such-flag",
        "--base 10s --cap 1s",
        "--breaker consecutive:5",
    ] {
        let done = becalm_at_once().sh(&nested(&format!("echo try; exec @run {flags} -- true")));
        assert_eq!(
            (done.code(), done.out().as_str()),
            (125, "try\n"),
            "{}",
            done.err()
        );
    }
    // That of another command may be worth another attempt.
    let done = becalm_at_once()
        .flags("--attempts 2")
        .sh("echo try; exit 125");
    assert_eq!(done.out(), "try\ntry\n");
}

#[test]
fn r6_a_command_may_say_that_no_attempt_is_to_follow() {
    let done = becalm_at_once().sh("echo try; echo stop > $BECALM_HINT_FILE; exit 7");
    assert_eq!((done.code(), done.out().as_str()), (7, "try\n"));
}

#[test]
fn r6_hooks_are_in_no_attempt() {
    let hook = "echo ${BECALM_SCOPE-none} ${BECALM_HINT_FILE-none}";
    let done = becalm_at_once()
        .flags("--attempts 1 --quiet")
        .flag("--on-give-up", hook)
        .env("BECALM_SCOPE", "attempt=1")
        .sh("echo $BECALM_SCOPE; exit 7");
    assert!(done.err().ends_with("none none\n"), "{}", done.err());
    assert!(done.out().starts_with("attempt=1"), "{}", done.out());
}

#[test]
fn r5_nothing_of_an_inner_becalm_outlives_the_outer_ones_time() {
    let inner = nested("@run -- sh -c 'trap \"\" TERM; echo $$; while :; do sleep 0.1; done'");
    let run = |time: &str| {
        becalm()
            .flags("--attempts 1 --kill-after 50ms")
            .flag("--attempt-timeout", time)
            .sh(&inner)
    };
    let done = in_time(run, |done| !done.out().is_empty());
    assert_eq!(done.code(), 124);
    assert!(!is_running(done.out().trim()), "{}", done.err());
}

#[test]
fn r5_other_signals_that_end_a_process_end_becalm_with_its_command() {
    use nix::sys::signal::Signal;
    for signal in [Signal::SIGALRM, Signal::SIGXCPU] {
        let mut running = becalm().start_sh("echo $$; exec sleep 1000");
        let child = running.line();
        running.signal(signal);
        assert_eq!(running.finish().died_by(), Some(signal as i32));
        assert!(!is_running(&child), "{signal}");
    }
}
