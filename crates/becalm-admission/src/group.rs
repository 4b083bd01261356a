//! Who shares a turn? Addresses in groups, and groups in a table that does not grow.

use alloc::boxed::Box;
use alloc::vec;
use core::net::{IpAddr, Ipv6Addr};

use becalm::rng::{Random, SplitMix64};
use becalm::support::nanos;
use becalm::time::Instant;

/// What counts as one client for fairness.
///
/// An IPv4 address, or the /64 of an IPv6 address, since one host has a whole /64 to choose from (RFC 6177 section 2). Take it from
/// the connection, or from a header of a proxy that you run; a header that anybody may write makes anybody a thousand
/// addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddressGroup(u64);

impl AddressGroup {
    /// A group of the application's own, such as a user or a tenant.
    pub const fn new(key: u64) -> Self {
        Self(key)
    }

    pub(super) const fn key(self) -> u64 {
        self.0
    }
}

impl From<IpAddr> for AddressGroup {
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self(u64::from(address.to_bits())),
            IpAddr::V6(address) => Self(prefix(address)),
        }
    }
}

fn prefix(address: Ipv6Addr) -> u64 {
    (address.to_bits() >> 64) as u64
}

/// How many rows all groups share.
const ROWS: usize = 4096;

/// One pass, which is halved some times before it is forgotten.
const PASS: u32 = 256;

/// What groups have taken of what all share: as many rows for any number of groups, by a hash that nobody outside
/// knows (P. `McKenney`: *Stochastic Fairness Queueing*, INFOCOM 1990).
///
/// Each group has two rows, and what it has taken is at most what the lesser says (Cormode, Muthukrishnan: *An Improved Data
/// Stream Summary*, 2005): one that is modest is taken for a greedy one with a chance of one in 4 million.
#[derive(Debug)]
pub(super) struct Groups {
    seed: u64,
    rows: Box<[Row]>,
    /// The sums of the rows' passes, and of their squares.
    passes: u64,
    squares: u128,
    /// When passes were halved last.
    halved: Instant,
}

/// The two rows of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rows([u16; 2]);

/// What the groups of one row have taken.
#[derive(Debug, Clone, Copy, Default)]
struct Row {
    /// Appointments whose time is to come.
    booked: u32,
    /// How often they passed lately, without a ticket, times [`PASS`].
    passes: u32,
    /// The turn of the next who waits, by class.
    turn: [u64; 2],
}

impl Groups {
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            rows: vec![Row::default(); ROWS].into_boxed_slice(),
            passes: 0,
            squares: 0,
            halved: Instant::ZERO,
        }
    }

    #[inline]
    pub fn rows(&self, group: AddressGroup) -> Rows {
        // Two rounds, so that the seed cannot be read off what shares a row.
        let round = SplitMix64::new(group.key() ^ self.seed).next_u64();
        let hash = SplitMix64::new(round.wrapping_add(self.seed)).next_u64();
        #[expect(clippy::cast_possible_truncation)] // as many bits as there are rows
        let row = |bits: u64| (bits as usize % ROWS) as u16;
        Rows([row(hash), row(hash >> 32)])
    }

    /// How many appointments the group has, or some more.
    #[inline]
    pub fn booked(&mut self, rows: Rows) -> u32 {
        let [one, other] = self.each(rows, |row| row.booked);
        one.min(other)
    }

    #[inline]
    pub fn book(&mut self, rows: Rows) {
        self.each(rows, |row| row.booked += 1);
    }

    #[inline]
    pub fn give_back(&mut self, rows: Rows) {
        self.each(rows, |row| row.booked -= 1);
    }

    /// The group passes without a ticket.
    pub fn pass(&mut self, rows: Rows) {
        let passes = self.each(rows, |row| {
            let before = row.passes;
            row.passes = before.saturating_add(PASS);
            (u64::from(before), u64::from(row.passes))
        });
        for (before, after) in passes {
            self.passes += after - before;
            self.squares += u128::from(after.pow(2) - before.pow(2));
        }
    }

    /// Whether the group has passed more often lately than the group of the mean pass: where a few pass often beside
    /// many who pass once, those few have; where all are alike, or one is alone, none has.
    #[inline]
    pub fn is_greedy(&mut self, rows: Rows) -> bool {
        let [one, other] = self.each(rows, |row| row.passes);
        let own = u128::from(one.min(other));
        own * u128::from(self.passes) > self.squares
    }

    /// Halves the passes in each such time.
    #[inline]
    pub fn forget(&mut self, now: Instant, every: u64) {
        let since = nanos(now.since(self.halved));
        if since < every {
            return;
        }
        let times = since / every.max(1);
        self.halved = now;
        (self.passes, self.squares) = (0, 0);
        for row in &mut self.rows {
            let times = u32::try_from(times).unwrap_or(u32::MAX);
            row.passes = row.passes.checked_shr(times).unwrap_or(0);
            self.passes += u64::from(row.passes);
            self.squares += u128::from(row.passes).pow(2);
        }
    }

    /// The next turn of the group in this class, from this one on.
    pub fn next_turn(&mut self, class: usize, rows: Rows, from: u64) -> u64 {
        let [one, other] = self.each(rows, |row| row.turn[class]);
        let turn = one.min(other).max(from);
        self.each(rows, |row| row.turn[class] = row.turn[class].max(turn + 1));
        turn
    }

    fn each<T>(&mut self, Rows(rows): Rows, mut look: impl FnMut(&mut Row) -> T) -> [T; 2] {
        rows.map(|row| look(&mut self.rows[usize::from(row) % ROWS]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn an_address_of_ipv4_and_a_prefix_of_ipv6_are_groups() {
        let group = |text: &str| AddressGroup::from(text.parse::<IpAddr>().unwrap());
        assert_ne!(group("192.0.2.1"), group("192.0.2.2"));
        assert_eq!(group("192.0.2.1"), group("::ffff:192.0.2.1"));
        assert_eq!(group("2001:db8::1"), group("2001:db8::ffff:1"));
        assert_ne!(group("2001:db8::1"), group("2001:db8:0:1::1"));
    }

    #[test]
    fn a_group_that_takes_nothing_is_taken_for_no_greedy_one() {
        let mut groups = Groups::new(7);
        for greedy in 0..64 {
            let rows = groups.rows(AddressGroup(greedy));
            groups.book(rows);
        }
        let modest = (1000..11_000).map(|key| groups.rows(AddressGroup(key)));
        let modest: Vec<Rows> = modest.collect();
        let wronged = modest.iter().filter(|rows| groups.booked(**rows) > 0);
        // (128 / 4096)^2 of them: 10, give or take 3.
        assert!(wronged.count() < 26);
        // One row would have made it 312.
        let shared = modest
            .iter()
            .filter(|rows| groups.each(**rows, |row| row.booked)[0] > 0);
        assert!(shared.count() > 200);
    }
}
