//! What outlives a connection, so that no message is lost with it and none comes twice?
//!
//! A session: an id that is bound to a user, a number for each message and direction, and on each side what the
//! other has not confirmed yet. When a connection is lost the client dials again and names its session; both say
//! what they have received, and each sends again just what the other lacks, in order, once. A session that cannot be
//! resumed begins [cold](Cold), with the reason, and never in part.
//!
//! # The envelope
//!
//! Each message of the application travels in a *binary* WebSocket message, and begins with the byte that says what it is. Numbers are
//! unsigned, big-endian (as JavaScript's `DataView` reads them) and stay below 2^53; each direction numbers its messages from 1.
//!
//! | byte | from | name | what follows, at which offset |
//! |---|---|---|---|
//! | 1 | client | hello | 1: `bclm`; 5: version, 1; 6: *longest*, 4 bytes; 10: *window*, 4; 14: session id, 16; 30: epoch, 8; 38: dial, 4; 42: *received*, 8; 50: *confirmed*, 8; 58: *sent*, 8 (66 bytes in all) |
//! | 2 | server | resumed | 1: *longest*, 4; 5: *window*, 4; 9: *received*, 8 (17 in all) |
//! | 3 | server | cold | 1: reason, 1; 2: *longest*, 4; 6: *window*, 4; 10: session id, 16; 26: epoch, 8 (34 in all) |
//! | 4 | both | text | 1: its number, 8; 9: *received*, 8; 17: the text, UTF-8 |
//! | 5 | both | binary | 1: its number, 8; 9: *received*, 8; 17: the bytes |
//! | 6 | both | ack | 1: *received*, 8 (9 in all) |
//! | 7 | both | end | nothing (1 in all) |
//!
//! - *longest*: the longest payload that the sender of this accepts. A longer one is a protocol error, so nobody begins to
//!   send it.
//! - *window*: how many bytes of messages the sender of this keeps unconfirmed, 64 more counted for each; then it waits. So
//!   the other confirms before a quarter of it has come.
//! - *received*: the number of the last message that was handed to the application. It confirms all up to it. A number lower than one that was
//!   told before is no error, and says nothing.
//! - *confirmed* and *sent*: the last number that the server has confirmed, and the last that was ever sent.
//!
//! 1. The client's first message on each connection is *hello*. With id and epoch of zeros (and all numbers zero) it asks for a
//!    new session; *dial* counts the connections on which it names one session, from 1.
//! 2. The server answers *resumed* or *cold*, the reason being a code of [`Cold::code`]. Nothing else is sent before. After *cold* both
//!    count from 1, with what *cold* names.
//! 3. The client answers with an *ack*, at once. A new session that was not confirmed so is not kept. Then both send again
//!    what is beyond the other's *received*, with the same numbers, and go on.
//! 4. Who has received sends *received* with the next message, or alone: after a quarter of the other's *window*, after 64 messages, or
//!    after a delay.
//! 5. *end* says that the session is over for good; a client that hears it asks for a new one with its next dial, and a server answers it
//!    with an *ack*. It comes before the Close frame; a Close frame alone ends the connection only.
//!
//! A number that is not the next one, a confirmation of what was not sent, a message that is longer than *longest* or of another form is a
//! [`ProtocolError`]: the connection is closed with 1002, and the session is over.
//!
//! A server takes a later *dial* of a session that still has a connection for that session's: the older connection is closed, and what
//! still comes by it is not heard. One that is not later (a delayed connection, a copied tab) gets a session of its own.
//!
//! What the upgrade request may carry, for an admission that lets those first who come back: the header [`HEADER`], with the id as 32
//! hexadecimal digits. It is a hint; *hello* decides.

mod accept;
mod client;
mod cold;
mod counts;
mod directory;
mod envelope;
mod id;
mod ledger;
mod lost;
mod resume;
mod settings;
mod slot;
mod socket;
#[cfg(test)]
mod tests;

pub(crate) use client::{Resuming, Taken};
pub use cold::{Began, Cold};
pub use counts::Counts;
pub use directory::{Gone, Sessions};
pub(crate) use envelope::HEAD;
pub use envelope::{Envelope, Hello, ProtocolError};
pub use id::{HEADER, InvalidId, SessionId};
pub use lost::Lost;
pub use resume::Resume;
pub use settings::SessionSettings;
pub use slot::SessionHandle;
pub use socket::SessionSocket;
