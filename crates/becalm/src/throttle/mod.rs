//! Should this call be sent at all, to a server that rejects most of them?
//!
//! [`Throttle`] is the configuration, plain data; [`AdaptiveThrottle`] keeps the counts and sheds
//! calls before their first try; a call's [`Priority`] says which counts are its own.

mod adaptive;
mod config;
mod priority;

pub use adaptive::{AdaptiveThrottle, Shed};
pub use config::{InvalidThrottle, Throttle};
pub use priority::Priority;
