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

/// Waits for a file with text in it.
fn text_of(path: &std::path::Path) -> String {
    let start = std::time::Instant::now();
    loop {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        if text.ends_with('\n') {
            return text;
        }
        assert!(
            start.elapsed() < run_support::HANG,
            "nothing in {}",
            path.display()
        );
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// Starts a daemon that runs becalm when the becalm around it has gone, and tells what came of that.
fn daemon(flags: &str, around: &str, script: &str) -> String {
    let folder = Folder::new();
    let (told, gone) = (folder.path("told"), folder.path("gone"));
    let daemon = folder.file(
        "daemon",
        nested(&format!(
            "echo there > {gone}.there; until [ -e {gone} ]; do sleep 0.01; done\n{{ {script}; }} > {told}.new; mv {told}.new {told}",
            gone = gone.display(), told = told.display()
        )),
    );
    let done = becalm().flags(flags).sh(&nested(&format!(
        "{around} setsid sh {} >/dev/null 2>&1 & until [ -e {}.there ]; do sleep 0.01; done; exit 7",
        daemon.display(), gone.display()
    )));
    assert_eq!(done.code(), 7, "{}", done.err());
    std::fs::write(&gone, "").unwrap();
    text_of(&told)
}

#[test]
fn k1_what_outlives_a_becalm_is_bounded_by_nothing_of_it() {
    let flags = "--attempts 1 --deadline 30s";
    let inner = "@run --base 0 --attempts 3 --quiet -- sh -c 'echo try ${BECALM_REMAINING_MS-unbounded}; exit 1'; echo end";
    let three = "try unbounded\n".repeat(3) + "end\n";
    assert_eq!(daemon(flags, "", inner), three);
    // A becalm that itself ran twice, at its second attempt.
    let second = "--base 0 --attempts 2 --deadline 30s --retry-on-output first";
    assert_eq!(
        daemon(
            second,
            "[ $BECALM_ATTEMPT = 2 ] || { echo first; exit 7; };",
            inner
        ),
        three
    );
    // In other process ids, where the one that has gone was never seen.
    let elsewhere = format!(
        "setsid {} ",
        run_support::namespaces::unshare(run_support::namespaces::CONTAINER)
    );
    assert_eq!(daemon(flags, &elsewhere, inner), three);
}

/// A becalm that began under another, and outlives it.
#[test]
fn k1_a_becalm_that_outlives_the_one_around_it_goes_on_by_itself() {
    let folder = Folder::new();
    for limit in [1, 10, 60].map(std::time::Duration::from_secs) {
        let of_this = |name: &str| folder.path(&format!("{name}-{}", limit.as_secs()));
        let (told, path, passed) = (of_this("told"), of_this("report"), of_this("passed"));
        let inner = nested(&format!(
            "setsid @run --base 0 --attempts 3 --report {} -- sh -c '
               echo $BECALM_ATTEMPT ${{BECALM_REMAINING_MS-unbounded}} >> {told}
               until [ -e {} ]; do sleep 0.01; done; exit 1' > /dev/null 2>&1 &
             until [ -s {told} ]; do sleep 0.01; done",
            path.display(),
            passed.display(),
            told = told.display()
        ));
        let start = std::time::Instant::now();
        let flags = format!("--attempts 1 --deadline {}s", limit.as_secs());
        let done = becalm().flags(&flags).sh(&inner);
        std::thread::sleep(limit.saturating_sub(start.elapsed()));
        std::fs::write(&passed, "").unwrap();
        // How soon a command says its first word is the machine's affair.
        if done.code() == 124 {
            continue;
        }
        assert_eq!(done.code(), 0, "{}", done.err());
        let lines = summed_up(&path);
        assert_eq!(lines.last().unwrap()["attempts"], 3, "{lines:?}");
        let told = std::fs::read_to_string(&told).unwrap();
        assert!(told.ends_with("3 unbounded\n"), "{told}");
        return;
    }
    panic!("no command has begun in a minute");
}

#[test]
fn k1_a_hook_has_a_limit_of_its_own_whoever_has_gone() {
    let folder = Folder::new();
    let [told, gone, said, path] = ["told", "gone", "said", "report"].map(|it| folder.path(it));
    let inner = nested(&format!(
        "setsid @run --attempts 1 --hook-timeout 100ms --on-give-up 'exec sleep 1000' --report {} -- sh -c '
           echo there > {told}; until [ -e {} ]; do sleep 0.01; done; exit 1' > /dev/null 2> {} &
         until [ -s {told} ]; do sleep 0.01; done",
        path.display(),
        gone.display(),
        said.display(),
        told = told.display()
    ));
    let done = becalm().flags("--attempts 1 --deadline 1h").sh(&inner);
    assert_eq!(done.code(), 0, "{}", done.err());
    std::fs::write(&gone, "").unwrap();
    summed_up(&path);
    let said = std::fs::read_to_string(&said).unwrap();
    assert!(said.contains("longer than --hook-timeout"), "{said}");
}

/// Waits until a report has its summary.
fn summed_up(path: &std::path::Path) -> Vec<serde_json::Value> {
    let start = std::time::Instant::now();
    while !std::fs::read_to_string(path)
        .unwrap_or_default()
        .contains("summary")
    {
        assert!(start.elapsed() < run_support::HANG);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    report(path)
}

/// No attempt is made twice by the count.
#[test]
fn k1_a_becalm_that_outlives_the_one_around_it_counts_on() {
    for attempts in ["4", "unlimited"] {
        let folder = Folder::new();
        let (told, gone) = (folder.path("told"), folder.path("gone"));
        let (said, path) = (folder.path("said"), folder.path("report"));
        let inner = nested(&format!(
            "setsid @run --base 0 --attempts {attempts} --stop-on 9 --report {} -- sh -c '
               echo $BECALM_ATTEMPT >> {told}
               [ $BECALM_ATTEMPT != 2 ] || until [ -e {gone} ]; do sleep 0.01; done
               [ $BECALM_ATTEMPT != 4 ] || exit 9
               exit 1' > /dev/null 2> {} &
             until [ \"$(tail -n 1 {told})\" = 2 ]; do sleep 0.01; done",
            path.display(),
            said.display(),
            told = told.display(),
            gone = gone.display(),
        ));
        let done = becalm().flags("--attempts 1").sh(&inner);
        assert_eq!(done.code(), 0, "{}", done.err());
        std::fs::write(&gone, "").unwrap();
        let lines = summed_up(&path);
        assert_eq!(std::fs::read_to_string(&told).unwrap(), "1\n2\n3\n4\n");
        let numbers: Vec<_> = lines.iter().map(|line| line["attempt"].as_u64()).collect();
        assert_eq!(numbers, [Some(1), Some(2), Some(3), Some(4), None]);
        assert_eq!(lines[4]["attempts"], 4, "{attempts}");
        let said = std::fs::read_to_string(&said).unwrap();
        assert!(said.contains("after 4 attempts"), "{said}");
    }
}

#[test]
fn k1_what_runs_within_is_bounded_in_other_process_ids_too() {
    let elsewhere = run_support::namespaces::unshare(run_support::namespaces::CONTAINER);
    for around in ["", elsewhere.as_str()] {
        let script = nested(&format!(
            "{around} @run --base 0 --attempts 2 --quiet -- sh -c 'echo ${{BECALM_REMAINING_MS-unbounded}}; exit 1'; exit 7"
        ));
        let done = becalm().flags("--deadline 1h --attempts 1").sh(&script);
        assert_eq!(done.out().lines().count(), 2, "{}", done.err());
        assert!(!done.out().contains("unbounded"), "{}", done.out());
        // Past its first attempt the outer one alone repeats.
        let script = nested(&format!(
            "[ $BECALM_ATTEMPT = 1 ] && exit 7
             {around} @run --base 0 --attempts 5 --quiet -- sh -c 'echo try; exit 7'"
        ));
        let done = becalm_at_once().flags("--attempts 2").sh(&script);
        assert_eq!(done.out(), "try\n", "{}", done.err());
    }
}
