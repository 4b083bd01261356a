//! What does a run ask of a Unix system?
//!
//! All calls of the system are here: processes and their groups, signals, terminals, pipes, locks. What
//! Linux alone has is gated in the file that asks for it.

pub mod attempt;
pub mod budget_file;
mod copy;
pub mod farewell;
mod foreground;
pub mod group;
mod guard;
pub mod hint_file;
pub mod holder;
pub mod hooks;
pub mod host;
mod ignored;
pub mod inbox;
mod itself;
mod leftovers;
pub mod orphans;
pub mod output;
mod pipe;
mod processes;
mod pseudo_terminal;
pub mod report_file;
pub mod spool;
pub mod stand_in;
pub mod standard;
pub mod terminal;
mod vigil;
mod witness;

pub use nix::sys::signal::Signal;

/// How a file is opened that another user may have put there: without waiting for anybody, and not through a link.
pub const WITHOUT_WAITING: i32 =
    nix::libc::O_NONBLOCK | nix::libc::O_NOFOLLOW | nix::libc::O_NOCTTY;
