//! What happens to a command and its children when becalm is told to end?

#![cfg(target_os = "linux")] // what still runs is read from /proc

mod run_support;

use nix::sys::signal::Signal;
use run_support::{Folder, becalm, becalm_at_once, in_time, is_running, report};

/// The signals that end becalm, with names and exit codes. Where the tests run under nohup or as a
/// job in the background of a script, some are ignored, by becalm as well.
fn ending() -> impl Iterator<Item = (Signal, &'static str, i32)> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .unwrap();
    let ignored = u64::from_str_radix(ignored.trim(), 16).unwrap();
    [
        (Signal::SIGHUP, "HUP", 129),
        (Signal::SIGINT, "INT", 130),
        (Signal::SIGQUIT, "QUIT", 131),
        (Signal::SIGTERM, "TERM", 143),
    ]
    .into_iter()
    .filter(move |(signal, ..)| ignored & (1 << (*signal as i32 - 1)) == 0)
}

/// Tells its id when it is a program of its own: before that, a shell's child may take a signal for
/// the shell, and forget it.
const GRANDCHILD: &str = "/bin/sh -c 'echo $$; exec sleep 1000'";

#[test]
fn a_signal_goes_to_the_command_and_no_attempt_follows() {
    for (signal, name, code) in ending() {
        let mut running = becalm_at_once().start_sh(&format!(
            "trap 'echo told; exit 3' {name}; {GRANDCHILD} & wait"
        ));
        let grandchild = running.line();
        running.signal(signal);
        let done = running.finish();
        assert_eq!(
            (done.code(), done.out().as_str()),
            (code, "told\n"),
            "{name}"
        );
        assert!(!is_running(&grandchild), "{name}");
    }
}

#[test]
fn a_command_that_does_not_know_the_signal_ends_by_it() {
    for (signal, name, code) in ending() {
        let mut running = becalm_at_once().start_sh("echo $$; exec sleep 1000");
        let child = running.line();
        running.signal(signal);
        let done = running.finish();
        assert_eq!((done.code(), done.out().as_str()), (code, ""), "{name}");
        assert!(!is_running(&child), "{name}");
    }
}

#[test]
fn r2_a_signal_that_ends_becalm_is_what_it_dies_by() {
    for (signal, name, code) in ending() {
        let mut running = becalm().start_sh("echo ready; exec sleep 1000");
        running.line();
        running.signal(signal);
        assert_eq!(running.finish().died_by(), Some(code - 128), "{name}");
        let mut running = becalm().flags("--base 1h --cap 1h").start_sh("exit 7");
        running.error_line();
        running.signal(signal);
        assert_eq!(running.finish().died_by(), Some(code - 128), "{name}");
    }
    // Not by a signal that was the command's alone.
    let done = becalm().flags("--attempts 1").sh("kill -TERM $$");
    assert_eq!((done.died_by(), done.code()), (None, 143));
}

#[test]
fn success_after_the_signal_is_no_success() {
    let mut running = becalm().start_sh(&format!("trap 'exit 0' TERM; {GRANDCHILD} & wait"));
    running.line();
    running.signal(Signal::SIGTERM);
    assert_eq!(running.finish().code(), 143);
}

#[test]
fn a_signal_ends_a_wait_at_once() {
    let folder = Folder::new();
    for (signal, name, code) in ending() {
        let path = folder.path(name);
        let mut running = becalm()
            .flags("--base 1h --cap 1h --jitter none")
            .flag("--report", &path)
            .flag("--on-give-up", "echo gave up")
            .start_sh("echo try; exit 7");
        assert!(running.error_line().ends_with("retry in 1h"));
        running.signal(signal);
        let done = running.finish();
        assert_eq!(
            (done.code(), done.out().as_str(), done.err().as_str()),
            (code, "try\n", "")
        );
        let lines = report(&path);
        assert_eq!(lines.len(), 2);
        assert_eq!(
            (&lines[0]["decision"], &lines[0]["exit"]),
            (&"retry".into(), &7.into())
        );
        assert_eq!(
            (&lines[1]["outcome"], &lines[1]["exit"]),
            (&"cancelled".into(), &code.into())
        );
    }
}

#[test]
fn a_signal_ends_a_hook_too() {
    let mut running = becalm_at_once()
        .flag("--on-retry", "echo hook $$ >&2; exec sleep 1000")
        .start_sh("exit 7");
    assert!(running.error_line().contains("retry in"));
    let hook = running.error_line().replace("hook ", "");
    assert!(is_running(&hook));
    running.signal(Signal::SIGTERM);
    assert_eq!(running.finish().code(), 143);
    assert!(!is_running(&hook));
}

