//! How many instructions does a call take? Counted by callgrind, which no busy neighbour can change.
//!
//! Callgrind runs this very program twice, with an argument of its own: once for some calls and once for more. The difference
//! is what the calls took, without the start. The kernel's part of a system call is not among them.

use std::env;
use std::fmt::Debug;
use std::future::Future;
use std::hint::black_box;
use std::process::Command;

use crate::bars::Bar;
use crate::drive::{Drive, runtime};
use crate::operation::{Flaky, succeed};
use crate::ours::{Becalm, BecalmDeadline};
use crate::peers::{AsyncPeer, Bare};

/// Makes this program make calls, and nothing else: the case and the number follow.
pub const ARGUMENT: &str = "--calls-of";

const BARE: &str = "bare";
const DEADLINE: &str = "deadline";
const BARE_RECOVERY: &str = "bare-recovery";
const RECOVERY: &str = "recovery";

/// Calls of the shorter and of the longer run.
const CALLS: [u64; 2] = [1000, 3000];

/// What is promised. Where callgrind is not installed, it counts as missed.
pub fn bars() -> Vec<Bar> {
    let above = |case, bare| of_a_call(case)?.checked_sub(of_a_call(bare)?);
    let or_missed = |count: Option<u64>| count.unwrap_or(u64::MAX);
    vec![
        // 605 before such calls took the quick path; 119 of it are the reading of tokio's clock.
        Bar::at_most_count(
            "instructions of a success with a deadline, over the bare call",
            or_missed(above(DEADLINE, BARE)),
            250,
        ),
        // 4,405 before the clock was read once and the story lay in the engine, 4,005 with an engine, 1,805 while each step of the
        // decision was a function of its own.
        Bar::at_most_count(
            "instructions of a failure and then a success, over a bare loop",
            or_missed(above(RECOVERY, BARE_RECOVERY)),
            1600,
        ),
    ]
}

/// What one call of this case takes; `None` where it cannot be counted.
fn of_a_call(case: &str) -> Option<u64> {
    let [few, many] = CALLS.map(|calls| of_a_run(case, calls));
    Some(many?.checked_sub(few?)? / (CALLS[1] - CALLS[0]))
}

fn of_a_run(case: &str, calls: u64) -> Option<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(env::current_exe().ok()?)
        .args([ARGUMENT, case, &calls.to_string()])
        .output()
        .ok()?;
    collected(&String::from_utf8_lossy(&output.stderr)).filter(|_| output.status.success())
}

/// `==17== Collected : 123456`
pub fn collected(report: &str) -> Option<u64> {
    let (_, count) = report.split_once("Collected :")?;
    count.split_whitespace().next()?.parse().ok()
}

/// What the counted process does; whether it knows the case.
pub fn run(case: &str, calls: &str) -> bool {
    let Ok(calls) = calls.parse() else {
        return false;
    };
    let (calls, flaky) = (Calls(calls), Flaky::failing(1));
    match case {
        BARE => Bare::usual(succeed, calls),
        DEADLINE => BecalmDeadline::usual(succeed, calls),
        BARE_RECOVERY => return Bare::without_wait(flaky.asynchronous(), calls).is_some(),
        RECOVERY => return Becalm::without_wait(flaky.asynchronous(), calls).is_some(),
        _ => return false,
    }
    true
}

/// Makes this number of calls inside a runtime. Each must succeed.
struct Calls(u64);

impl Drive for Calls {
    type Output = ();

    fn drive<C, F, E>(self, mut call: C)
    where
        C: FnMut() -> F + 'static,
        F: Future<Output = Result<u64, E>>,
        E: Debug,
    {
        runtime(false).block_on(async {
            for _ in 0..self.0 {
                black_box(call().await.expect("the call succeeds"));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read_from_callgrinds_report() {
        let report = "==17== Events    : Ir\n==17== Collected : 123456\n==17== \n";
        assert_eq!(collected(report), Some(123_456));
        assert_eq!(collected("valgrind: not found"), None);
    }

    #[test]
    fn every_case_is_known() {
        for case in [BARE, DEADLINE, BARE_RECOVERY, RECOVERY] {
            assert!(run(case, "3"), "{case}");
        }
        assert!(!run("another", "3"));
    }
}
