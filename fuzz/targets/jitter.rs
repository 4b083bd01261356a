//! Jitters: what is read is written back and read again as the same, and a policy
//! that accepts it keeps its bounds.
#![no_main]

use becalm::{Jitter, Policy};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(jitter) = text.parse::<Jitter>() {
        let written = jitter.to_string();
        let again: Jitter = written.parse().expect(&written);
        assert_eq!(again.to_string(), written);
        let policy = Policy::new().jitter(jitter);
        if policy.validate().is_ok() {
            becalm_fuzz::keeps_its_bounds(&policy, 7);
        }
    }
});
