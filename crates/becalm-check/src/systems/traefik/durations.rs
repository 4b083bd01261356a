//! How does Traefik read a duration?

use std::time::Duration;

use super::Source;
use crate::durations::go_duration;

/// As paerser reads it: a number is of seconds.
pub fn duration(text: &str) -> Option<Duration> {
    if let Ok(seconds) = text.parse::<i64>() {
        return Some(Duration::from_secs(seconds.try_into().unwrap_or(0)));
    }
    go_duration(text.strip_prefix('-').map_or(text, |_| "0s"))
}

/// Of a resource whole numbers alone.
pub fn of_source(text: &str, source: Source) -> Option<Duration> {
    let is_refused = source == Source::Resource && text.contains(['.', '-', '+']);
    (!is_refused).then(|| duration(text))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_of_seconds() {
        for (text, ms) in [
            ("2", Some(2000)),
            ("100ms", Some(100)),
            ("1.5s", Some(1500)),
            ("-1s", Some(0)),
            ("-5", Some(0)),
            ("soon", None),
        ] {
            assert_eq!(duration(text).map(|it| it.as_millis()), ms, "{text}");
        }
        assert_eq!(of_source("1.5s", Source::Resource), None);
    }
}
