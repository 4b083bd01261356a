//! Policy files in JSON: what is read is valid, keeps its bounds, and is written back and read
//! again as the same.
#![no_main]

use becalm::Policy;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(policy) = serde_json::from_slice::<Policy>(bytes) {
        becalm_fuzz::keeps_its_bounds(&policy, 7);
        let written = serde_json::to_string(&policy).expect("a valid policy is written");
        let again: Policy = serde_json::from_str(&written).expect(&written);
        assert_eq!(again, policy, "{written}");
    }
});
