//! What can the server do, and who stands before it?

use std::time::Duration;

use becalm_admission::{Admission, InvalidAdmission};

use crate::herd::Herd;
use crate::invalid::InvalidParameter;

/// A herd, and a server to which each connection is work.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Handshakes {
    /// The clients, and how long the server refuses. What it accepts in a second plays no part.
    pub herd: Herd,
    /// Handshakes that the server can do in a second, one after the other: from 1.
    pub capacity: u32,
    /// How long a client waits for its handshake before it hangs up. Default 4 s.
    pub patience: Duration,
    /// Connections that wait for their handshake where nobody admits, from 1; what is above that is not
    /// answered at all. Default 65536.
    pub backlog: u32,
    /// How far ahead appointments are given. Default 5 minutes, the longest hint that clients take.
    pub ahead: Duration,
}

/// Who decides about a connection before the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Door {
    /// Nobody: one after the other, whether its client is there or not.
    Open,
    /// Admission, whose refusals say nothing: a plain 503.
    Plain,
    /// Admission, whose refusals are appointments.
    Appointments,
}

impl Handshakes {
    /// This herd before a server of this capacity, with the defaults.
    pub const fn of(herd: Herd, capacity: u32) -> Self {
        Self {
            herd,
            capacity,
            patience: Duration::from_secs(4),
            backlog: 65_536,
            ahead: Duration::from_secs(300),
        }
    }

    /// What the server's admission is told.
    pub(super) fn admission(&self) -> Admission {
        Admission::per_second(self.capacity)
            .patience(self.patience)
            .horizon(self.ahead)
    }

    /// Refuses what cannot be simulated.
    ///
    /// # Errors
    ///
    /// [`InvalidParameter`] names the field and the remedy.
    pub fn validate(&self) -> Result<(), InvalidParameter> {
        self.herd.validate()?;
        if self.backlog == 0 {
            let sentence = "a server without a backlog answers nobody; set at least 1";
            return Err(InvalidParameter::new("backlog", sentence));
        }
        self.admission().validate().map_err(refused)
    }
}

/// An admission that is refused, in the words of this simulator.
pub(super) fn refused(reason: InvalidAdmission) -> InvalidParameter {
    let (field, sentence) = match reason {
        InvalidAdmission::Patience => (
            "patience",
            "clients wait from 1ms to 1h for a handshake; set 4s",
        ),
        InvalidAdmission::Horizon => (
            "ahead",
            "appointments reach from the patience to a day ahead; set 60s",
        ),
        InvalidAdmission::Places => (
            "ahead",
            "appointments reach over more than 16 million places; set less",
        ),
        _ => (
            "capacity",
            "a server does from 1 to 1000000000 handshakes a second; set 500",
        ),
    };
    InvalidParameter::new(field, sentence)
}
