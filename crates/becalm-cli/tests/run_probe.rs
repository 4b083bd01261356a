//! What do commands that retry get wrong? One line of shell for each fault, asked of the real becalm.
//!
//! Signals and terminals have tests of their own.

#![cfg(unix)]

mod run_support;

use run_support::{Folder, RunCommand, becalm};

/// The fault, what a user types, and what it prints. `$F` is a folder of its own.
const PROBE: &[(&str, &str, &str)] = &[
    (
        "the exit code of the last attempt is lost",
        "for code in 1 7 100 255; do @now --attempts 2 -q -- sh -c \"exit $code\"; echo $?; done",
        "1\n7\n100\n255\n",
    ),
    (
        "success after a failure is no success",
        "@now -q -- sh -c 'echo x >> $F/n; [ $(wc -l < $F/n) = 3 ]'; echo $?; wc -l < $F/n",
        "0\n3\n",
    ),
    (
        "the arguments are joined and read by a shell again",
        "@now -- printf '%s|' 'a b' '$HOME' '*' \"it's\" '' '--attempts'",
        "a b|$HOME|*|it's||--attempts|",
    ),
    (
        "flags of the command are taken for one's own",
        "@now -- sh -c 'echo $0 $*' --attempts 9 -q --help",
        "--attempts 9 -q --help\n",
    ),
    (
        "what it says of itself stands in the command's output",
        "@now --attempts 2 -- sh -c 'echo data; exit 1' 2> /dev/null",
        "data\ndata\n",
    ),
    (
        "bytes that are no text are changed, or a last line gets an end",
        "@now --hold-output -- printf 'a\\000\\377\\r\\nb' | od -An -tx1 | tr -d ' '",
        "6100ff0d0a62\n",
    ),
    (
        "the first attempt eats the input of all",
        "printf 'in\\n' | @now -q --attempts 2 --stdin replay -- sh -c 'cat; exit 1'",
        "in\nin\n",
    ),
    (
        "the output of failed attempts is sent on as well",
        "@now -q --hold-output -- sh -c 'echo try $BECALM_ATTEMPT; [ $BECALM_ATTEMPT = 3 ]'",
        "try 3\n",
    ),
    (
        "it waits after the last attempt",
        "@run --base 1h --cap 1h --attempts 1 -q -- false; echo $?",
        "1\n",
    ),
    (
        "a command that is not there is tried again",
        "@run --base 1h --cap 1h -q -- no-such-command-here 2> /dev/null; echo $?",
        "127\n",
    ),
    (
        "a wait overflows, and is none or for ever",
        "@run -q --base 1us --cap 2us --multiplier 1e300 --attempts 80 -- sh -c 'echo >> $F/n; exit 1'; wc -l < $F/n",
        "80\n",
    ),
    (
        "a number out of range is taken for another",
        "for n in 0 -1 4294967296 1.5 x; do @run --attempts $n -- echo ran 2> /dev/null; echo $?; done",
        "125\n125\n125\n125\n125\n",
    ),
    (
        "no command, or an empty one, is success",
        "@run 2> /dev/null; echo $?; @run -- '' 2> /dev/null; echo $?",
        "125\n127\n",
    ),
    (
        "directory, mask, limits or other descriptors do not reach the command",
        "cd $F; umask 027; ulimit -n 77; @now -- sh -c 'umask; ulimit -n; echo three >&3; ls -A' 3>&1",
        "0027\n77\nthree\n",
    ),
    (
        "it fails where the standard streams are closed",
        "@now -- sh -c 'echo ran > $F/n' <&- >&- 2>&-; echo $?; cat $F/n",
        "0\nran\n",
    ),
    (
        "a variable of the command's name is set, or one is lost",
        "A=kept @now -- sh -c 'echo $A $BECALM_ATTEMPT ${BECALM_LAST_EXIT-unset}'",
        "kept 1 unset\n",
    ),
    (
        "a time-out ends the command and not what it started",
        "@now -q --attempts 1 --attempt-timeout 1s -- sh -c 'sleep 1000 & echo $! > $F/id; wait'
         echo $?; [ -s $F/id ] && ! kill -0 $(cat $F/id) 2> /dev/null && echo gone",
        "124\ngone\n",
    ),
    (
        "what ignores TERM outlives a time-out",
        "@now -q --attempts 1 --attempt-timeout 1s --kill-after 10ms -- sh -c 'trap \"\" TERM; while :; do sleep 0.01; done'
         echo $?",
        "124\n",
    ),
    (
        "a reader that has gone is answered with more attempts",
        "@now -q -- sh -c 'echo x >> $F/n; yes' | head -1; wc -l < $F/n",
        "y\n1\n",
    ),
    (
        "two in one another multiply",
        "@now -q --attempts 3 -- @now -q --attempts 3 -- sh -c 'echo >> $F/n; exit 1'; wc -l < $F/n",
        "5\n",
    ),
    (
        "a full disk is success",
        "@now -q --hold-output -- echo lost > /dev/full 2> /dev/null; echo $?",
        "125\n",
    ),
];

#[test]
fn no_fault_of_other_commands_that_retry() {
    for (fault, line, printed) in PROBE {
        let folder = Folder::new();
        let run = concat!(env!("CARGO_BIN_EXE_becalm"), " run");
        let now = format!("{run} --base 0");
        let script = line.replace("@run", run).replace("@now", &now);
        let shell = |becalm: RunCommand| {
            becalm.with(|command| {
                let piped = std::process::Stdio::piped;
                *command = std::process::Command::new("/bin/sh");
                command.args(["-c", &script]).env("F", folder.path(""));
                command.stdin(piped()).stdout(piped()).stderr(piped());
            })
        };
        let done = shell(becalm()).run();
        assert_eq!(done.out(), *printed, "{fault}: {}", done.err());
    }
}

/// A name may hold anything but a slash.
#[test]
fn a_program_of_any_name_is_found() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    for name in ["two words", "-dash", "quo\"te's", "line\nbreak", "\u{fc}"] {
        let path = folder.file(name, "#!/bin/sh\necho ran\n");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let done = becalm().flag("--", &path).run();
        assert_eq!(done.out(), "ran\n", "{name:?}: {}", done.err());
    }
}
