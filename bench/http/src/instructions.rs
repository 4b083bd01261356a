//! How many instructions does a part take? Counted by callgrind in a process of its own, so that no neighbour is measured.

use std::env::current_exe;
use std::process::Command;

/// The first argument of a process that does the work of a part and ends.
pub const COUNTED: &str = "--counted";

/// So often at first: what is made once is made.
const BEFORE: u32 = 200;
const CALLS: u32 = 1000;

/// The instructions of one call of the part of this name, by the difference of two processes.
pub fn of(part: &str) -> f64 {
    let more = whole(part, BEFORE + CALLS) - whole(part, BEFORE);
    more / f64::from(CALLS)
}

fn whole(part: &str, calls: u32) -> f64 {
    let program = current_exe().expect("the path of this program");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args([COUNTED, part, &calls.to_string()])
        .output()
        .expect("valgrind is installed");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`{part}` ends well: {told}");
    let collected = told
        .lines()
        .find_map(|line| line.split("Collected :").nth(1));
    let collected = collected.and_then(|count| count.trim().parse().ok());
    collected.unwrap_or_else(|| panic!("callgrind counts `{part}`: {told}"))
}
