//! Names of presets, backoffs, hint modes and nesting: only the name that is written is read, but for
//! spaces around it, and a preset's policy keeps its bounds.
#![no_main]

use becalm::{Backoff, hint::HintMode, preset::Preset, scope::Nested};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(backoff) = text.parse::<Backoff>() {
        assert_eq!(backoff.to_string(), text.trim());
    }
    if let Ok(mode) = text.parse::<HintMode>() {
        assert_eq!(mode.to_string(), text.trim());
    }
    if let Ok(nested) = text.parse::<Nested>() {
        assert_eq!(nested.to_string(), text.trim());
    }
    match Preset::by_name(text) {
        Ok(preset) => {
            assert_eq!(preset.name(), text);
            becalm_fuzz::keeps_its_bounds(&preset.policy(), 7);
        }
        Err(unknown) => assert!(unknown.to_string().contains(text)),
    }
});
