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
pub mod hooks;
pub mod host;
mod ignored;
pub mod inbox;
mod itself;
pub mod orphans;
pub mod output;
mod pipe;
pub mod spool;
pub mod stand_in;
pub mod standard;
pub mod terminal;
mod vigil;
mod witness;

pub use nix::sys::signal::Signal;
