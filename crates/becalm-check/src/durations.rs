//! How do the systems write a duration?

use std::time::Duration;

use becalm::duration;

/// A duration as Go's `time.ParseDuration` reads it: without days and without blanks.
pub fn go_duration(text: &str) -> Option<Duration> {
    let is_go = !text.contains(|c: char| c == 'd' || c.is_whitespace()) && !text.contains("min");
    is_go.then(|| duration::parse(text).ok())?
}

/// A duration of Istio's resources: `duration(self) >= duration('1ms')`, as their schema says.
pub fn istio_duration(text: &str) -> Option<Duration> {
    go_duration(text).filter(|it| *it >= Duration::from_millis(1))
}

/// A duration of the Gateway API: `^([0-9]{1,5}(h|m|s|ms)){1,4}$`.
pub fn gateway_duration(text: &str) -> Option<Duration> {
    let digits = text
        .split(|c: char| !c.is_ascii_digit())
        .filter(|it| !it.is_empty());
    let is_short = digits.clone().count() <= 4 && digits.clone().all(|it| it.len() <= 5);
    let is_whole = text
        .bytes()
        .all(|it| it.is_ascii_digit() || b"hms".contains(&it));
    (is_short && is_whole && text != "0").then(|| go_duration(text))?
}

/// In seconds, 10,000 years (google/protobuf/duration.proto).
const LONGEST_OF_PROTOBUF: u64 = 315_576_000_000;

/// A duration as protobuf's JSON mapping writes it: seconds with at most nine decimals and an `s`.
pub fn proto_duration(text: &str) -> Option<Duration> {
    let seconds = text.strip_suffix('s')?;
    let (whole, part) = seconds.split_once('.').unwrap_or((seconds, ""));
    let digits = |it: &str| it.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(part) || part.len() > 9 {
        return None;
    }
    let nanos = format!("{part:0<9}").parse().ok()?;
    let seconds = whole.parse().ok().filter(|it| *it <= LONGEST_OF_PROTOBUF)?;
    Some(Duration::new(seconds, nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_their_systems_write_them() {
        let millis = |it: Option<Duration>| it.map(|it| it.as_millis());
        for (text, ms) in [("1s", 1000), ("0.5s", 500), ("2.s", 2000), ("0s", 0)] {
            assert_eq!(millis(proto_duration(text)), Some(ms), "{text}");
        }
        for text in [
            "",
            ".5s",
            "s",
            ".5s",
            "1",
            "1m",
            "-1s",
            "1e3s",
            "0.1234567890s",
            "+1s",
            "315576000001s",
        ] {
            assert_eq!(proto_duration(text), None, "{text}");
        }
        assert_eq!(millis(go_duration("1m30s")), Some(90_000));
        assert_eq!(millis(go_duration("1.5s")), Some(1500));
        for text in ["1d", "1m 30s", "1min", "5"] {
            assert_eq!(go_duration(text), None, "{text}");
        }
        assert_eq!(millis(gateway_duration("1m30s5ms")), Some(90_005));
        assert_eq!(millis(gateway_duration("0s")), Some(0));
        for text in [
            "1.5s",
            "500us",
            "0",
            "100000s",
            "1h1m1s1ms1ms",
            "",
            "s",
            "1 s",
        ] {
            assert_eq!(gateway_duration(text), None, "{text}");
        }
    }
}
