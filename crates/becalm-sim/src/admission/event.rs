//! What may happen at a moment, and how does an event queue hold it?

use crate::engine::EventQueue;

/// What happens at a moment.
#[derive(Debug, Clone, Copy)]
pub(super) enum What {
    Dial(u32),
    /// Its patience is over.
    HangUp(u32),
    /// Somebody who waits may have a turn.
    Look,
}

impl What {
    const HANG_UP: u64 = 1 << 32;
    const LOOK: u64 = 1 << 33;

    pub const fn to_bits(self) -> u64 {
        match self {
            Self::Dial(client) => client as u64,
            Self::HangUp(client) => Self::HANG_UP | client as u64,
            Self::Look => Self::LOOK,
        }
    }

    /// The client to whom it happens, or anybody.
    #[expect(clippy::cast_possible_truncation)] // the rest tells what it is
    pub const fn client_of_bits(bits: u64) -> u32 {
        bits as u32
    }

    pub const fn of_bits(bits: u64) -> Self {
        let client = Self::client_of_bits(bits);
        if bits & Self::LOOK > 0 {
            Self::Look
        } else if bits & Self::HANG_UP > 0 {
            Self::HangUp(client)
        } else {
            Self::Dial(client)
        }
    }

    pub fn push(self, queue: &mut EventQueue, at: u64) {
        queue.push(at, self.to_bits());
    }
}
