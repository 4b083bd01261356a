//! `becalm run`: how does any command get retries that cannot start a storm?
//!
//! Whether and when to retry is the library's decision. `course` is the way from one attempt to the next, and
//! what is told of it; `unix` touches processes, signals, terminals and locks. The flags are the same on
//! every system.

mod above;
mod args;
#[cfg(unix)]
mod course;
#[cfg_attr(
    not(unix),
    expect(dead_code, reason = "a run that is refused has no policy")
)]
mod defaults;
#[cfg(unix)]
mod execute;
#[cfg_attr(
    not(unix),
    expect(dead_code, reason = "a run that is refused reads no flag")
)]
mod exit_codes;
#[cfg(not(unix))]
mod refused;
#[cfg_attr(
    not(unix),
    expect(dead_code, reason = "a run that is refused reads no flag")
)]
mod stdin;
#[cfg(unix)]
mod unix;

pub use above::refuse_above;
pub use args::Args;
pub use defaults::told;
#[cfg(unix)]
pub use execute::execute;
#[cfg(not(unix))]
pub use refused::{execute, stand_in};
#[cfg(unix)]
pub use unix::stand_in::stand_in;
