//! Which of a drill's processes has this program been started as?

use std::ffi::OsString;
use std::process::ExitCode;

#[cfg(all(feature = "ws", unix))]
use crate::ws;
use crate::{fault, itself};

/// Does the work of one of a drill's processes if these are its arguments; the result is its exit code. A program that holds drills
/// calls it first in `main`, as a drill starts that program again for what has to outlive it:
///
/// ```no_run
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     if let Some(code) = becalm_drill::stand_in(std::env::args_os()) {
///         return code;
///     }
///     // Plans and holds a drill.
///     ExitCode::SUCCESS
/// }
/// ```
pub fn stand_in(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    itself::knows();
    let mut arguments = arguments.into_iter();
    // A shell that starts it cannot give it another name: then that is its first argument.
    for _ in 0..2 {
        let name = arguments.next()?;
        let name = name.to_str()?;
        if let Some(code) = fault::stand_in(name, &mut arguments) {
            return Some(code);
        }
        #[cfg(all(feature = "ws", unix))]
        if let Some(code) = ws::stand_in(name, &mut arguments) {
            return Some(code);
        }
    }
    None
}
