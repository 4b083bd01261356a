//! How does a connection come back, and go on coming back, without a herd?
//!
//! A retry ends; a connection that is needed does not stop being needed. When a server dies, every client
//! sees it within one round trip, so the close is what brings them into step. [`Reconnect`] says
//! when to dial again. [`Reconnector`] is one connection's state without IO: it has at most one timer and
//! at most one dial. Where connections share a process, a [`Pacer`] delays their dials, and a
//! [`SharedConnection`] is dialled once for all who wait for it.
//!
//! A retrier in a loop is no reconnector: its budget refuses at once, the loop calls again, and that is a first
//! try. Here nothing is refused for want of a budget; it waits.

#[cfg(feature = "std")]
mod connection;
mod machine;
#[cfg(feature = "std")]
mod pacer;
mod settings;

#[cfg(feature = "std")]
pub use connection::{Builder, Get, Held, NoConnection, SharedConnection};
pub use machine::{Dial, DialId, Next, Reconnector};
#[cfg(feature = "std")]
pub use pacer::{InvalidPacer, Pacer, Permit};
pub use settings::{Healthy, Plan, Reconnect};
