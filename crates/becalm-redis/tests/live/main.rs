//! Does becalm-redis keep its word with a server that is killed, cut off and in trouble?

mod driver;
mod proxy;
mod server;
mod table;
#[cfg(feature = "rustls")]
mod tls;
mod twice;
mod words;
