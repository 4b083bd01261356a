//! Backoffs: only the name that is written is read.
#![no_main]

use becalm::Backoff;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(backoff) = text.parse::<Backoff>() {
        assert_eq!(backoff.to_string(), text);
    }
});
