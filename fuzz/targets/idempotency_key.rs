//! Idempotency keys: what is read is written back in lower case, and any bits make a version 4
//! UUID.
#![no_main]

use becalm::IdempotencyKey;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        if let Ok(key) = text.parse::<IdempotencyKey>() {
            assert_eq!(key.to_string(), text.to_ascii_lowercase());
        }
    }
    if let Some(bits) = bytes.first_chunk() {
        let key = IdempotencyKey::from_random(u128::from_le_bytes(*bits));
        let text = key.to_string();
        assert_eq!(text.parse(), Ok(key));
        assert_eq!(text.as_bytes()[14], b'4', "the version");
        assert!(matches!(text.as_bytes()[19], b'8'..=b'b'), "the variant");
    }
});
