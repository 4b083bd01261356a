//! Breakers: what is read is within its ranges, written back and read again as the same, and a policy
//! that holds it is valid; what is refused is refused with a sentence.
#![no_main]

use becalm::{Breaker, Policy};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match text.parse::<Breaker>() {
        Ok(breaker) => {
            assert_eq!(breaker.validate(), Ok(()));
            assert_eq!(breaker.to_string().parse(), Ok(breaker), "{breaker}");
            becalm_fuzz::keeps_its_bounds(&Policy::new().breaker(breaker), 7);
        }
        Err(refusal) => assert!(!refusal.to_string().is_empty()),
    }
});
