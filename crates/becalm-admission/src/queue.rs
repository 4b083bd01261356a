//! Who waits, and whose turn is it?
//!
//! Tickets go first, in the order of their slots; then resumptions, then fresh arrivals, and among each of these the
//! address groups take turns: self-clocked fair queueing (Golestani, INFOCOM 1994), each arrival a packet of one size.

use alloc::collections::BTreeMap;

use becalm::time::Instant;

use super::claims::Claims;
use super::group::{Groups, Rows};

/// One who waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Waiting {
    class: Class,
    /// Tickets: the slot. Others: the turn of the group.
    turn: u64,
    /// The order of arrival.
    number: u64,
}

impl Waiting {
    pub(super) fn class(self) -> Class {
        self.class
    }
}

/// In the order in which they are admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Class {
    Ticket,
    Resumption,
    Fresh,
}

/// What is known of one who waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiter {
    pub rows: Rows,
    pub until: Instant,
    pub ticket: Option<Claims>,
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    in_turn: BTreeMap<Waiting, Waiter>,
    /// In the order of arrival, which is that of their ends, since all have the same patience.
    by_age: BTreeMap<u64, (Waiting, Instant)>,
    arrived: u64,
    tickets: u32,
    /// The turn of the last who was taken, of resumptions and of fresh arrivals.
    turn: [u64; 2],
}

impl Class {
    /// The column of those who take turns.
    fn column(self) -> Option<usize> {
        match self {
            Self::Ticket => None,
            Self::Resumption => Some(0),
            Self::Fresh => Some(1),
        }
    }
}

impl Queue {
    #[inline]
    pub fn len(&self) -> u32 {
        u32::try_from(self.in_turn.len()).unwrap_or(u32::MAX)
    }

    /// Those who wait with a ticket.
    #[inline]
    pub fn tickets(&self) -> u32 {
        self.tickets
    }

    /// Whether anybody waits who goes before a new one of this class.
    #[inline]
    pub fn goes_before(&self, class: Class) -> bool {
        let first = self.in_turn.first_key_value();
        first.is_some_and(|(waiting, _)| waiting.class <= class)
    }

    pub fn push(&mut self, class: Class, waiter: Waiter, groups: &mut Groups) -> Waiting {
        let turn = match class.column() {
            None => {
                self.tickets += 1;
                waiter.ticket.map_or(0, |claims| claims.slot.as_nanos())
            }
            Some(column) => groups.next_turn(column, waiter.rows, self.turn[column]),
        };
        self.arrived += 1;
        let waiting = Waiting {
            class,
            turn,
            number: self.arrived,
        };
        self.by_age.insert(waiting.number, (waiting, waiter.until));
        self.in_turn.insert(waiting, waiter);
        waiting
    }

    /// Whose turn it is.
    #[inline]
    pub fn first(&self) -> Option<Waiting> {
        self.in_turn.first_key_value().map(|(waiting, _)| *waiting)
    }

    /// Who waits longest, and until when.
    #[inline]
    pub fn oldest(&self) -> Option<(Waiting, Instant)> {
        self.by_age.first_key_value().map(|(_, oldest)| *oldest)
    }

    /// It has its turn.
    pub fn take(&mut self, waiting: Waiting) -> Option<Waiter> {
        if let Some(column) = waiting.class.column() {
            self.turn[column] = self.turn[column].max(waiting.turn);
        }
        self.remove(waiting)
    }

    /// It does not wait any more.
    pub fn remove(&mut self, waiting: Waiting) -> Option<Waiter> {
        let waiter = self.in_turn.remove(&waiting)?;
        self.by_age.remove(&waiting.number);
        if waiting.class == Class::Ticket {
            self.tickets -= 1;
        }
        Some(waiter)
    }
}
