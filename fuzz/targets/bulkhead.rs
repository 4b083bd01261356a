//! Bulkheads: what is read is within its ranges, written back and read again as the same, and a policy
//! that holds it is valid; what is refused is refused with a sentence.
#![no_main]

use becalm::{Bulkhead, Policy};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match text.parse::<Bulkhead>() {
        Ok(bulkhead) => {
            assert_eq!(bulkhead.validate(), Ok(()));
            assert_eq!(bulkhead.to_string().parse(), Ok(bulkhead), "{bulkhead}");
            becalm_fuzz::keeps_its_bounds(&Policy::new().bulkhead(bulkhead), 7);
        }
        Err(refusal) => assert!(!refusal.to_string().is_empty()),
    }
});