#[test]
fn no_orphan_stays_in_the_group_however_the_attempt_ends() {
    for (script, code) in [
        ("sleep 1000 & echo $!; exit 0", 0),
        ("sleep 1000 & echo $!; exit 3", 3),
        ("sleep 1000 & echo $!; kill -9 $$", 137),
        ("(sleep 1000 & echo $!) & wait; exit 3", 3),
        ("sleep 1000 & echo $!; wait; echo was not cut", 124),
    ] {
        let run = |time: &str| {
            becalm_at_once()
                .flags("--attempts 1")
                .flag("--attempt-timeout", if code == 124 { time } else { "1h" })
                .sh(script)
        };
        let done = in_time(run, |done| !done.out().is_empty());
        assert_eq!(done.code(), code, "{script}");
        assert!(!is_running(done.out().trim()), "{script}");
    }
}

#[test]
fn an_orphan_is_gone_before_the_next_attempt() {
    let folder = Folder::new();
    let file = folder.path("orphan");
    let done = becalm_at_once()
        .flags("--attempts 2")
        .env("ORPHAN", &file)
        .sh(
            "if [ -e $ORPHAN ]; then kill -0 $(cat $ORPHAN) 2>/dev/null && echo lives; fi
         sleep 1000 & echo $! > $ORPHAN; exit 1",
        );
    assert_eq!((done.code(), done.out().as_str()), (1, ""));
}

#[test]
fn what_ignores_term_is_killed() {
    let run = |time: &str| {
        becalm_at_once()
            .flags("--attempts 1 --kill-after 50ms")
            .flag("--attempt-timeout", time)
            .sh("trap '' TERM; sleep 1000 & echo $!; while :; do wait; done")
    };
    let done = in_time(run, |done| !done.out().is_empty());
    assert_eq!(done.code(), 124);
    assert!(!is_running(done.out().trim()));
    // An orphan, too.
    let done = becalm()
        .flags("--kill-after 50ms")
        .sh("trap '' TERM; sleep 1000 & echo $!; exit 0");
    assert_eq!(done.code(), 0);
    assert!(!is_running(done.out().trim()));
}

#[test]
fn what_ignores_the_signal_that_ends_becalm_is_killed() {
    let mut running = becalm()
        .flags("--kill-after 50ms")
        .start_sh("trap '' TERM; sleep 1000 & echo $!; while :; do wait; done");
    let grandchild = running.line();
    running.signal(Signal::SIGTERM);
    assert_eq!(running.finish().code(), 143);
    assert!(!is_running(&grandchild));
}

#[test]
fn a_stopped_command_is_woken_to_end() {
    let done = becalm_at_once()
        .flags("--attempts 1 --attempt-timeout 100ms --kill-after 1h")
        .sh("trap 'exit 3' TERM; kill -STOP $$; echo woken");
    assert_eq!((done.code(), done.out().as_str()), (124, ""));
}

#[test]
fn user_signals_are_handed_on_and_end_nothing() {
    for (signal, name) in [(Signal::SIGUSR1, "USR1"), (Signal::SIGUSR2, "USR2")] {
        let script = format!("trap 'echo told; kill $!; exit 0' {name}; {GRANDCHILD} & wait");
        let mut running = becalm().start_sh(&script);
        running.line();
        running.signal(signal);
        let done = running.finish();
        assert_eq!((done.code(), done.out().as_str()), (0, "told\n"), "{name}");
    }
}

#[test]
fn a_signal_that_was_ignored_stays_ignored() {
    // As under nohup.
    let script = format!(
        "trap '' HUP; exec {} run -- /bin/sh -c 'echo ready; read line; echo $line'",
        env!("CARGO_BIN_EXE_becalm")
    );
    let mut running = becalm()
        .with(|command| {
            let piped = std::process::Stdio::piped;
            *command = std::process::Command::new("/bin/sh");
            command
                .args(["-c", &script])
                .stdin(piped())
                .stdout(piped())
                .stderr(piped());
        })
        .start();
    running.line();
    running.signal(Signal::SIGHUP);
    // Handled in order: had the first one ended it, this one would not be answered.
    std::io::Write::write_all(running.child.stdin.as_mut().unwrap(), b"on it goes\n").unwrap();
    let done = running.finish();
    assert_eq!((done.code(), done.out().as_str()), (0, "on it goes\n"));
}

#[test]
fn a_command_starts_with_nothing_blocked_and_no_more_ignored_than_becalm() {
    let script = "exec grep -E '^Sig(Blk|Ign)' /proc/self/status";
    let by_itself = std::process::Command::new("/bin/sh")
        .args(["-c", script])
        .output()
        .unwrap();
    assert_eq!(
        becalm().sh(script).out(),
        String::from_utf8(by_itself.stdout).unwrap()
    );
}

