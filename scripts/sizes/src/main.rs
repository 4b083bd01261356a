//! How large are the sources, and which files import each other in a circle?
//!
//! Reads `crates/*/src`. `scripts/size` starts it.

mod arrows;
mod bounds;
mod circles;
mod functions;
mod lines;
mod measured;
mod paths;
mod public;
mod report;
mod sources;
mod without_tests;

use measured::Measured;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let (options, names): (Vec<String>, Vec<String>) = std::env::args()
        .skip(1)
        .partition(|argument| argument.starts_with('-'));
    let check = options == ["--check"];
    if !(check || options.is_empty()) {
        eprintln!("usage: scripts/size [--check] [CRATE..]");
        return ExitCode::from(2);
    }
    let crates = match measure(&names) {
        Ok(crates) => crates,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    if !check {
        print!("{}", report::report(&crates));
        return ExitCode::SUCCESS;
    }
    let exceeded = report::exceeded(&crates);
    for bound in &exceeded {
        println!("{bound}");
    }
    if exceeded.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Measures the crates of these names, or all.
fn measure(names: &[String]) -> io::Result<Vec<Measured>> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates");
    let mut folders: Vec<PathBuf> = if names.is_empty() {
        let entries: io::Result<Vec<_>> = std::fs::read_dir(&all)?.collect();
        entries?.into_iter().map(|entry| entry.path()).collect()
    } else {
        names.iter().map(|name| all.join(name)).collect()
    };
    folders.retain(|folder| folder.join("Cargo.toml").is_file());
    folders.sort();
    if folders.is_empty() {
        return Err(io::Error::other("crates/ has no crate of such a name"));
    }
    folders.iter().map(|folder| Measured::of(folder)).collect()
}
