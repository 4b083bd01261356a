//! Is this ticket one of ours? Seals of HMAC-SHA-256, with keys that can be changed.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write as _};
use core::time::Duration;

use becalm::support::reasons;
use becalm::time::{Instant, UnixTime};
use hmac::{Hmac, Mac};
use sha2::Sha256;

use super::claims::Claims;
use super::group::AddressGroup;

/// The keys that seal tickets and know their own seals again.
///
/// All processes that stand behind one name share them, before and after a restart: slots are written as
/// moments of the wall clock. The first key seals; all are accepted. To change keys: first accept the new one everywhere, then seal with it
/// everywhere, then, when two horizons and half of the patience are over, accept the old one no more.
///
/// A ticket is 68 hexadecimal digits: the key's number, the slot, how long it is good behind it, its own number, and the first
/// 128 bits of the HMAC-SHA-256 (RFC 2104 section 5 and NIST SP 800-107 section 5.3.4 allow the truncation) of those. It holds no
/// secret, and the comparison takes as long wherever two seals differ.
///
/// ```
/// use becalm_admission::{Claims, TicketKeys};
/// use becalm::time::{Instant, UnixTime};
/// use std::time::Duration;
///
/// let keys = TicketKeys::new(1, &[7; 32])?.accept(0, &[5; 32])?;
/// let clocks = (Instant::ZERO, UnixTime::from_epoch(Duration::from_secs(1_800_000_000)));
/// let slot = Instant::ZERO.after(Duration::from_secs(17));
/// let claims = Claims::new(1, slot, slot.after(Duration::from_secs(2)));
/// let ticket = keys.seal(&claims, None, clocks);
/// assert_eq!(keys.open(&ticket, None, clocks), Ok(claims));
/// assert!(keys.open(&ticket.replace('7', "8"), None, clocks).is_err());
/// # Ok::<(), becalm_admission::InvalidKey>(())
/// ```
#[derive(Clone)]
pub struct TicketKeys {
    keys: Vec<(u8, Hmac<Sha256>)>,
}

/// The present on both clocks: that of the process, and that which all processes share.
pub type Clocks = (Instant, UnixTime);

reasons! {
    /// Why a key is refused.
    InvalidKey;
    /// A short key can be guessed.
    Short: "the key has less than 32 bytes; draw 32 from the operating system, and share them among processes";
    /// Two keys have one number.
    Number: "another key has this number; give each key its own";
}

reasons! {
    /// Why a text is no ticket of ours.
    InvalidTicket;
    /// It is no ticket.
    Malformed: "the text is no ticket: 68 hexadecimal digits";
    /// No key has the number that it names.
    UnknownKey: "no accepted key has the ticket's key number; it may have been retired";
    /// The seal is another.
    Forged: "the seal is not that of the ticket's key, or the ticket is of another address";
}

/// Key number, slot, how long it is good, its number.
const CLAIMS: usize = 1 + 6 + 3 + 8;
const SEAL: usize = 16;
const TICKET: usize = CLAIMS + SEAL;

impl TicketKeys {
    /// Seals with this key and accepts it.
    ///
    /// # Errors
    ///
    /// A key of less than 32 bytes.
    pub fn new(number: u8, key: &[u8]) -> Result<Self, InvalidKey> {
        Self { keys: Vec::new() }.accept(number, key)
    }

    /// Accepts another key: one that is to come or one that has been.
    ///
    /// # Errors
    ///
    /// A key of less than 32 bytes, or a number that another has.
    pub fn accept(mut self, number: u8, key: &[u8]) -> Result<Self, InvalidKey> {
        if key.len() < 32 {
            return Err(InvalidKey::Short);
        }
        if self.find(number).is_some() {
            return Err(InvalidKey::Number);
        }
        let key = Hmac::new_from_slice(key).map_err(|_| InvalidKey::Short)?;
        self.keys.push((number, key));
        Ok(self)
    }

