//! Does a command under becalm have the terminal as it would under a shell?

#![cfg(target_os = "linux")] // setsid(1), and /proc for the groups

mod run_support;

use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use run_support::terminal::Session;
use run_support::{Folder, HANG};

/// Says whether the shell that runs it is in the foreground of its terminal.
const WHERE: &str = "read -r a b c d group e f front rest < /proc/$$/stat
                       [ $group = $front ] && echo $1 in front || echo $1 behind";

#[test]
fn the_command_is_in_the_foreground_and_becalm_is_so_again_afterwards() {
    let folder = Folder::new();
    let place = folder.file("where", WHERE);
    let place = place.display();
    let script = format!("@run sh {place} command; sh {place} shell; echo the end");
    let mut session = Session::start("sh", &script);
    session.expect("command in front");
    session.expect("shell in front");
    session.expect("the end");
}

#[test]
fn every_attempt_reads_the_terminal() {
    let mut session = Session::start(
        "sh",
        "@run --base 0 --attempts 2 -- sh -c 'echo ask $BECALM_ATTEMPT; read a; echo got $a; exit 7'
         echo code $?",
    );
    session.expect("ask 1");
    session.type_in("one\n");
    session.expect("got one");
    session.expect("ask 2");
    session.type_in("two\n");
    session.expect("got two");
    session.expect("code 7");
}

#[test]
fn the_interrupt_key_ends_the_command_and_the_retries() {
    for (key, code) in [("\x03", 130), ("\x1c", 131)] {
        let mut session = Session::start(
            "sh",
            // The key reaches the shell, too.
            "trap : INT QUIT
             @run --base 0 --quiet -- sh -c 'echo attempt $BECALM_ATTEMPT; exec sleep 1000'
             echo code $?",
        );
        session.expect("attempt 1");
        session.type_in(key);
        session.expect(&format!("code {code}"));
        assert!(!session.seen.contains("attempt 2"), "{}", session.seen);
    }
}

/// Only what is sent to becalm hastens the end.
#[test]
fn further_keys_are_the_commands_alone() {
    let mut session = Session::start(
        "sh",
        "trap : INT; @run -- sh -c 'trap \"\" INT; echo ready; read line; echo got $line'; echo code $?",
    );
    session.expect("ready");
    for _ in 0..3 {
        session.type_in("\x03");
        std::thread::sleep(std::time::Duration::from_millis(400));
    }
    session.type_in("one\n");
    session.expect("got one");
    session.expect("code 0");
}

#[test]
fn a_wait_counts_down_and_the_interrupt_key_ends_it() {
    let mut session = Session::start(
        "sh",
        // The key reaches all of the foreground, the shell included.
        "trap : INT; @run --base 1m --cap 1h --jitter none -- sh -c 'exit 7'; echo code $?",
    );
    session.expect("\r\x1b[Kbecalm: attempt 1 of 5 failed (exit 7); retry in 1m");
    // 59.9 s where nothing holds becalm up.
    session.expect("\r\x1b[Kbecalm: attempt 1 of 5 failed (exit 7); retry in 5");
    session.type_in("\x03");
    session.expect("retry in 1m\r\n");
    session.expect("code 130");
}

#[test]
fn the_stop_key_stops_becalm_too_and_the_shell_continues_both() {
    let mut session = Session::start(
        "bash",
        "set -m
         @run -- sh -c 'echo ready; read line; echo got $line; exit 0'
         echo stopped with $?
         fg
         echo code $?",
    );
    session.expect("ready");
    session.type_in("\x1a");
    session.expect("stopped with 147");
    session.type_in("on we go\n");
    session.expect("got on we go");
    session.expect("code 0");
}

/// A command that stops itself when its own job was stopped: a becalm, or su(1).
#[test]
fn the_stop_key_stops_a_becalm_around_one_that_watches_over_a_job_of_its_own() {
    let mut session = Session::start(
        "bash",
        "set -m
         @run -- @run -- sh -c 'echo ready; read line; echo got $line; exit 0'
         echo stopped with $?
         fg
         echo code $?",
    );
    session.expect("ready");
    session.type_in("\x1a");
    session.expect("stopped with 147");
    session.type_in("on we go\n");
    session.expect("got on we go");
    session.expect("code 0");
}

#[test]
fn the_stop_key_stops_a_wait_and_the_interrupt_key_ends_it_later() {
    let mut session = Session::start(
        "bash",
        "set -m
         @run --base 1h --cap 1h --jitter none -- sh -c 'exit 7'
         echo stopped with $?
         fg
         echo code $?",
    );
    session.expect("retry in");
    session.type_in("\x1a");
    session.expect("stopped with 147");
    session.expect("retry in");
    session.type_in("\x03");
    // As after any job that the key has ended, bash ends the script.
    assert!(!session.ended().contains("code"));
}

