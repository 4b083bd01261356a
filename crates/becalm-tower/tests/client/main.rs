//! Do the client layers keep to HTTP? Over services made up for the case, on a clock that stands still;
//! and over real sockets, where waits end with events.

mod bodies;
mod collected;
mod connections;
mod grpc;
mod hyper;
mod listed;
mod made_up;
mod options;
mod readiness;
mod redirects;
#[cfg(feature = "h2")]
mod refused;
mod responses;
mod scope;
mod sent_once;
mod silent;
#[cfg(feature = "tracing")]
mod spans;
mod words;
