//! What does a policy of retries repeat?

use becalm::classify::FailureKind;
use becalm::retry_on::{Codes, Failures, Methods, RetryOn, Statuses};

use crate::document::{Key, Node};
use crate::list::list;
use crate::mapping::{Draft, Origin};
use crate::reading::Reading;
use crate::systems::kubernetes::{check, name_of};

const FIELDS: &[&str] = list!("httpStatusCodes:text gRPCStatusCodes:text");

/// What is repeated: each failure without an answer, and what is listed of answers, or all.
pub fn read(reading: &mut Reading<'_>, draft: &mut Draft, matching: Option<(&Key, &Node)>) {
    let node = matching.map(|(_, it)| it);
    let mut unknown = None;
    check(reading, node, "`matching`", FIELDS);
    let mut list = |name: &str, least: u16, most: u16| {
        let given = node.and_then(|it| it.get(name))?;
        let form = format!("a list such as 4,14-16 of numbers from {least} to {most}");
        let told = reading.told(Some(given), &form, |it| ranges(it, least, most));
        unknown = Origin::unknown(&told).or(unknown.take());
        told.known().filter(|it| !it.is_empty())
    };
    let statuses = list(name_of(FIELDS[0]), 100, 599);
    let codes = list(name_of(FIELDS[1]), 0, 16);
    let is_listed = statuses.is_some() || codes.is_some();
    let statuses: Statuses = match statuses {
        Some(listed) => numbers(&listed).collect(),
        None => (400..=599).collect(),
    };
    let codes: Codes = match codes {
        Some(listed) => numbers(&listed).map(u32::from).collect(),
        None => (1..=16).collect(),
    };
    let failures = [
        FailureKind::Connect,
        FailureKind::ConnectTimeout,
        FailureKind::RefusedStream,
        FailureKind::Reset,
        FailureKind::TimedOut,
    ];
    let lists = RetryOn::new()
        .methods(Methods::Any)
        .statuses(statuses)
        .codes(codes)
        .failures(failures.into_iter().collect::<Failures>());
    draft.policy.retry_on = lists.into();
    let said = matching.filter(|_| is_listed);
    let said = said.map(|(key, _)| Origin::Line(key.span));
    if let Some(origin) = said.or(unknown) {
        draft.origin("retry_on", origin);
    }
}

/// What Dapr repeats by itself: codes 14 and 16 of the other sidecar.
pub fn between_sidecars(draft: &mut Draft) {
    let failures = [
        FailureKind::Connect,
        FailureKind::ConnectTimeout,
        FailureKind::Reset,
    ];
    let lists = RetryOn::new()
        .methods(Methods::Any)
        .statuses(Statuses::default())
        .codes(Codes::default().and(14).and(16))
        .failures(failures.into_iter().collect::<Failures>());
    draft.policy.retry_on = lists.into();
}

fn numbers(ranges: &[(u16, u16)]) -> impl Iterator<Item = u16> {
    ranges.iter().flat_map(|(from, to)| *from..=*to)
}

/// `429,500-504`: numbers, and ranges of them, without blanks.
fn ranges(text: &str, least: u16, most: u16) -> Option<Vec<(u16, u16)>> {
    let entries = text.split(',').filter(|it| !it.is_empty());
    let number = |it: &str| {
        let number = it.parse::<u16>().ok();
        number.filter(|it| (least..=most).contains(it))
    };
    let ranges = entries.map(|it| {
        let (from, to) = it.split_once('-').unwrap_or((it, it));
        let range = (number(from)?, number(to)?);
        (range.0 <= range.1).then_some(range)
    });
    ranges.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_no_blanks_and_grow() {
        assert_eq!(
            ranges("429,500-504,", 100, 599),
            Some(vec![(429, 429), (500, 504)])
        );
        for text in ["429, 500", "504-500", "5xx", "600", "1-2-3"] {
            assert_eq!(ranges(text, 100, 599), None, "{text}");
        }
    }
}