#[test]
fn without_a_shell_that_could_continue_it_the_stop_key_stops_nothing() {
    let mut session = Session::start(
        "sh",
        "exec @run -- sh -c 'echo ready; read line; echo got $line'",
    );
    session.expect("ready");
    session.type_in("\x1a");
    session.type_in("on we go\n");
    session.expect("got on we go");
}

#[test]
fn a_job_in_the_background_gets_the_terminal_when_it_is_brought_to_the_front() {
    let mut session = Session::start(
        "bash",
        "set -m
         @run -- sh -c 'echo ready; read line; echo got $line' &
         wait %1
         echo waiting $?
         fg
         echo code $?",
    );
    session.expect("ready");
    session.expect("waiting");
    session.type_in("hello\n");
    session.expect("got hello");
    session.expect("code 0");
}

#[test]
fn a_pager_beside_becalm_may_have_the_terminal_instead() {
    let folder = Folder::new();
    let fifo = folder.path("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let script = format!(
        "set -m
         @run --attempts 1 -- sh -c 'echo line; read word < {fifo}; exit $word' |
             sh -c 'read line; echo pager has $line; read key < /dev/tty; echo key $key
                    read key < /dev/tty; echo $key > {fifo}'
         echo code ${{PIPESTATUS[0]}}",
        fifo = fifo.display()
    );
    let mut session = Session::start("bash", &script);
    session.expect("pager has line");
    session.type_in("q\n");
    session.expect("key q");
    session.type_in("7\n");
    session.expect("code 7");
}

#[test]
fn a_command_that_was_killed_leaves_the_terminal_as_it_was() {
    let mut session = Session::start(
        "sh",
        "@run --attempts 1 -- sh -c 'stty -echo; kill -9 $$'
         stty -a | grep -q -- -echo' ' && echo silent || echo sound",
    );
    session.expect("sound");
}

#[test]
fn recorded_input_may_be_typed() {
    let mut session = Session::start(
        "sh",
        "@run --stdin replay --base 0 --attempts 2 --quiet -- sh -c 'echo start; cat; exit 1'
         echo code $?",
    );
    session.expect("start");
    session.type_in("hello\n\x04");
    session.expect("hello\r\nhello\r\n");
    session.expect("start\r\nhello");
    session.expect("code 1");
}

#[test]
fn a_command_that_is_not_there_is_127_on_a_terminal_too() {
    let folder = Folder::new();
    let plain = folder.file("plain", "no program");
    let script = format!(
        "@run -- no-such-command-here; echo code $?; @run -- {}; echo code $?",
        plain.display()
    );
    let mut session = Session::start("sh", &script);
    session.expect("cannot run no-such-command-here");
    session.expect("code 127");
    assert!(!session.seen.contains("retry"), "{}", session.seen);
    session.expect("cannot run");
    session.expect("code 126");
}

