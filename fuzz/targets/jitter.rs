//! Jitters: what is read is written back and read again as the same, and no policy panics over it.
#![no_main]

use becalm::{Jitter, Policy};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(jitter) = text.parse::<Jitter>() {
        let written = jitter.to_string();
        let again: Jitter = written.parse().expect(&written);
        assert_eq!(again.to_string(), written);
        let policy = Policy::new().jitter(jitter);
        assert_eq!(
            policy.validate(),
            Policy::new().jitter(again).validate(),
            "{written}"
        );
    }
});
