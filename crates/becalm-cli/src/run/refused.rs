//! What does `becalm run` say on a system where it cannot keep its promises?

use std::ffi::OsString;
use std::process::ExitCode;

use super::Args;
use super::refuse_above;
use crate::usage::REFUSED_RUN;

/// One sentence: the reason, and what to use.
const REFUSAL: &str = "becalm: becalm run needs the process groups and signals of Unix, which this system does not \
    have; on Windows use it within WSL, or retry in the program itself with the library (becalm on crates.io)";

/// Refuses to run the command.
pub fn execute(_: Args) -> ExitCode {
    eprintln!("{REFUSAL}");
    refuse_above();
    ExitCode::from(REFUSED_RUN)
}

/// Nothing: no process of becalm's own is started beside a command that does not run.
pub fn stand_in(_: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    None
}
