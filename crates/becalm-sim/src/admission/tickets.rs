//! Where does a client keep its ticket?

use becalm_admission::Claims;

/// The tickets of those who have one, in places that are used again. Who comes in turn finds them in turn, in memory
/// that is loaded already; beside the clients they would lie apart.
#[derive(Default)]
pub(super) struct Tickets {
    claims: Vec<Claims>,
    free: Vec<u32>,
}

impl Tickets {
    /// The place of no ticket.
    pub const NONE: u32 = u32::MAX;

    /// Keeps a ticket, and says where.
    pub fn keep(&mut self, claims: Claims) -> u32 {
        if let Some(place) = self.free.pop() {
            self.claims[place as usize] = claims;
            return place;
        }
        self.claims.push(claims);
        // As many as clients at most, which are counted in 32 bits.
        u32::try_from(self.claims.len() - 1).unwrap_or(Self::NONE)
    }

    /// Takes the ticket out of this place, if there is one.
    pub fn take(&mut self, place: u32) -> Option<Claims> {
        let claims = self.claims.get(place as usize)?;
        self.free.push(place);
        Some(*claims)
    }
}
