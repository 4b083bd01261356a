//! Throttles: what is read is within its ranges, written back and read again as the same, and a policy
//! that holds it is valid; what is refused is refused with a sentence.
#![no_main]

use becalm::{Policy, Throttle};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match text.parse::<Throttle>() {
        Ok(throttle) => {
            assert_eq!(throttle.validate(), Ok(()));
            assert_eq!(throttle.to_string().parse(), Ok(throttle), "{throttle}");
            becalm_fuzz::keeps_its_bounds(&Policy::new().throttle(throttle), 7);
        }
        Err(refusal) => assert!(!refusal.to_string().is_empty()),
    }
});
