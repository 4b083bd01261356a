//! Does a connection come back, once at a time and without a herd? In virtual time, through the public
//! interface.

#![cfg(feature = "std")]

mod any_events;
#[cfg(feature = "tokio")]
mod commands;
mod fleet;
mod health;
mod network;
mod paced;
#[cfg(feature = "tokio")]
mod runtimes;
#[cfg(feature = "tokio")]
mod together;
mod words;
