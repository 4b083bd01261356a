//! Does the buffer of a connection take this message? tungstenite refuses what would make it hold more than `max_write_buffer_size`.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_sink::Sink;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use super::Open;

/// The most that a frame of a client takes besides its payload (RFC 6455 section 5.2).
const FRAME: usize = 14;

/// The lengths of messages that a buffer takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// Into an empty buffer.
    alone: usize,
    /// Beside as much as is held before it is written.
    beside: usize,
}

impl Room {
    pub fn of(limits: &WebSocketConfig) -> Self {
        let whole = limits.max_write_buffer_size.saturating_sub(FRAME);
        Self {
            alone: whole.min(limits.max_message_size.unwrap_or(usize::MAX)),
            beside: whole.saturating_sub(limits.write_buffer_size),
        }
    }

    /// Whether the buffer has a bound: without one no length is asked for.
    const fn is_bounded(self) -> bool {
        self.beside < usize::MAX / 2
    }

    /// Whether it takes a message of this length at all.
    pub const fn takes(self, length: usize) -> bool {
        length <= self.alone
    }
}

impl Open {
    /// Whether a message of this length can be sent at all.
    pub const fn takes(&self, length: usize) -> bool {
        self.room.takes(length)
    }

    /// Whether the wire takes a message of this length now. One that fits into an empty buffer alone waits until all is written.
    pub fn poll_room(
        &mut self,
        length: impl FnOnce() -> usize,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Error>> {
        ready!(self.poll_ready(context))?;
        if self.room.is_bounded() && length() > self.room.beside {
            ready!(Pin::new(&mut self.wire).poll_flush(context))?;
            self.is_unflushed = false;
            self.unflushed.is_written();
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_bound_of_the_buffer_no_length_is_asked_for() {
        let room = Room::of(&WebSocketConfig::default());
        assert_eq!((room.alone, room.is_bounded()), (64 << 20, false));
    }
}