    /// Seals an appointment. With a group the ticket is good for its addresses alone: a client that
    /// changes networks on the way loses its place.
    pub fn seal(&self, claims: &Claims, bound: Option<AddressGroup>, clocks: Clocks) -> String {
        let mut bytes = [0; TICKET];
        let slot = millis(to_wall(claims.slot, clocks));
        let good = claims.expires.since(claims.slot).as_millis();
        let good = u32::try_from(good).unwrap_or(u32::MAX).min(0x00ff_ffff);
        bytes[1..7].copy_from_slice(&slot.to_be_bytes()[2..]);
        bytes[7..10].copy_from_slice(&good.to_be_bytes()[1..]);
        bytes[10..CLAIMS].copy_from_slice(&claims.number.to_be_bytes());
        if let Some((number, key)) = self.keys.first() {
            bytes[0] = *number;
            let seal = sealing(key, &bytes[..CLAIMS], bound).finalize();
            bytes[CLAIMS..].copy_from_slice(&seal.into_bytes()[..SEAL]);
        }
        let mut text = String::with_capacity(2 * TICKET);
        for byte in bytes {
            let _ = write!(text, "{byte:02x}");
        }
        text
    }

    /// Looks at the seal of a ticket that has come back, `bound` as it was sealed, and says what it claims.
    ///
    /// # Errors
    ///
    /// The text is no ticket that one of these keys has sealed for this group.
    pub fn open(
        &self,
        ticket: &str,
        bound: Option<AddressGroup>,
        clocks: Clocks,
    ) -> Result<Claims, InvalidTicket> {
        let bytes = from_hex(ticket).ok_or(InvalidTicket::Malformed)?;
        let key = self.find(bytes[0]).ok_or(InvalidTicket::UnknownKey)?;
        sealing(key, &bytes[..CLAIMS], bound)
            .verify_truncated_left(&bytes[CLAIMS..])
            .map_err(|_| InvalidTicket::Forged)?;
        let number = |from: usize, to: usize| {
            let digits = bytes[from..to].iter();
            digits.fold(0, |sum, byte| sum << 8 | u64::from(*byte))
        };
        let slot = from_wall(Duration::from_millis(number(1, 7)), clocks);
        let good = Duration::from_millis(number(7, 10));
        let expires = from_wall(
            Duration::from_millis(number(1, 7)).saturating_add(good),
            clocks,
        );
        Ok(Claims::new(number(10, CLAIMS), slot, expires))
    }

    fn find(&self, number: u8) -> Option<&Hmac<Sha256>> {
        let mut keys = self.keys.iter();
        keys.find(|(of, _)| *of == number).map(|(_, key)| key)
    }
}

/// Keys are not shown.
impl fmt::Debug for TicketKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = self.keys.iter().map(|(number, _)| number);
        f.debug_set().entries(numbers).finish()
    }
}

fn sealing(key: &Hmac<Sha256>, claims: &[u8], bound: Option<AddressGroup>) -> Hmac<Sha256> {
    let mut sealing = key.clone();
    // What it is for, so that the key may serve another purpose, too.
    sealing.update(b"becalm ticket 1");
    sealing.update(claims);
    if let Some(group) = bound {
        sealing.update(&group.key().to_be_bytes());
    }
    sealing
}

fn to_wall(moment: Instant, (now, wall): Clocks) -> Duration {
    let wall = wall.since_epoch();
    if moment >= now {
        wall.saturating_add(moment.since(now))
    } else {
        wall.saturating_sub(now.since(moment))
    }
}

fn from_wall(moment: Duration, (now, wall): Clocks) -> Instant {
    let wall = wall.since_epoch();
    let before = wall.saturating_sub(moment);
    if before.is_zero() {
        return now.after(moment.saturating_sub(wall));
    }
    Instant::from_nanos(
        now.since(Instant::ZERO.after(before))
            .as_nanos()
            .try_into()
            .unwrap_or(u64::MAX),
    )
}

fn millis(wall: Duration) -> u64 {
    let most = (1 << 48) - 1;
    u64::try_from(wall.as_millis()).unwrap_or(most).min(most)
}

fn from_hex(text: &str) -> Option<[u8; TICKET]> {
    let mut bytes = [0; TICKET];
    if text.len() != 2 * TICKET {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let digit = |at: usize| match pair.get(at)? {
            digit @ b'0'..=b'9' => Some(digit - b'0'),
            // Capitals would make another text of one ticket.
            digit @ b'a'..=b'f' => Some(digit - b'a' + 10),
            _ => None,
        };
        *byte = digit(0)? << 4 | digit(1)?;
    }
    Some(bytes)
}
