//! Is each limit of a system that does not show its processes told once, and does the rest hold?
//!
//! Linux without /proc is such a system; macOS is another, and runs the same code.

#![cfg(target_os = "linux")] // unshare(1)

mod run_support;

use run_support::namespaces::unshare;
use run_support::{RunCommand, becalm};

/// `becalm run` where /proc is empty, after this line of shell.
fn without_proc(before: &str) -> RunCommand {
    let hidden = format!(
        "mount -t tmpfs none /proc && {before} exec {} run \"$@\"",
        env!("CARGO_BIN_EXE_becalm")
    );
    becalm().with(|command| {
        let unshare = unshare("--mount");
        let mut words = unshare.split(' ');
        let mut hiding = std::process::Command::new(words.next().unwrap());
        hiding.args(words).args(["/bin/sh", "-c", &hidden, "sh"]);
        let piped = std::process::Stdio::piped;
        hiding.stdin(piped()).stdout(piped()).stderr(piped());
        *command = hiding;
    })
}

#[test]
fn a_command_that_ends_by_itself_meets_no_limit() {
    let done = without_proc("").sh("echo fine");
    assert_eq!((done.code(), done.out().as_str()), (0, "fine\n"));
    assert_eq!(done.err(), "");
}

#[test]
fn each_limit_is_told_once_when_it_is_met() {
    let flags = "--attempts 2 --base 0 --attempt-timeout 200ms --kill-after 50ms";
    let done = without_proc("")
        .flags(flags)
        .sh("trap '' TERM; while :; do sleep 0.01; done");
    assert_eq!(done.code(), 124);
    for limit in [
        "if becalm is killed, the command goes on",
        "this system does not show what that is",
    ] {
        assert_eq!(done.err().matches(limit).count(), 1, "{}", done.err());
    }
}

#[test]
fn a_signal_that_was_ignored_stays_ignored_here_too() {
    let mut running = without_proc("trap '' HUP;").start_sh("echo ready; read line; echo $line");
    running.line();
    running.signal(nix::sys::signal::Signal::SIGHUP);
    // Handled in order: had the first one ended it, this one would not be answered.
    std::io::Write::write_all(running.child.stdin.as_mut().unwrap(), b"on it goes\n").unwrap();
    let done = running.finish();
    assert_eq!((done.code(), done.out().as_str()), (0, "on it goes\n"));
}
