//! Does any ticket pass that we have not sealed?

use std::time::Duration;

use becalm::time::{Instant, UnixTime};
use becalm_admission::{
    AddressGroup, Advice, Claims, Clocks, InvalidKey, InvalidTicket, TicketKeys,
};
use proptest::prelude::*;

const OURS: [u8; 32] = [7; 32];

fn keys() -> TicketKeys {
    TicketKeys::new(1, &OURS).unwrap()
}

/// A process that has run for so long.
fn clocks(uptime: u64) -> Clocks {
    let wall = UnixTime::from_epoch(Duration::from_secs(1_800_000_000));
    (Instant::ZERO.after(Duration::from_secs(uptime)), wall)
}

fn claims(now: Instant, number: u64, millis: u64) -> Claims {
    let slot = now.after(Duration::from_millis(millis));
    Claims::new(number, slot, slot.after(Duration::from_secs(2)))
}

proptest! {
    #[test]
    fn what_is_sealed_opens_and_nothing_else_does(
        number: u64,
        millis in 0..10_000_000_u64,
        at in 0..68_usize,
        digit in "[0-9a-fA-F ]",
        bound in proptest::option::of(any::<u64>()),
    ) {
        let clocks = clocks(100);
        let claims = claims(clocks.0, number, millis);
        let group = bound.map(AddressGroup::new);
        let ticket = keys().seal(&claims, group, clocks);
        prop_assert_eq!(keys().open(&ticket, group, clocks), Ok(claims));

        let mut forged = ticket.clone();
        forged.replace_range(at..=at, &digit);
        prop_assert!(forged == ticket || keys().open(&forged, group, clocks).is_err());
        let other = bound.map_or(Some(AddressGroup::new(0)), |_| None);
        prop_assert_eq!(keys().open(&ticket, other, clocks), Err(InvalidTicket::Forged));
        let foreign = TicketKeys::new(1, &[8; 32]).unwrap();
        prop_assert_eq!(foreign.open(&ticket, group, clocks), Err(InvalidTicket::Forged));
        prop_assert!(keys().open(&ticket[..at], group, clocks).is_err());
    }

    #[test]
    fn no_text_panics(text in ".*", hex in "[0-9a-f]{68}", wall: u64, now: u64) {
        let clocks = (Instant::from_nanos(now), UnixTime::from_epoch(Duration::from_millis(wall)));
        prop_assert!(keys().open(&text, None, clocks).is_err());
        prop_assert!(keys().open(&hex, None, clocks).is_err());
        let extreme = Claims::new(wall, Instant::from_nanos(now), Instant::NEVER);
        let ticket = keys().seal(&extreme, None, clocks);
        prop_assert!(keys().open(&ticket, None, clocks).is_ok());
    }
}

#[test]
fn a_seal_is_that_of_rfc_2104_over_the_claims() {
    // By Python's hmac over b"becalm ticket 1" and the first 18 bytes.
    let clocks = clocks(0);
    let ticket = keys().seal(
        &claims(clocks.0, 0x0102_0304_0506_0708, 17_000),
        None,
        clocks,
    );
    assert_eq!(&ticket[..36], "0101a3185c92680007d00102030405060708");
    assert_eq!(&ticket[36..], "2fc5b6f2ff6d0370bf559874ec9d83ad");
}

#[test]
fn a_slot_is_one_moment_to_all_processes() {
    // One has run for a day, and the next for two seconds.
    let (old, young) = (clocks(86_400), clocks(2));
    let sealed = claims(old.0, 1, 17_000);
    let opened = keys()
        .open(&keys().seal(&sealed, None, old), None, young)
        .unwrap();
    assert_eq!(opened.slot.since(young.0), Duration::from_secs(17));
    // A slot from before its beginning is at its beginning.
    let past = Claims::new(1, Instant::ZERO, Instant::ZERO);
    let opened = keys()
        .open(&keys().seal(&past, None, old), None, young)
        .unwrap();
    assert_eq!(opened.expires, Instant::ZERO);
}

#[test]
fn keys_are_changed_without_losing_a_ticket() {
    let clocks = clocks(100);
    let claims = claims(clocks.0, 1, 10);
    let old = keys();
    let new = TicketKeys::new(2, &[9; 32])
        .unwrap()
        .accept(1, &OURS)
        .unwrap();
    let both = old.clone().accept(2, &[9; 32]).unwrap();
    let of_old = old.seal(&claims, None, clocks);
    let of_new = new.seal(&claims, None, clocks);
    assert_eq!(both.seal(&claims, None, clocks), of_old);
    for keys in [&new, &both] {
        assert_eq!(keys.open(&of_old, None, clocks), Ok(claims));
        assert_eq!(keys.open(&of_new, None, clocks), Ok(claims));
    }
    assert_eq!(
        old.open(&of_new, None, clocks),
        Err(InvalidTicket::UnknownKey)
    );
}

#[test]
fn weak_keys_and_numbers_given_twice_are_refused_and_keys_are_not_shown() {
    assert_eq!(TicketKeys::new(1, &[7; 31]).err(), Some(InvalidKey::Short));
    assert_eq!(keys().accept(1, &[8; 32]).err(), Some(InvalidKey::Number));
    assert_eq!(format!("{:?}", keys()), "{1}");
}

#[test]
fn the_longest_advice_fits_the_reason_of_a_close() {
    let clocks = clocks(100);
    let ticket = keys().seal(&claims(clocks.0, u64::MAX, 1), None, clocks);
    let day = Advice::new(Duration::from_secs(2 * 86_400)).ticket(ticket);
    assert!(day.to_string().len() <= 123, "{day}");
}
