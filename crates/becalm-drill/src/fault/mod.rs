//! What is broken on purpose at a service that is not becalm's, and how is it whole again on every exit?

pub mod allowed;
mod faults;
mod helper;
#[cfg(unix)]
mod process;
mod proxy;
mod seen;
mod spec;
#[cfg(unix)]
mod stopped;
#[cfg(not(unix))]
mod unstoppable;
mod upstream;
#[cfg(unix)]
mod watchdog;

use std::ffi::OsString;
use std::process::ExitCode;

pub use faults::{Faults, Place, Plan};
pub use seen::{Bucket, Counts, Seen};
pub use spec::{Fault, Reach};
pub use upstream::{Speaks, Upstream};

/// If this is the name of one of a fault's processes, does its work; the result is its exit code.
pub fn stand_in(name: &str, arguments: &mut impl Iterator<Item = OsString>) -> Option<ExitCode> {
    match name {
        proxy::NAME => Some(proxy::execute(arguments.next())),
        #[cfg(unix)]
        watchdog::NAME => Some(watchdog::execute(arguments.next())),
        _ => None,
    }
}
