//! Policy files in TOML: what is read is valid, keeps its bounds, and is written back and read
//! again as the same; what is refused is refused with a sentence.
#![no_main]

use becalm::Policy;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match toml::from_str::<Policy>(text) {
        Ok(policy) => {
            becalm_fuzz::keeps_its_bounds(&policy, 7);
            let written = toml::to_string(&policy).expect("a valid policy is written");
            assert_eq!(toml::from_str(&written), Ok(policy), "{written}");
        }
        Err(refusal) => assert!(!refusal.message().is_empty()),
    }
});
