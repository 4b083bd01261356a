//! How much memory does becalm take, whatever passes through it?
//!
//! A test program of its own: the system counts the greatest child of all.

#![cfg(target_os = "linux")] // the unit of the figure is the system's own: KiB here

mod run_support;

use std::fs::File;
use std::process::Stdio;

use nix::sys::resource::{UsageWho, getrusage};
use run_support::{Folder, becalm};

const MUCH: usize = 96 << 20;
const LITTLE_KIB: i64 = 40 << 10;

#[test]
fn unlimited_output_and_input_take_bounded_memory() {
    let folder = Folder::new();
    let copy = folder.path("copy");
    let zeros = format!("exec head -c {MUCH} /dev/zero");
    let length = || std::fs::metadata(&copy).unwrap().len();

    // One line without an end, watched as it passes.
    let watched = becalm()
        .flags("--retry-on-output never")
        .with(|it| _ = it.stdout(File::create(&copy).unwrap()))
        .sh(&zeros);
    assert_eq!((watched.code(), length()), (0, MUCH as u64));

    // Kept until the attempt is known to count.
    let held = becalm()
        .flags("--hold-output")
        .with(|it| _ = it.stdout(File::create(&copy).unwrap()))
        .sh(&zeros);
    assert_eq!((held.code(), length()), (0, MUCH as u64));

    // Recorded for a replay.
    let replayed = becalm()
        .flags("--base 0 --attempts 2 --stdin replay")
        .with(|it| _ = it.stdin(File::open(&copy).unwrap()).stdout(Stdio::piped()))
        .sh("wc -c; exit 1");
    assert_eq!(replayed.out(), format!("{MUCH}\n{MUCH}\n"));

    let greatest = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap().max_rss();
    assert!(greatest < LITTLE_KIB, "{greatest} KiB");
}
