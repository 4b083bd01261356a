//! Who shares a turn? Addresses in groups, and groups in a table that does not grow.

use alloc::boxed::Box;
use alloc::vec;
use core::net::{IpAddr, Ipv6Addr};

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

/// As many rows as share all groups: one that is innocent shares that of a greedy one with a chance of 1 in 4096.
const ROWS: usize = 4096;

/// What is known of each group: as many rows for any number of groups, by a hash that nobody outside knows
/// (P. `McKenney`: *Stochastic Fairness Queueing*, INFOCOM 1990).
#[derive(Debug)]
pub(super) struct Groups {
    seed: u64,
    rows: Box<[Row]>,
}

/// The place of a group in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RowId(u16);

/// What the groups of one row have taken of what all share.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Row {
    /// Appointments whose time is to come.
    pub booked: u32,
    /// Those who wait without a ticket.
    pub waiting: u32,
    /// The turn of the next who waits, by class.
    pub turn: [u64; 2],
}

impl Groups {
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            rows: vec![Row::default(); ROWS].into_boxed_slice(),
        }
    }

    pub fn row(&self, group: AddressGroup) -> RowId {
        // The finisher of SplitMix64, keyed on both sides.
        let mut z = group.key() ^ self.seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z = (z ^ (z >> 31)).wrapping_add(self.seed.rotate_left(32));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        #[expect(clippy::cast_possible_truncation)] // as many bits as there are rows
        RowId(((z >> 40) as usize % ROWS) as u16)
    }

    pub fn get(&mut self, row: RowId) -> &mut Row {
        &mut self.rows[usize::from(row.0) % ROWS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    #[test]
    fn an_address_of_ipv4_and_a_prefix_of_ipv6_are_groups() {
        let group = |text: &str| AddressGroup::from(text.parse::<IpAddr>().unwrap());
        assert_ne!(group("192.0.2.1"), group("192.0.2.2"));
        assert_eq!(group("192.0.2.1"), group("::ffff:192.0.2.1"));
        assert_eq!(group("2001:db8::1"), group("2001:db8::ffff:1"));
        assert_ne!(group("2001:db8::1"), group("2001:db8:0:1::1"));
    }

    #[test]
    fn neighbours_share_no_row_more_often_than_by_chance() {
        let groups = Groups::new(7);
        let rows: BTreeSet<RowId> = (0..1000).map(|key| groups.row(AddressGroup(key))).collect();
        // 1000 in 4096 rows leave 888 rows in use, give or take 10.
        assert!((840..=930).contains(&rows.len()), "{}", rows.len());
    }
}
