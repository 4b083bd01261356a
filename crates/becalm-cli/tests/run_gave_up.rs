//! What is told, and what is left, when becalm or its command cannot go on?

mod run_support;

use nix::sys::signal::Signal;
use run_support::{Folder, becalm, becalm_at_once};

#[test]
fn k6_the_line_that_becalm_gave_up_names_the_command_and_the_signal() {
    let done = becalm_at_once()
        .flags("--quiet --attempts 1")
        .sh("kill -9 $$");
    let told = "(signal 9, KILL): /bin/sh\n";
    assert!(done.err().ends_with(told), "{}", done.err());
}

#[test]
fn k7_github_actions_gets_an_annotation_of_the_outermost_becalm() {
    let run = || {
        becalm_at_once()
            .env("GITHUB_ACTIONS", "true")
            .flags("--attempts 2")
    };
    let annotations = |done: &run_support::Done| done.err().matches("::error ").count();
    let done = run().flags("--quiet").sh("exit 7");
    let told = "\n::error title=becalm gave up::/bin/sh: gave up because all attempts were used, after 2 attempts (exit 7)\n";
    assert!(done.err().ends_with(told), "{}", done.err());
    assert_eq!((annotations(&done), done.out().as_str()), (1, ""));
    let inner = format!(
        "{} run --base 0 --attempts 2 -- false",
        env!("CARGO_BIN_EXE_becalm")
    );
    let done = run().sh(&inner);
    assert_eq!(annotations(&done), 1, "{}", done.err());
    assert_eq!(annotations(&run().sh("exit 0")), 0);
    assert_eq!(
        annotations(
            &becalm_at_once()
                .env("GITHUB_ACTIONS", "false")
                .flags("--attempts 1")
                .sh("exit 7")
        ),
        0
    );
}

#[cfg(target_os = "linux")] // /proc
#[test]
fn k7_a_becalm_that_is_killed_leaves_no_hint_file() {
    let mut running = becalm().start_sh("echo $BECALM_HINT_FILE; exec sleep 1000");
    let file = running.line();
    run_support::guard_of(&running.id());
    running.signal(Signal::SIGKILL);
    let start = std::time::Instant::now();
    while std::path::Path::new(&file).exists() {
        assert!(start.elapsed() < run_support::HANG, "{file} is left");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    running.finish();
    // Nor one that is killed in its wait.
    let folder = Folder::new();
    let mut waits = becalm()
        .flags("--base 1h --cap 1h")
        .env("TMPDIR", folder.path(""))
        .start_sh("echo $BECALM_HINT_FILE; exit 7");
    let file = waits.line();
    waits.error_line();
    waits.signal(Signal::SIGKILL);
    waits.finish();
    assert!(!std::path::Path::new(&file).exists());
}

#[test]
fn k7_a_missing_interpreter_is_told_as_that() {
    let folder = Folder::new();
    for (first, told) in [
        (
            "#!/no/such/interpreter -x",
            "interpreter of its first line is not: /no/such/interpreter\n",
        ),
        (
            "#!/bin/sh\r",
            "the interpreter of its first line is not: /bin/sh; that line ends with a carriage return",
        ),
    ] {
        let script = folder.file("script", format!("{first}\nexit 0\n"));
        std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
        let done = becalm().flag("--", &script).run();
        assert_eq!(done.code(), 126, "{}", done.err());
        assert!(done.err().contains(told), "{}", done.err());
    }
}
