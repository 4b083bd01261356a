//! Advice and tickets: what is read is written back the same, and no ticket passes that was not sealed.
#![no_main]

use becalm::time::{Instant, UnixTime};
use becalm_admission::{Advice, TicketKeys};
use libfuzzer_sys::fuzz_target;
use std::time::Duration;

fuzz_target!(|text: &str| {
    if let Ok(advice) = text.parse::<Advice>() {
        assert_eq!(advice.to_string().parse(), Ok(advice));
    }
    let keys = TicketKeys::new(b'0', &[7; 32]).expect("a key");
    let clocks = (
        Instant::ZERO,
        UnixTime::from_epoch(Duration::from_secs(1_800_000_000)),
    );
    assert!(keys.open(text, None, clocks).is_err());
});
