//! Runs `becalm storm` as a process.

#![allow(dead_code)] // each test program uses a part

use std::process::{Command, Output, Stdio};

/// `becalm storm` with these arguments, without a terminal.
pub fn storm(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_becalm"))
        .arg("storm")
        .args(arguments)
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .output()
        .expect("the binary starts")
}

/// What it prints, when it succeeds.
pub fn told(arguments: &[&str]) -> String {
    let output = storm(arguments);
    let stderr = text(&output.stderr);
    assert!(
        output.status.success(),
        "becalm storm {arguments:?}: {stderr}"
    );
    assert_eq!(
        stderr, "",
        "nothing is said without a terminal: {arguments:?}"
    );
    text(&output.stdout)
}

/// Why it refuses its command line.
pub fn refused(arguments: &[&str]) -> String {
    let output = storm(arguments);
    let stderr = text(&output.stderr);
    assert_eq!(
        output.status.code(),
        Some(2),
        "becalm storm {arguments:?}: {stderr}"
    );
    assert_eq!(text(&output.stdout), "", "becalm storm {arguments:?}");
    stderr
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}
