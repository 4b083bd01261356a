//! gRPC pushback: a delay that 32 bits hold, or a stop; never a panic and never ignored.
#![no_main]

use std::time::Duration;

use becalm::Hint;
use becalm::hint::pushback;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|value: &[u8]| {
    match pushback([value]) {
        Some(Hint::Exactly(delay)) => {
            assert!(delay <= Duration::from_millis(i32::MAX as u64));
            let written = delay.as_millis().to_string();
            assert_eq!(pushback([written]), Some(Hint::Exactly(delay)));
        }
        other => assert_eq!(other, Some(Hint::Stop)),
    }
    assert_eq!(pushback([value, b"0"]), Some(Hint::Stop));
});
