//! Does becalm-redis keep its word with a server that is killed, cut off and in trouble?

mod driver;
mod fleet;
mod proxy;
mod server;
mod table;
mod twice;
mod words;
