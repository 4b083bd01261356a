//! How much memory does a key take, with a retrier of the default policy of its own?
#![cfg(all(feature = "std", target_pointer_width = "64"))]

use std::io;

use becalm::{Keyed, Policy, Retrier};

const KEYS: u64 = 10_000;

/// Bytes of a key before successes were counted (2,030 on 26 November 2026), and what a megabyte for ten thousand keys allows on top.
const MOST: u64 = 2_030 + 1_000_000 / KEYS;

#[test]
fn ten_thousand_keys_take_a_megabyte_more_than_before_successes_were_counted() {
    let mut kept = None;
    let measured = allocation_counter::measure(|| {
        let keyed: Keyed<u64, Retrier> = Keyed::new(10_000, |_| {
            Policy::default().retrier().expect("a valid policy")
        });
        for key in 0..KEYS {
            let done = keyed.get(&key).retry_blocking(|_| Ok::<_, io::Error>(()));
            done.expect("a success");
        }
        kept = Some(keyed);
    });
    let held = u64::try_from(measured.bytes_current).expect("more is held than before");
    assert!(
        held / KEYS <= MOST,
        "{} bytes a key, at most {MOST}",
        held / KEYS
    );
    assert!(held / KEYS > 500, "a retrier each is held: {held}");
    drop(kept);
}
