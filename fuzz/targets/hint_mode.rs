//! Hint modes: only the name that is written is read.
#![no_main]

use becalm::HintMode;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(mode) = text.parse::<HintMode>() {
        assert_eq!(mode.to_string(), text);
    }
});
