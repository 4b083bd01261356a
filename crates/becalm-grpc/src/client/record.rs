//! What is known of a call that got no answer, beside the message of its status? How each attempt went.

use std::error::Error;
use std::fmt;
use std::ops::Deref;

use becalm_tower::client::NoAnswer;

/// The give-up of a call, as the source of its status. It shows the number of attempts alone: its sentence is the message of
/// the status, and a chain of sources says it once. `E` is the channel's error: of a channel of tonic `Record<tonic::transport::Error>`.
pub struct Record<E>(pub(super) NoAnswer<E>);

impl<E> Deref for Record<E> {
    type Target = NoAnswer<E>;

    fn deref(&self) -> &NoAnswer<E> {
        &self.0
    }
}

impl<E> fmt::Display for Record<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.attempts() {
            1 => f.write_str("1 attempt"),
            attempts => write!(f, "{attempts} attempts"),
        }
    }
}

/// As tonic shows the source of a status.
impl<E> fmt::Debug for Record<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<E> Error for Record<E> {}
