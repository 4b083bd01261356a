//! What else is becalm's own program started as? A few small processes that becalm needs beside it.

use std::ffi::OsString;
use std::process::ExitCode;

use super::{foreground, guard, witness};

/// If these are the arguments of one of those processes, does its work; the result is its exit code.
pub fn stand_in(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter();
    match arguments.next()?.to_str()? {
        foreground::NAME => foreground::execute(arguments),
        guard::NAME => guard::stand(arguments),
        witness::NAME => Some(witness::stand()),
        _ => None,
    }
}