#[test]
fn a_process_that_left_the_group_does_not_hold_becalm_up() {
    let folder = Folder::new();
    let fifo = folder.path("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    for (flags, kept) in [
        ("--hold-output", "2>/dev/null"),
        ("--retry-on-output never", ""),
        ("--stdin replay", ">/dev/null 2>&1"),
    ] {
        // It has left before the command ends, and keeps what is becalm's own pipe open.
        let done = becalm().flags(flags).env("FIFO", &fifo).sh(&format!(
            "exec 3<&0
             setsid /bin/sh -c 'echo $$ > $FIFO; exec sleep 1000' <&3 {kept} &
             read pid < $FIFO; echo $pid"
        ));
        let escaped = done.out().trim().to_owned();
        assert_eq!(done.code(), 0, "{flags}");
        assert!(is_running(&escaped), "{flags}");
        let escaped = nix::unistd::Pid::from_raw(escaped.parse().unwrap());
        nix::sys::signal::kill(escaped, Signal::SIGKILL).unwrap();
    }
}

/// Children of their parent that left, ended, and that somebody has to bury; then their number, once
/// it is 0, or stays.
const ZOMBIES: &str = "for i in 1 2 3 4 5 6 7 8 9 10; do (setsid sleep 0.05 &); done
    for look in $(seq 100); do
        sleep 0.05
        left=0
        for status in /proc/[0-9]*/stat; do
            read -r id name state parent rest < $status 2>/dev/null || continue
            [ $parent$state = ${PPID}Z ] && left=$((left + 1))
        done
        [ $left = 0 ] && break
    done
    echo $left left; exit 1";

#[test]
fn r3_no_zombie_stays_while_the_command_runs_nor_in_a_wait() {
    let done = becalm().flags("--attempts 1").sh(ZOMBIES);
    assert_eq!(done.out(), "0 left\n");
    // These end when becalm waits.
    let mut running = becalm()
        .flags("--base 1h --cap 1h --jitter none")
        .start_sh("for i in 1 2 3; do (setsid sh -c 'sleep 0.2; exit 1' &); done; exit 7");
    running.error_line();
    let children = || {
        let ids = std::fs::read_dir("/proc").unwrap().flatten();
        let parents = ids.filter_map(|id| {
            let stat = std::fs::read_to_string(id.path().join("stat")).ok()?;
            let parent = stat
                .rsplit(')')
                .next()?
                .split_whitespace()
                .nth(1)?
                .to_owned();
            Some(parent)
        });
        parents
            .filter(|parent| *parent == running.child.id().to_string())
            .count()
    };
    let start = std::time::Instant::now();
    while children() > 0 {
        assert!(start.elapsed() < run_support::HANG, "{} left", children());
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    running.signal(Signal::SIGTERM);
    assert_eq!(running.finish().code(), 143);
}

#[test]
fn r3_as_the_first_process_of_a_container_becalm_buries_and_passes_signals_on() {
    let run = run_support::becalm_in_container();
    let done = run.flags("--attempts 1").sh(ZOMBIES);
    assert_eq!(
        (done.code(), done.out().as_str()),
        (1, "0 left\n"),
        "{}",
        done.err()
    );
    // It does not die by a signal, as nothing of that id does: its code is that of the command that was told.
    for (ends, code) in [
        ("exit 0", 0),
        ("exit 7", 7),
        ("trap - TERM; kill -TERM $$", 143),
    ] {
        let run = run_support::becalm_in_container();
        let done = run.sh(&format!(
            "trap 'echo told; {ends}' TERM; kill -TERM 1; while :; do sleep 0.01; done"
        ));
        assert_eq!(
            (done.code(), done.out().as_str()),
            (code, "told\n"),
            "{}",
            done.err()
        );
    }
    // Held output is not printed then, so that is no success.
    let run = run_support::becalm_in_container().flags("--hold-output");
    let done = run.sh("trap 'exit 0' TERM; echo half; kill -TERM 1; while :; do sleep 0.01; done");
    assert_eq!(
        (done.code(), done.out().as_str()),
        (143, ""),
        "{}",
        done.err()
    );
}

#[test]
fn r13_a_second_signal_hastens_the_end() {
    let mut running = becalm()
        .flags("--kill-after 1h")
        .start_sh("trap '' TERM; echo ready; while :; do sleep 0.01; done");
    running.line();
    let start = std::time::Instant::now();
    while running.child.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < run_support::HANG, "becalm waits on");
        running.signal(Signal::SIGTERM);
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!(start.elapsed() >= std::time::Duration::from_millis(300));
    assert_eq!(running.finish().died_by(), Some(15));
}
