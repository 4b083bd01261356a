//! What outlives a connection, so that no message is lost with it and none comes twice?
//!
//! A session: an id that is bound to a user, a number for each message and direction, and on each side what the
//! other has not confirmed yet. When a connection is lost the client dials again and names its session; both say
//! what they have received, and each sends again just what the other lacks, in order, once. A session that cannot be
//! resumed begins [cold](Cold), with the reason, and never in part.
//!
//! What travels is an [`Envelope`]: `docs/websocket-sessions.md` has each byte and the rules of both sides, for who writes another client
//! or server.
//!
//! What the upgrade request may carry, for an admission that lets those first who come back: the header [`HEADER`], with the id as 32
//! hexadecimal digits. It is a hint; *hello* decides.

mod accept;
mod client;
mod cold;
mod counts;
mod directory;
mod envelope;
mod first_and_last;
mod gone;
mod handle;
mod id;
mod ledger;
mod lost;
mod resume;
mod room;
mod settings;
mod slot;
mod socket;
// A client's half is private, and they drive both.
#[cfg(test)]
mod tests;

pub(crate) use client::{Resuming, Taken};
pub use cold::{Began, Cold};
pub use counts::Counts;
pub use directory::Sessions;
pub(crate) use envelope::HEAD;
pub use envelope::{Envelope, Hello};
pub use gone::Gone;
pub use handle::SessionHandle;
pub use id::{HEADER, InvalidId, SessionId};
pub use lost::Lost;
pub use resume::Resume;
pub use settings::SessionSettings;
pub use socket::SessionSocket;

pub use crate::protocol_error::ProtocolError;
