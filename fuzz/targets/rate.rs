//! Adaptive rates: what is read is within its ranges, written back and read again as the same, and a policy
//! that holds it is valid; what is refused is refused with a sentence.
#![no_main]

use becalm::{Policy, rate::AdaptiveRate};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match text.parse::<AdaptiveRate>() {
        Ok(rate) => {
            assert_eq!(rate.validate(), Ok(()));
            assert_eq!(rate.to_string().parse(), Ok(rate), "{rate}");
            becalm_fuzz::keeps_its_bounds(&Policy::new().rate(rate), 7);
        }
        Err(refusal) => assert!(!refusal.to_string().is_empty()),
    }
});
