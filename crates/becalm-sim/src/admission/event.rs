//! What may happen at a moment, and how does an event queue hold it?

use super::tickets::Tickets;
use crate::engine::EventQueue;

/// What happens at a moment.
#[derive(Debug, Clone, Copy)]
pub(super) enum What {
    /// A client, and where the ticket is that it brings.
    Dial(u32, u32),
    /// Its patience is over.
    HangUp(u32),
    /// Somebody who waits may have a turn.
    Look,
}

impl What {
    /// In the place of a ticket, behind the places that there are.
    const HANG_UP: u32 = Tickets::NONE - 1;
    const LOOK: u32 = Tickets::NONE - 2;

    pub const fn to_bits(self) -> u64 {
        let (what, client) = match self {
            Self::Dial(client, ticket) => (ticket, client),
            Self::HangUp(client) => (Self::HANG_UP, client),
            Self::Look => (Self::LOOK, 0),
        };
        (what as u64) << 32 | client as u64
    }

    /// The client to whom it happens, or anybody.
    #[expect(clippy::cast_possible_truncation)] // the rest tells what it is
    pub const fn client_of_bits(bits: u64) -> u32 {
        bits as u32
    }

    pub const fn of_bits(bits: u64) -> Self {
        let client = Self::client_of_bits(bits);
        match (bits >> 32) as u32 {
            Self::LOOK => Self::Look,
            Self::HANG_UP => Self::HangUp(client),
            ticket => Self::Dial(client, ticket),
        }
    }

    pub fn push(self, queue: &mut EventQueue, at: u64) {
        queue.push(at, self.to_bits());
    }
}
