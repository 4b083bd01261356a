//! How does Spring Boot read values?

use foldhash::HashMap;
use std::time::Duration;

use crate::document::{Node, Span, Value};

/// A duration by `DurationStyle`: a whole number with `ns`, `us`, `ms`, `s`, `m`, `h` or `d`, milliseconds without; or one of
/// ISO 8601, such as `PT1.5S`. One below zero is none that anything here takes.
pub fn duration(text: &str) -> Option<Duration> {
    if text.starts_with(['P', 'p']) {
        return iso(&text[1..].to_ascii_uppercase());
    }
    let text = text.strip_prefix('+').unwrap_or(text);
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: u64 = number.parse().ok()?;
    match &*unit.to_ascii_lowercase() {
        "ns" => Some(Duration::from_nanos(number)),
        "us" => Some(Duration::from_micros(number)),
        "" | "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => number.checked_mul(60).map(Duration::from_secs),
        "h" => number.checked_mul(3600).map(Duration::from_secs),
        "d" => number.checked_mul(86_400).map(Duration::from_secs),
        _ => None,
    }
}

/// What follows the `P`, as `java.time.Duration` reads it: days, and after a `T` hours, minutes and seconds.
fn iso(text: &str) -> Option<Duration> {
    let (days, time) = text.split_once('T').unwrap_or((text, ""));
    let is_empty = text.ends_with('T') || text.is_empty();
    let (mut rest, mut all) = (days, Duration::ZERO);
    let part = |rest: &mut &str, unit: char, seconds: u64| -> Option<Duration> {
        let Some((number, after)) = rest.split_once(unit) else {
            return Some(Duration::ZERO);
        };
        *rest = after;
        let number: u64 = number.parse().ok()?;
        number.checked_mul(seconds).map(Duration::from_secs)
    };
    all = all.checked_add(part(&mut rest, 'D', 86_400)?)?;
    if !rest.is_empty() || is_empty {
        return None;
    }
    rest = time;
    all = all.checked_add(part(&mut rest, 'H', 3600)?)?;
    all = all.checked_add(part(&mut rest, 'M', 60)?)?;
    if let Some(seconds) = rest.strip_suffix('S') {
        let seconds = crate::durations::proto_duration(&format!("{seconds}s"))?;
        return all.checked_add(seconds);
    }
    rest.is_empty().then_some(all)
}

/// A flag by `StringToBooleanConverter`.
pub fn flag(text: &str) -> Option<bool> {
    match &*text.to_ascii_lowercase() {
        "true" | "on" | "yes" | "1" => Some(true),
        "false" | "off" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// The longest text with placeholders that is looked at.
const LONGEST: usize = 1000;

/// A text with the defaults that its placeholders name: `7` of `${RETRIES:7}`. `None` where none does.
pub fn with_defaults(text: &str) -> Option<String> {
    let (before, rest) = text.split_once("${").filter(|_| text.len() <= LONGEST)?;
    let end = closing(rest)?;
    let (inside, after) = (&rest[..end], &rest[end + 1..]);
    let default = colon(inside).map(|it| &inside[it + 1..]);
    let default = default.filter(|it| !it.is_empty());
    let filled = default.map(|it| with_defaults(it).unwrap_or_else(|| it.to_owned()));
    let later = with_defaults(after);
    if filled.is_none() && later.is_none() {
        return None;
    }
    let filled = filled.unwrap_or_else(|| format!("${{{inside}}}"));
    let later = later.as_deref().unwrap_or(after);
    Some(format!("{before}{filled}{later}"))
}

/// Where the default begins: at the first colon that is in no placeholder of the name.
fn colon(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    text.find(|c| {
        match c {
            '{' => open += 1,
            '}' => open = open.saturating_sub(1),
            _ => {}
        }
        c == ':' && open == 0
    })
}

/// Where the brace that is open closes.
fn closing(text: &str) -> Option<usize> {
    let mut open = 1_usize;
    text.find(|c| {
        match c {
            '{' => open += 1,
            '}' => open -= 1,
            _ => {}
        }
        open == 0
    })
}

/// Fills in the defaults of all texts; those of the file are kept by their places.
pub fn fill_in(node: &mut Node, kept: &mut HashMap<Span, String>) {
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|it| fill_in(it, kept)),
        Value::Table(entries) => entries.iter_mut().for_each(|(_, it)| fill_in(it, kept)),
        Value::Scalar { text, quoted } => {
            if let Some(filled) = with_defaults(text) {
                *quoted = true;
                kept.insert(node.span, std::mem::replace(text, filled));
            }
        }
    }
}

/// The words of a list, or of a text with commas; of nothing none.
pub fn words(node: &Node) -> Vec<(String, Span)> {
    let apart = |it: &Node| -> Vec<(String, Span)> {
        let words = it.text().unwrap_or_default().split(',').map(str::trim);
        let words = words.filter(|word| !word.is_empty());
        words.map(|word| (word.to_owned(), it.span)).collect()
    };
    if node.items().is_empty() {
        return apart(node);
    }
    node.items().iter().flat_map(apart).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_spring_boot_writes_them() {
        for (text, millis) in [
            ("100", 100),
            ("+100ms", 100),
            ("2S", 2000),
            ("3m", 180_000),
            ("1h", 3_600_000),
            ("1d", 86_400_000),
            ("1500us", 1),
            ("PT1.5S", 1500),
            ("pt1m30s", 90_000),
            ("P1DT1H", 90_000_000),
            ("P1D", 86_400_000),
        ] {
            let read = duration(text).map(|it| it.as_millis());
            assert_eq!(read, Some(millis), "{text}");
        }
        for text in [
            "", "1.5s", "-1s", "1 s", "1w", "P", "PT", "PT1", "P1H", "PT1S1M", "s",
        ] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    #[test]
    fn a_placeholder_may_name_a_default() {
        for (text, filled) in [
            ("${N:7}", Some("7")),
            ("${METHODS:GET,POST}", Some("GET,POST")),
            ("Retry=${N:7},${S},GET", Some("Retry=7,${S},GET")),
            ("${A:${B:x}}y", Some("xy")),
            ("${A:${B}}", Some("${B}")),
            ("${${ENV:dev}.retries:3}", Some("3")),
            ("${${ENV:dev}.retries}", None),
            ("${URI:http://x}/v1", Some("http://x/v1")),
            ("${N}", None),
            ("${N:}", None),
            ("${N:7", None),
            ("#{1 + 2}", None),
        ] {
            assert_eq!(with_defaults(text).as_deref(), filled, "{text}");
        }
        assert_eq!(with_defaults(&"${A:".repeat(100_000)), None);
    }

    #[test]
    fn flags_have_several_words() {
        assert_eq!(
            [flag("Yes"), flag("0"), flag("nope")],
            [Some(true), Some(false), None]
        );
    }
}
