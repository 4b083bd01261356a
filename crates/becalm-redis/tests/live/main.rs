//! Does becalm-redis keep its word with a server that is killed, cut off and in trouble?

mod driver;
mod proxy;
mod server;
#[cfg(feature = "streams")]
mod streams;
mod table;
mod twice;
mod words;
