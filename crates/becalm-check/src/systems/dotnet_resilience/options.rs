//! How does the binder of .NET's configuration read a section?
//!
//! Names are the same in any letters; a key that an option does not have is refused, as the handlers bind with
//! `ErrorOnUnknownConfiguration`. Ranges are those of the options' annotations, which are validated when the program starts.

use std::time::Duration;

use crate::code;
use crate::document::{Key, Node, Value};
use crate::list::list;
use crate::meant::did_you_mean;
use crate::reading::{Later, Reading};
use crate::told::Told;

/// The entry of this name, in any letters.
pub fn entry<'n>(given: &'n Node, name: &str) -> Option<(&'n Key, &'n Node)> {
    let mut entries = given.entries().iter().rev();
    let found = entries.find(|(key, _)| key.name.eq_ignore_ascii_case(name));
    found.map(|(key, node)| {
        key.asked.set(true);
        (key, node)
    })
}

/// The value of this name, in any letters.
pub fn get<'n>(given: &'n Node, name: &str) -> Option<&'n Node> {
    entry(given, name).map(|(_, node)| node)
}

/// What every strategy has beside its own.
const OF_ALL: [&str; 1] = ["Name"];

/// What a section may hold.
const STRATEGIES: &[&str] = list!(
    "RateLimiter TotalRequestTimeout Retry CircuitBreaker AttemptTimeout Hedging Endpoint Timeout"
);

/// The options of a section or of one of its strategies.
#[derive(Debug, Clone, Copy)]
pub struct Options<'n>(pub &'n Node);

impl<'n> Options<'n> {
    pub const fn of(given: &'n Node) -> Self {
        Self(given)
    }

    /// Those of a strategy, with its key.
    pub fn strategy(self, path: &[&str]) -> Option<(&'n Key, Self)> {
        let (last, outer) = path.split_last()?;
        let given = outer
            .iter()
            .try_fold(self.0, |node, name| get(node, name))?;
        let (key, node) = entry(given, last)?;
        node.is_table().then_some((key, Self(node)))
    }

    pub fn get(self, name: &str) -> Option<&'n Node> {
        get(self.0, name)
    }

    /// Finds strategies that are no sections: `"Retry": 3`.
    pub fn check_strategies(self, reading: &mut Reading<'_>) {
        for (key, node) in self.0.entries() {
            let mut strategies = STRATEGIES.iter();
            let is_one = strategies.any(|it| it.eq_ignore_ascii_case(&key.name));
            if is_one && !node.is_table() && !node.is_null() {
                let sentence = format!(
                    "`{}` is a section of options, and a value or a list stands there",
                    key.name
                );
                let remedy = "write its options below it";
                reading.find(node.span, code::NOT_UNDERSTOOD, sentence, remedy);
            }
        }
    }

    /// Finds keys that these options do not have.
    pub fn check(self, reading: &mut Reading<'_>, what: &str, known: &[&str]) {
        for (key, _) in self.0.entries() {
            let mut all = known.iter().chain(&OF_ALL);
            if all.any(|it| it.eq_ignore_ascii_case(&key.name)) {
                continue;
            }
            let remedy = Later(|| did_you_mean(&key.name, "the options", known));
            let sentence = format!(
                "{} has no option `{}` in {what}, and a handler that is given the section throws",
                reading.who(),
                key.name
            );
            reading.find(key.span, code::NO_SUCH_FIELD, sentence, remedy);
        }
    }

    /// A whole number of at least this.
    pub fn whole(self, reading: &mut Reading<'_>, name: &str, least: u32, most: u32) -> Told<u32> {
        let form = format!("a whole number from {least} to {most}");
        reading.told(self.get(name), &form, |it| {
            it.parse().ok().filter(|it| (least..=most).contains(it))
        })
    }

    /// A `TimeSpan` from this to a day.
    pub fn time(self, reading: &mut Reading<'_>, name: &str, least: Duration) -> Told<Duration> {
        const DAY: Duration = Duration::from_secs(86_400);
        let node = self.get(name);
        let form = if least.is_zero() {
            "a time of at most a day, such as \"00:00:02\"".to_owned()
        } else {
            let least = becalm::support::Human(least);
            format!("a time from {least} to a day, such as \"00:00:02\"")
        };
        let is_number = |it: &&Node| matches!(&it.value, Value::Scalar { text, .. } if text.parse::<u32>().is_ok_and(|it| it > 0));
        if let Some(days) = node
            .filter(is_number)
            .and_then(Node::text)
            .filter(|it| timespan(it).is_some_and(|it| it > DAY))
        {
            let sentence = format!(
                "`{days}` is that many days: a time-out or delay is one day at most, and the handler throws"
            );
            let remedy = format!("write {form}");
            reading.find(
                node.map_or(self.0.span, |it| it.span),
                code::REFUSED,
                sentence,
                remedy,
            );
            return Told::Unknown(self.0.span, days.to_owned());
        }
        reading.told(node, &form, |it| {
            timespan(it).filter(|it| (least..=DAY).contains(it))
        })
    }
}

/// A time as `TimeSpan.Parse` reads it: `d`, `hh:mm`, `hh:mm:ss` or `d.hh:mm:ss`, with up to seven decimals.
pub fn timespan(text: &str) -> Option<Duration> {
    let number = |it: &str, most: u64| -> Option<u64> {
        let is_number = !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit());
        it.parse().ok().filter(|it| is_number && *it <= most)
    };
    let days = |it: &str| number(it, 10_675_199);
    let seconds = |days: u64, hours: u64, minutes: u64| days * 86_400 + hours * 3600 + minutes * 60;
    if let Some(days) = days(text) {
        return Some(Duration::from_secs(seconds(days, 0, 0)));
    }
    let mut parts: Vec<&str> = text.split(':').collect();
    let mut whole = 0;
    if let Some((before, hours)) = parts[0].split_once('.') {
        whole = days(before)?;
        parts[0] = hours;
    } else if parts.len() == 4 {
        whole = days(parts.remove(0))?;
    }
    let (hours, minutes, last) = match parts[..] {
        [hours, minutes] => (hours, minutes, "0"),
        [hours, minutes, last] => (hours, minutes, last),
        _ => return None,
    };
    let (last, part) = last.split_once('.').unwrap_or((last, "0"));
    let nanos = number(part, 9_999_999).filter(|_| part.len() <= 7)?;
    let scale = 10_u64.pow(9 - u32::try_from(part.len()).ok()?);
    let all = seconds(whole, number(hours, 23)?, number(minutes, 59)?) + number(last, 59)?;
    Some(Duration::from_secs(all) + Duration::from_nanos(nanos * scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_dotnet_writes_them() {
        for (text, millis) in [
            ("00:00:02", 2000),
            ("0:0:0.5", 500),
            ("00:00:00.0100000", 10),
            ("01:30", 5_400_000),
            ("1", 86_400_000),
            ("1.00:00:00", 86_400_000),
            ("1:00:00:01", 86_401_000),
        ] {
            let read = timespan(text).map(|it| it.as_millis());
            assert_eq!(read, Some(millis), "{text}");
        }
        for text in [
            "",
            "2s",
            "00:00:60",
            "24:00:00",
            "-00:00:01",
            "1:2:3:4:5",
            "00:00:00.12345678",
            "a:b",
            "1.5",
        ] {
            assert_eq!(timespan(text), None, "{text}");
        }
    }
}
