//! What is an arrival told?

use core::time::Duration;

use becalm::hint::Hint;
use becalm::support::reasons;
use becalm::time::Instant;

use super::claims::Claims;
use super::group::AddressGroup;
use super::queue::Waiting;

/// Somebody who has come and wants the costly work done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Arrival {
    /// Who shares its turn.
    pub group: AddressGroup,
    /// It goes on with a session that the server knows: it goes before fresh ones, since it is cheaper, and since
    /// somebody is waiting for its messages.
    pub is_resumption: bool,
    /// What its ticket claims. The caller has looked at the seal.
    pub ticket: Option<Claims>,
}

impl Arrival {
    /// A fresh one, without a ticket.
    pub const fn of(group: AddressGroup) -> Self {
        Self {
            group,
            is_resumption: false,
            ticket: None,
        }
    }

    /// It goes on with a session.
    #[must_use]
    pub const fn resumption(mut self) -> Self {
        self.is_resumption = true;
        self
    }

    /// It brings a ticket.
    #[must_use]
    pub const fn ticket(mut self, claims: Claims) -> Self {
        self.ticket = Some(claims);
        self
    }
}

/// What an arrival is told.
#[derive(Debug)]
#[non_exhaustive]
#[must_use]
pub enum Answer {
    /// The costly work may begin.
    Admit(Permit),
    /// It keeps its connection and waits for its [turn](super::Turn).
    Wait(Waiting),
    /// It is to come later.
    Later(Refusal),
}

/// What has become of one who waits.
#[derive(Debug)]
#[non_exhaustive]
#[must_use]
pub enum Turn {
    /// The costly work may begin.
    Admit(Waiting, Permit),
    /// It has waited too long and is to come later, if it listens still.
    Later(Waiting, Refusal),
}

/// The right to the costly work, from admission until the application says that the client is ready, or is gone.
///
/// Give it back with [`release`](super::AdmissionController::release), well or not; a driver keeps it in a guard that does so
/// on drop.
#[derive(Debug)]
#[must_use = "a permit that is not released counts as work that goes on"]
pub struct Permit {
    pub(super) since: Instant,
}

/// Come later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// From now.
    pub delay: Duration,
    /// An appointment, to be sealed and handed over: [`delay`](Self::delay) is the time to its slot, and no other has that. Without
    /// one the delay was drawn, so that those who are told so do not come together.
    pub ticket: Option<Claims>,
    /// Why.
    pub reason: Refused,
}

impl Refusal {
    /// What it means to who comes again: with a ticket exactly then, since its place is its own; without one not before.
    pub const fn hint(&self) -> Hint {
        match self.ticket {
            Some(_) => Hint::Exactly(self.delay),
            None => Hint::AtLeast(self.delay),
        }
    }
}

reasons! {
    /// Why an arrival is not admitted now.
    Refused;
    /// All places of the near future are taken.
    Busy: "the server is admitting as many as it can; come at the time given";
    /// All places up to the horizon are taken, or as many as one address may take.
    BeyondHorizon: "no appointment is left up to the horizon; ask again at the time given";
    /// It waited for as long as clients wait.
    WaitedTooLong: "the wait took longer than clients wait; come at the time given";
    /// The ticket's time has not come. It is worth as much as before.
    TicketEarly: "the ticket's time has not come; come with it at the time given";
    /// The ticket has expired.
    TicketLate: "the ticket has expired; come at the time given";
    /// The ticket's slot lies beyond the horizon, which no ticket of these settings does.
    TicketBeyondHorizon: "the ticket's time is beyond the horizon; come at the time given";
    /// The ticket has been honoured, or waits to be.
    TicketUsed: "the ticket has been used; come at the time given";
    /// The ticket is of another process, and its moment has been promised to others since. It is exchanged for a new one.
    TicketExchanged: "the ticket's place was given away in a restart; come with the new one at the time given";
}

/// What has been decided, as `ws_admission_total` counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counts {
    /// `admit`: admitted without a ticket.
    pub admit: u64,
    /// `ticket`: admitted with a ticket.
    pub ticket: u64,
    /// `reject_rate`: told on arrival to come later.
    pub reject_rate: u64,
    /// `reject_age`: dropped, since it had waited for too long.
    pub reject_age: u64,
    /// `peer_gone`: hung up while it waited.
    pub peer_gone: u64,
}

impl Counts {
    /// Each count with its label.
    pub fn labelled(&self) -> [(&'static str, u64); 5] {
        [
            ("admit", self.admit),
            ("reject_rate", self.reject_rate),
            ("reject_age", self.reject_age),
            ("peer_gone", self.peer_gone),
            ("ticket", self.ticket),
        ]
    }
}
