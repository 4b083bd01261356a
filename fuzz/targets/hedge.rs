//! Hedges: what is read is within its ranges, written back and read again as the same, and a policy
//! that holds it is valid; what is refused is refused with a sentence.
#![no_main]

use becalm::{Hedge, Policy};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match text.parse::<Hedge>() {
        Ok(hedge) => {
            assert_eq!(hedge.validate(), Ok(()));
            assert_eq!(hedge.to_string().parse(), Ok(hedge), "{hedge}");
            becalm_fuzz::keeps_its_bounds(&Policy::new().hedge(hedge), 7);
        }
        Err(refusal) => assert!(!refusal.to_string().is_empty()),
    }
});
