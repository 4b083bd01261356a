//! Does everything end when it is told to, whatever becalm is doing just then, and whoever tells it?

#![cfg(target_os = "linux")] // what still runs is read from /proc

mod run_support;

use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use run_support::terminal::{BECALM, Session};
use run_support::{Folder, HANG, Running, becalm, guard_of, is_running};

/// What runs for ever, with a child that does not hear the interrupt key: a shell sees to that.
const READY: &str = "sleep 1000 & echo ready $$ $! >&2; wait";

/// What becalm is doing.
struct Phase {
    name: &'static str,
    flags: &'static str,
    hook: Option<&'static str>,
    script: &'static str,
    /// How standard error tells that it is.
    tells: &'static str,
}

const PHASES: [Phase; 5] = [
    Phase {
        name: "first attempt",
        flags: "--base 0",
        hook: None,
        script: READY,
        tells: "ready ",
    },
    Phase {
        name: "wait",
        flags: "--base 1h --cap 1h --jitter none",
        hook: None,
        script: "exit 7",
        tells: "retry in ",
    },
    Phase {
        name: "retry",
        flags: "--base 0",
        hook: None,
        script: "[ $BECALM_ATTEMPT = 1 ] && exit 7; sleep 1000 & echo ready $$ $! >&2; wait",
        tells: "ready ",
    },
    Phase {
        name: "hook",
        flags: "--base 0",
        hook: Some("--on-retry"),
        script: "exit 7",
        tells: "ready ",
    },
    Phase {
        name: "give-up",
        flags: "--attempts 1",
        hook: Some("--on-give-up"),
        script: "exit 7",
        tells: "ready ",
    },
];

impl Phase {
    /// becalm in this phase, and what runs under it then.
    fn start(&self, flags: &str) -> (Running, Vec<String>) {
        let mut run = becalm().flags(self.flags).flags(flags);
        if let Some(hook) = self.hook {
            run = run.flag(hook, READY);
        }
        let mut running = run.start_sh(self.script);
        loop {
            let line = running.error_line();
            assert!(!line.is_empty(), "becalm ended before the {}", self.name);
            if let Some((_, ids)) = line.split_once(self.tells) {
                let ids = ids.split_whitespace().map(str::to_owned);
                return (running, ids.filter(|_| self.tells == "ready ").collect());
            }
        }
    }

    /// becalm in this phase, for a shell.
    fn line(&self) -> String {
        let hook = self.hook.map(|hook| format!("{hook} '{READY}'"));
        let hook = hook.unwrap_or_default();
        format!("{BECALM} {} {hook} -- sh -c '{}'", self.flags, self.script)
    }
}