#[test]
fn r8_a_program_that_is_being_written_is_tried_again_on_a_terminal_too() {
    let folder = Folder::new();
    let program = folder.file("program", "#!/bin/sh\necho it ran\n");
    let report = folder.path("report");
    std::fs::set_permissions(
        &program,
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let writer = std::fs::File::options()
        .append(true)
        .open(&program)
        .unwrap();
    let script = format!(
        "@run --base 10ms --cap 10ms --attempts unlimited --report {} -- {}; echo code $?",
        report.display(),
        program.display()
    );
    let mut session = Session::start("sh", &script);
    session.expect("could not be started); retry in");
    drop(writer);
    session.expect("it ran");
    session.expect("code 0");
    assert_eq!(run_support::report(&report)[0]["ended"], "not_started");
}

#[test]
fn a_command_on_a_terminal_starts_with_nothing_blocked_and_no_more_ignored_than_becalm() {
    let script = "grep -E '^Sig(Blk|Ign)' /proc/self/status";
    let mut session = Session::start(
        "sh",
        &format!("a=$({script}); b=$(@run -- {script}); [ \"$a\" = \"$b\" ] && echo same"),
    );
    session.expect("same");
}

#[test]
fn a_terminal_that_goes_ends_the_command_and_the_retries() {
    let folder = Folder::new();
    let path = folder.path("report");
    let mut session = Session::start(
        "sh",
        &format!(
            "@run --report {} -- sh -c 'echo ready; exec sleep 1000'",
            path.display()
        ),
    );
    session.expect("ready");
    // The death of the session's leader takes the terminal away.
    kill(
        Pid::from_raw(session.child.id().try_into().unwrap()),
        Signal::SIGKILL,
    )
    .unwrap();
    let start = Instant::now();
    while !std::fs::read_to_string(&path).unwrap().contains("summary") {
        assert!(start.elapsed() < HANG, "becalm does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
    let lines = run_support::report(&path);
    assert_eq!(
        (&lines[0]["signal"], &lines[1]["exit"]),
        (&1.into(), &129.into())
    );
    assert_eq!(lines[1]["outcome"], "cancelled");
}

#[test]
fn a_job_in_the_background_may_tell_where_output_would_stop_it() {
    let mut session = Session::start(
        "bash",
        "set -m; stty tostop
         @run --base 0 --attempts 2 --hold-output --stdin null -- sh -c 'echo out; exit 7' &
         wait %1
         echo code $?",
    );
    session.expect("attempt 1 of 2 failed");
    session.expect("out");
    session.expect("gave up because all attempts were used");
    session.expect("code 7");
}

/// Commands that answer the key in ways of their own, and say "ready" before.
const ANSWERS: [&str; 4] = [
    "echo ready; exec sleep 1000",
    "trap \"exit 2\" INT; echo ready; sleep 1000 & wait",
    "trap \"exit 130\" INT; echo ready; sleep 1000 & wait",
    "trap \"\" INT; echo ready; read line; exit 3",
];

#[test]
fn r1_the_interrupt_key_is_never_followed_by_an_attempt() {
    for answer in ANSWERS {
        let script =
            format!("exec @run --base 0 -- sh -c 'echo attempt $BECALM_ATTEMPT; {answer}'");
        let mut session = Session::start("sh", &script);
        session.expect("ready");
        session.type_in("\x03");
        session.type_in("a line\n");
        let seen = session.ended();
        assert!(!seen.contains("attempt 2"), "{answer}: {seen}");
    }
}

#[test]
fn r1_a_command_that_deals_with_the_interrupt_key_may_take_its_time_and_succeed() {
    let mut session = Session::start(
        "bash",
        "@run --base 0 --kill-after 1ms -- sh -c 'trap \"echo told; told=yes\" INT; echo ready
             while [ -z $told ]; do sleep 0.01; done; sleep 0.1; echo done'
         echo the script goes on with $?",
    );
    session.expect("ready");
    session.type_in("\x03");
    session.expect("told");
    session.expect("done");
    session.expect("the script goes on with 0");
}

#[test]
fn r2_the_interrupt_key_stops_the_script_and_the_loop_around() {
    for shell in ["bash", "dash"] {
        for answer in ANSWERS {
            for script in [
                format!("@run --base 0 -- sh -c '{answer}'; echo DELETING"),
                format!(
                    "for i in 1 2 3; do @run --base 0 -- sh -c '{answer}'; echo DELETING; done"
                ),
                format!(
                    "while :; do @run --base 0 -- @run -- sh -c '{answer}'; echo DELETING; done"
                ),
            ] {
                let mut session = Session::start(shell, &script);
                session.expect("ready");
                session.type_in("\x03");
                session.type_in("a line\n");
                let seen = session.ended();
                assert!(!seen.contains("DELETING"), "{shell}: {script}: {seen}");
            }
        }
    }
}

#[test]
fn r2_the_quit_key_stops_the_shell_around() {
    let script = "@run --base 0 -- sh -c 'echo ready; exec sleep 1000'; echo DELETING";
    let mut session = Session::start("dash", script);
    session.expect("ready");
    session.type_in("\x1c");
    let seen = session.ended();
    assert!(!seen.contains("DELETING"), "{seen}");
}

#[test]
fn r16_without_proc_a_command_runs_on_a_terminal_too() {
    let script = format!(
        "{} sh -c 'mount -t tmpfs none /proc && @run --base 0 -- sh -c \"echo ready; read a; echo got \\$a\"'
         echo code $?",
        run_support::namespaces::unshare("--mount")
    );
    let mut session = Session::start("sh", &script);
    session.type_in("a line\n");
    let seen = session.ended();
    assert!(
        seen.contains("got a line") && seen.contains("code 0"),
        "{seen}"
    );
}

#[test]
fn k7_a_becalm_that_is_killed_gives_the_foreground_back() {
    let folder = Folder::new();
    let path = folder.path("id");
    let mut session = Session::start(
        "sh",
        &format!(
            "@run -- sh -c 'echo $PPID > {path}; echo ready; exec sleep 1000'
             echo code $?; until read line; do sleep 0.01; done; echo got $line",
            path = path.display()
        ),
    );
    session.expect("ready");
    let id = std::fs::read_to_string(&path).unwrap().trim().to_owned();
    run_support::guard_of(&id);
    kill(Pid::from_raw(id.parse().unwrap()), Signal::SIGKILL).unwrap();
    session.expect("code 137");
    session.type_in("a line\n");
    session.expect("got a line");
}

#[test]
fn k7_a_missing_interpreter_is_told_on_a_terminal_too() {
    let folder = Folder::new();
    let script = folder.file("script", "#!/no/such/interpreter\n");
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut session = Session::start("sh", &format!("@run -- {}; echo code $?", script.display()));
    session.expect("the interpreter of its first line is not: /no/such/interpreter");
    session.expect("code 126");
}
