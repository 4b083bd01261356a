//! Does becalm-redis keep its word with a server that is killed, cut off and in trouble?

mod answers;
#[cfg(feature = "streams")]
mod deaths;
mod decides;
mod dedicated;
mod driver;
#[cfg(feature = "streams")]
mod failover;
#[cfg(feature = "streams")]
mod faults;
mod fleet;
mod fleet_processes;
mod generated;
mod grammar;
mod late;
mod logins;
mod mixed;
mod proxy;
#[cfg(feature = "streams")]
mod queue;
mod refused;
mod resp3;
#[cfg(feature = "streams")]
mod sentinel;
mod server;
mod slots;
mod strangers;
#[cfg(feature = "streams")]
mod streams;
mod subscription;
mod table;
#[cfg(feature = "rustls")]
mod tls;
mod twice;
mod unfit;
mod words;
