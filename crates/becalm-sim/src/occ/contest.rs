//! Who writes to the row, and how far away are they?

use std::time::Duration;

use crate::invalid::InvalidParameter;

/// Clients that each want to update one row once.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Contest {
    /// How many clients: from 1 to [`Contest::MOST_CLIENTS`].
    pub clients: u32,
    /// The mean of a hop, one way. Default 10 ms.
    pub hop: Duration,
    /// The standard deviation of a hop. A hop below zero is taken without its sign. Default 2 ms.
    pub deviation: Duration,
}

impl Contest {
    /// The largest contest: without backoff its writes grow with the square of the clients, and ten
    /// thousand of them make 20 million.
    pub const MOST_CLIENTS: u32 = 10_000;

    /// So many clients at the distance of the original.
    pub const fn of(clients: u32) -> Self {
        Self {
            clients,
            hop: Duration::from_millis(10),
            deviation: Duration::from_millis(2),
        }
    }

    /// Refuses what cannot be simulated.
    ///
    /// # Errors
    ///
    /// [`InvalidParameter`] names the field and the remedy.
    pub fn validate(&self) -> Result<(), InvalidParameter> {
        let (field, sentence) = if self.clients == 0 || self.clients > Self::MOST_CLIENTS {
            ("clients", "a contest has from 1 to 10000 clients")
        } else if self.hop.is_zero() || self.hop.max(self.deviation) > Duration::from_secs(3600) {
            (
                "hop",
                "a hop takes some time, and with its deviation at most an hour",
            )
        } else {
            return Ok(());
        };
        Err(InvalidParameter::new(field, sentence))
    }
}
