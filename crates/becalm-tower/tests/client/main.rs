//! Do the client layers keep to HTTP? Over services made up for the case, on a clock that stands still;
//! and over real sockets, where waits end with events.

mod bodies;
mod connections;
mod hyper;
mod made_up;
mod options;
#[cfg(feature = "h2")]
mod refused;
mod responses;
mod scope;
mod sent_once;
