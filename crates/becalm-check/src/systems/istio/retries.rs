//! What do the fields of an `HTTPRetry` say?

use super::super::envoy::{Words, base_alone};
use super::TIME;
use crate::code;
use crate::document::{Key, Node};
use crate::durations::istio_duration;
use crate::mapping::{Draft, Origin};
use crate::reading::{Later, Reading};
use crate::template::is_placeholder;
use crate::told::Told;

pub fn attempts(reading: &mut Reading<'_>, draft: &mut Draft, key: &Key, retries: &Node) {
    let told = reading.whole(retries.get("attempts"), "a number of retries");
    let is_off = matches!(told, Told::Absent | Told::Is(0, _));
    let others = ["perTryTimeout", "retryOn", "retryRemoteLocalities"];
    if is_off
        && others
            .iter()
            .any(|it| retries.get(it).is_some_and(|it| !it.is_null()))
    {
        let sentence = format!(
            "Istio's validation refuses 0 attempts beside other settings of `{}`",
            key.name
        );
        let remedy = "leave out the others, or set `attempts`";
        reading.find(key.span, code::REFUSED, sentence, remedy);
    }
    match told {
        Told::Is(0, span) => {
            draft.policy.attempts = 1;
            draft.origin(
                "attempts",
                Origin::Derived(span, "0 switches retries off".into()),
            );
        }
        Told::Is(retries, span) => {
            reading.attempts_are_retries(draft, "attempts", retries, span);
        }
        Told::Unknown(span, text) => draft.origin("attempts", Origin::Unknown(span, text)),
        Told::Absent => {
            draft.policy.attempts = 1;
            let how = format!("`{}` without `attempts` switches retries off", key.name);
            let sentence = format!("{how}: a number that is left out is 0");
            draft.origin("attempts", Origin::Derived(key.span, how));
            // A mesh leaves `attempts` out on purpose: without its policy Istio retries.
            if key.name == "retries" {
                reading.find(key.span, code::NEVER_RETRIES, sentence, "set `attempts`");
            }
        }
    }
}

/// The words of the file; a number among them is a status, where Go's `net/http` knows it.
pub fn retry_on(reading: &mut Reading<'_>, draft: &mut Draft, retries: &Node) -> Option<Words> {
    let told = reading.told(
        retries.get("retryOn"),
        "one text such as \"5xx,reset\"",
        |it| (!is_placeholder(it)).then(|| it.to_owned()),
    );
    let (text, span) = match told {
        Told::Is(text, span) if !text.is_empty() => (text, span),
        told => {
            draft.set("retry_on", told, |_, _| {});
            return None;
        }
    };
    let is_status = |it: &&str| it.parse().is_ok_and(has_a_name);
    let (statuses, words): (Vec<_>, Vec<_>) = text.split(',').map(str::trim).partition(is_status);
    let mut words = Words::read(&words.join(","));
    words.and_statuses(statuses.iter().filter_map(|it| it.parse().ok()));
    for word in &words.unknown {
        let sentence =
            format!("Istio's validation refuses `{word}` in `retryOn`, and Envoy ignores it");
        let remedy = Later(|| Words::meant(word));
        reading.find(span, code::REFUSED, sentence, remedy);
    }
    // ValidateHTTPRetry compares what stands between two commas as it stands.
    if text.split(',').any(|it| it.is_empty() || it.trim() != it) {
        let sentence = "Istio's validation refuses blanks and empty words in `retryOn`";
        let words: Vec<_> = text
            .split(',')
            .map(str::trim)
            .filter(|it| !it.is_empty())
            .collect();
        let remedy = format!("write \"{}\"", words.join(","));
        reading.find(span, code::REFUSED, sentence, remedy);
    }
    if words.reads_statuses && statuses.is_empty() {
        let sentence = "`retriable-status-codes` names no status here";
        let remedy = "add the statuses to the list, such as \"503\"";
        reading.find(span, code::KEY_NOT_READ, sentence, remedy);
    }
    draft.origin("retry_on", Origin::Line(span));
    Some(words)
}

/// Whether `http.StatusText` has a name for it (Go 1.26).
const fn has_a_name(status: u16) -> bool {
    matches!(status, 100..=103 | 200..=208 | 226 | 300..=305 | 307 | 308 | 400..=418 | 421..=426 | 428 | 429 | 431 | 451)
        || matches!(status, 500..=508 | 510 | 511)
}

pub fn back_off(reading: &mut Reading<'_>, draft: &mut Draft, retries: &Node) {
    let base = reading.told(retries.get("backoff"), TIME, istio_duration);
    base_alone(draft, &base, "backoff");
    draft.set("base", base, |_, _| {});
}
