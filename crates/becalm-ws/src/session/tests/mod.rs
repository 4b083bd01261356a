//! Do both halves keep their word, whatever the network, the clock, the server and a hostile peer do? In virtual time.

mod hostile;
mod model;
mod network;
mod store;
