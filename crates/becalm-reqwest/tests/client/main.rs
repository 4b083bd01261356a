//! Does the client keep to HTTP? Over real sockets on loopback: waits end with events.

mod answers;
mod bodies;
mod clients;
mod credentials;
#[cfg(feature = "h2")]
mod listed;
#[cfg(feature = "middleware")]
mod middleware;
mod options;
mod redirects;
#[cfg(feature = "h2")]
mod refused;
mod sent_once;
mod silent;
#[cfg(feature = "tracing")]
mod spans;
mod words;
