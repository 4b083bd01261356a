//! Do lines of the output decide what becalm ends with, and does the command notice nothing of who reads them?

mod run_support;

use run_support::{Folder, becalm_at_once, report};

#[test]
fn k5_a_rule_that_decides_failure_decides_the_exit_code() {
    let folder = Folder::new();
    let path = folder.path("report");
    for (flags, script, code, attempts) in [
        ("--retry-on-output busy", "echo busy", 1, 2),
        ("--retry-on-output busy", "echo busy; exit 7", 7, 2),
        ("--stop-on-output denied", "echo denied >&2", 1, 1),
        ("--stop-on-output denied", "echo fine", 0, 1),
        ("--retry-on-output busy --hold-output", "echo busy", 1, 2),
        // Nothing is changed where a policy only observes.
        ("--retry-on-output busy --mode observe", "echo busy", 0, 1),
    ] {
        let done = becalm_at_once()
            .flags("--attempts 2")
            .flags(flags)
            .flag("--report", &path)
            .sh(script);
        assert_eq!(done.code(), code, "{flags}: {script}: {}", done.err());
        let lines = report(&path);
        let summary = lines.last().unwrap();
        assert_eq!(
            (&summary["exit"], &summary["attempts"]),
            (&code.into(), &attempts.into())
        );
    }
}

#[test]
fn k5_a_script_stops_where_the_rule_says_that_it_failed() {
    let script = format!(
        "{} run --quiet --base 0 --attempts 2 --retry-on-output ERROR -- echo ERROR && echo deploys",
        env!("CARGO_BIN_EXE_becalm")
    );
    let output = std::process::Command::new("sh")
        .args(["-c", &script])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "ERROR\nERROR\n");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn k5_rules_see_the_text_that_a_reader_sees() {
    for printed in [
        r"\033[31merror\033[0m: disk full\n",
        r"\033[1;38;5;9mer\033[4mror: disk\033[m full\n",
        r"10%%\r20%%\rerror: disk full\n",
        r"10%%\r\033[Kerror: disk full",
        r"\033]0;a title\007error: disk full\r\n",
        r"\033]8;;http://a/\033\\error: disk full\033]8;;\033\\\n",
    ] {
        let done = becalm_at_once()
            .flags("--attempts 2 --quiet")
            .flag("--stop-on-output", "^error: disk full$")
            .flag("--retry-on-output", ".")
            .sh(&format!("printf '{printed}'"));
        let permanent = done.err().contains("--stop-on-output knows a line");
        assert!(permanent, "{printed}: {}", done.err());
    }
}

/// What is printed alternately to both, in one place, has its order.
#[test]
fn k5_what_goes_to_one_place_keeps_its_order() {
    let folder = Folder::new();
    let file = folder.path("log");
    let command = format!(
        "{} run --retry-on-output never -- sh -c 'for i in 1 2 3 4 5 6 7 8 9; do echo $i; echo $i >&2; done'",
        env!("CARGO_BIN_EXE_becalm")
    );
    let lines: Vec<_> = (1..10).map(|i| format!("{i}\n{i}\n")).collect();
    let expected = lines.concat();
    for to in ["> FILE 2>&1", "2>&1 | cat > FILE", ">> FILE 2>> FILE"] {
        let to = to.replace("FILE", &file.display().to_string());
        let _ = std::fs::remove_file(&file);
        let script = format!("{command} {to}");
        let status = std::process::Command::new("sh")
            .args(["-c", &script])
            .status()
            .unwrap();
        assert!(status.success());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), expected, "{to}");
    }
}

#[cfg(target_os = "linux")] // setsid(1)
#[test]
fn k5_where_the_user_has_a_terminal_the_command_has_one_too() {
    use run_support::terminal::Session;
    let mut session = Session::start(
        "sh",
        "stty rows 33 cols 77
         @run --retry-on-output never -- sh -c '
            test -t 0 && test -t 1 && test -t 2 && echo all three
            stty size <&1; for i in 1 2 3; do echo out $i; echo err $i >&2; done'
         @run --retry-on-output never -- sh -c 'test -t 1 && echo no; test -t 2 && echo only err >&2' | cat
         echo code $?",
    );
    session.expect("all three\r\n33 77\r\nout 1\r\nerr 1\r\nout 2\r\nerr 2\r\nout 3\r\nerr 3\r\n");
    session.expect("only err");
    session.expect("code 0");
    assert!(!session.ended().contains("no\r"));
    // The keys are the user's terminal's.
    let mut session = Session::start(
        "sh",
        "trap : INT
         @run --base 0 --retry-on-output never -- sh -c 'echo ready; exec sleep 1000'
         echo code $?",
    );
    session.expect("ready");
    session.type_in("\x03");
    session.expect("code 130");
}