fn all_end(ids: &[String], told: &str) {
    let start = Instant::now();
    while let Some(id) = ids.iter().find(|id| is_running(id)) {
        if start.elapsed() > HANG {
            let _ = kill(Pid::from_raw(id.parse().unwrap()), Signal::SIGKILL);
            panic!("{told}: {id} runs on");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_signal_ends_becalm_and_all_under_it_in_every_phase() {
    for phase in &PHASES {
        for signal in [Signal::SIGINT, Signal::SIGTERM] {
            let (running, ids) = phase.start("");
            running.signal(signal);
            let done = running.finish();
            assert_eq!(done.died_by(), Some(signal as i32), "{}", phase.name);
            for id in ids {
                assert!(!is_running(&id), "{} {signal}: {id}", phase.name);
            }
        }
    }
}

/// KILL, and a signal that nobody expects.
#[test]
fn r5_nothing_outlives_a_becalm_that_is_killed_in_any_phase() {
    for phase in &PHASES {
        for signal in [Signal::SIGKILL, Signal::SIGABRT] {
            // The guard waits for those whom nobody buries as for the living.
            let (running, mut ids) = phase.start("--kill-after 100ms");
            if phase.tells == "ready " {
                ids.push(guard_of(&running.id()));
            }
            running.signal(signal);
            all_end(&ids, phase.name);
            assert_eq!(running.finish().died_by(), Some(signal as i32));
        }
    }
}

#[test]
fn r5_what_ignores_term_does_not_outlive_a_becalm_that_is_killed() {
    let mut running = becalm()
        .flags("--kill-after 50ms")
        .start_sh("trap '' TERM; sleep 1000 & echo $$; echo $!; while :; do wait; done");
    let ids = [running.line(), running.line(), guard_of(&running.id())];
    running.signal(Signal::SIGKILL);
    all_end(&ids, "ignores TERM");
    running.finish();
}

#[test]
fn r5_nothing_of_an_inner_becalm_outlives_the_outer_one() {
    let inner = format!(
        "exec {BECALM} --kill-after 50ms -- sh -c 'trap \"\" TERM; echo $PPID; echo $$; while :; do sleep 0.1; done'"
    );
    let mut running = becalm().flags("--kill-after 50ms").start_sh(&inner);
    let (inner, command) = (running.line(), running.line());
    let guards = [guard_of(&running.id()), guard_of(&inner)];
    running.signal(Signal::SIGKILL);
    all_end(&[inner, command], "becalm in becalm");
    all_end(&guards, "the guards");
    running.finish();
}

#[test]
fn r5_a_command_that_ends_takes_its_guard_along() {
    let run = becalm().flags("--base 1h --cap 1h").stdin_piped();
    let mut running = run.start_sh("echo ready; read line");
    running.line();
    let guard = guard_of(&running.id());
    drop(running.child.stdin.take());
    all_end(&[guard], "a guard without a command");
    assert!(running.child.try_wait().unwrap().is_none(), "becalm waits");
    running.signal(Signal::SIGTERM);
    running.finish();
}

#[test]
fn r5_a_guard_that_is_killed_takes_nothing_along_and_the_next_attempt_has_another() {
    let folder = Folder::new();
    let run = becalm().flags("--base 0 --attempts 2");
    let mut running = run
        .env("END", folder.path("end"))
        .start_sh("echo ready; until [ -e $END$BECALM_ATTEMPT ]; do sleep 0.01; done; exit 7");
    let mut guards = Vec::new();
    for end in ["end1", "end2"] {
        running.line();
        let guard = guard_of(&running.id());
        kill(Pid::from_raw(guard.parse().unwrap()), Signal::SIGKILL).unwrap();
        let start = Instant::now();
        while std::path::Path::new("/proc").join(&guard).exists() {
            assert!(start.elapsed() < HANG, "nobody buries the guard");
            std::thread::sleep(Duration::from_millis(10));
        }
        guards.push(guard);
        folder.file(end, "");
    }
    let done = running.finish();
    assert_eq!(done.code(), 7, "{}", done.err());
    assert_ne!(guards[0], guards[1]);
}

/// A signal that becalm sends, or the kernel, to a group ends neither the guard nor its watch.
#[test]
fn r5_the_group_that_is_killed_with_becalm_does_not_take_the_guard_along() {
    use std::os::unix::process::CommandExt;
    let mut running = becalm()
        .with(|command| _ = command.process_group(0))
        .start_sh("echo $$; exec sleep 1000");
    let ids = [running.line(), guard_of(&running.id())];
    nix::sys::signal::killpg(run_support::pid(running.child.id()), Signal::SIGKILL).unwrap();
    all_end(&ids, "a group");
    running.finish();
}

#[test]
fn the_interrupt_key_stops_the_script_and_the_loop_around_every_phase_in_every_shell() {
    for shell in ["bash", "dash", "zsh"] {
        for phase in &PHASES {
            let line = phase.line();
            for script in [
                format!("{line}; echo DELETING"),
                format!("for i in 1 2 3; do {line}; echo DELETING; done"),
            ] {
                let mut session = Session::start(shell, &script);
                session.expect(phase.tells);
                session.type_in("\x03");
                let seen = session.ended();
                let told = format!("{shell}, {}: {seen}", phase.name);
                assert!(!seen.contains("DELETING"), "{told}");
                assert!(session.is_empty_in_the_end(), "{told}");
            }
        }
    }
}

#[test]
fn the_interrupt_key_stops_make_in_every_phase() {
    for phase in &PHASES {
        let folder = Folder::new();
        let line = phase.line().replace('$', "$$");
        let recipe = format!("all:\n\t@{line}; echo DELETING\n\t@echo DELETING\n");
        let path = folder.file("Makefile", recipe);
        let mut session = Session::start_words(&["make", "-f", path.to_str().unwrap()]);
        session.expect(phase.tells);
        session.type_in("\x03");
        let seen = session.ended();
        let told = format!("{}: {seen}", phase.name);
        assert!(!seen.contains("DELETING"), "{told}");
        assert!(seen.contains("make: ***"), "{told}");
        assert!(session.is_empty_in_the_end(), "{told}");
    }
}

/// As the first process of a container, which is told by one that left its group: signals do not kill
/// it, and nothing outlives it.
#[test]
fn the_first_process_of_a_container_ends_in_every_phase() {
    const TELLER: &str = "setsid sh -c \"echo > $LEFT; sleep 0.3; kill -TERM 1\" &
        until [ -e $LEFT ]; do sleep 0.01; done; ";
    for phase in &PHASES {
        let (hook, script) = match phase.hook {
            Some(_) => (format!("{TELLER} {READY}"), phase.script.to_owned()),
            None => (String::new(), format!("{TELLER} {}", phase.script)),
        };
        let folder = Folder::new();
        let run = run_support::becalm_in_container();
        let mut run = run.flags(phase.flags).env("LEFT", folder.path("left"));
        if let Some(flag) = phase.hook {
            run = run.flag(flag, hook);
        }
        let done = run.sh(&script);
        assert_eq!(done.code(), 143, "{}: {}", phase.name, done.err());
        assert_eq!(
            done.err().contains("gave up"),
            phase.name == "give-up",
            "{}: {}",
            phase.name,
            done.err()
        );
    }
}
