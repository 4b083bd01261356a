//! Durations: what is read is written back and read again as the same.
#![no_main]

use becalm::duration::parse;
use becalm::support::Human;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(duration) = parse(text) {
        let written = Human(duration).to_string();
        assert_eq!(parse(&written), Ok(duration), "{written}");
        assert!(u64::try_from(duration.as_nanos()).is_ok());
        let doubled = parse(&format!("{written} {written}"));
        assert_eq!(doubled.ok(), parse_twice(duration), "parts add up");
    }
});

fn parse_twice(duration: std::time::Duration) -> Option<std::time::Duration> {
    let twice = duration.checked_mul(2)?;
    u64::try_from(twice.as_nanos()).is_ok().then_some(twice)
}
