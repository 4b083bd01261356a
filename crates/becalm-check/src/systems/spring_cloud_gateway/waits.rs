//! How long does the filter of the gateway on `WebFlux` wait before a retry?
//!
//! `Backoff.exponential`, `RandomJitter` and `AbstractRetry` of reactor-addons.

use std::time::Duration;

use becalm::Jitter;
use becalm::backoff::Backoff;

use super::filter::Filter;
use super::spring::{duration, flag};
use super::{check, entry, get};
use crate::code;
use crate::document::{Node, Span};
use crate::list::list;
use crate::mapping::{Draft, Origin};
use crate::reading::Reading;
use crate::told::Told;

pub const DURATION: &str = "a duration such as 50ms";

/// `backoff`, `jitter` and `timeout`.
pub fn waits(reading: &mut Reading<'_>, draft: &mut Draft, filter: &Filter) {
    let back_off = entry(&filter.args, "backoff").filter(|(_, it)| it.is_table());
    if let Some((key, given)) = back_off {
        let known = list!("firstBackoff maxBackoff factor basedOnPreviousValue");
        check(reading, Some(given), "`backoff`", known);
        self::back_off(reading, draft, given, key.span, Duration::from_millis(5));
    }
    if let Some((key, given)) = entry(&filter.args, "jitter").filter(|(_, it)| it.is_table()) {
        check(reading, Some(given), "`jitter`", &["randomFactor"]);
        jitter(reading, draft, given, key.span, back_off.map(|(_, it)| it));
    }
    let timeout = reading.told(get(&filter.args, "timeout"), DURATION, duration);
    if let Told::Is(_, span) = timeout {
        let why = "no attempt begins after it, and none that would be waited for beyond it; the one that runs is not cut";
        draft.lose("timeout", why, Some(span));
    }
    draft.set("deadline", timeout, |policy, it| {
        policy.deadline = Some(it.max(Duration::from_nanos(1)));
    });
}

/// The waits grow by a whole factor from the first one to the longest.
pub fn back_off(
    reading: &mut Reading<'_>,
    draft: &mut Draft,
    given: &Node,
    span: Span,
    first: Duration,
) {
    let some = |text: &str| duration(text).filter(|it| !it.is_zero());
    let base = reading.told(
        get(given, "firstBackoff"),
        "a duration above 0, such as 50ms",
        some,
    );
    let cap = reading.told(get(given, "maxBackoff"), DURATION, duration);
    let factor = reading.told(get(given, "factor"), "a whole number", |it| {
        it.parse::<i32>().ok()
    });
    reading.told(get(given, "basedOnPreviousValue"), "true or false", flag);
    draft.policy.backoff = Backoff::Exponential;
    draft.policy.base = first;
    draft.policy.multiplier = 2.0;
    draft.origin("multiplier", Origin::Default);
    draft.set("base", base, |policy, it| policy.base = it);
    match cap {
        Told::Is(cap, at) if cap < draft.policy.base => {
            let sentence = format!(
                "{} refuses a `maxBackoff` below `firstBackoff`",
                reading.who()
            );
            reading.find(at, code::REFUSED, sentence, "set it to more");
            draft.policy.cap = draft.policy.base;
        }
        cap => draft.set("cap", cap, |policy, it| policy.cap = it),
    }
    draft.set("multiplier", factor, |policy, it| {
        policy.multiplier = f64::from(it).max(1.0);
    });
    draft.origin("backoff", Origin::Derived(span, "grows by `factor`".into()));
}

fn jitter(
    reading: &mut Reading<'_>,
    draft: &mut Draft,
    given: &Node,
    span: Span,
    back_off: Option<&Node>,
) {
    let form = "a number from 0 to 1";
    let told = reading.told(get(given, "randomFactor"), form, |it| {
        it.parse().ok().filter(|it| (0.0..=1.0).contains(it))
    });
    let unknown = Origin::unknown(&told);
    let factor = told.known().unwrap_or(0.5);
    let Some(back_off) = back_off else {
        let sentence = "`jitter` without `backoff` spreads nothing: retries come at once";
        reading.find(span, code::WAIT_IGNORED, sentence, "set `backoff`");
        return;
    };
    if factor > 0.0 {
        draft.policy.jitter = Jitter::Proportional(factor);
    }
    draft.origin("jitter", unknown.unwrap_or(Origin::Line(span)));
    let why = "no wait is shorter than `firstBackoff`";
    draft.lose("jitter", why, Some(span));
    let previous = get(back_off, "basedOnPreviousValue");
    if previous.and_then(Node::text).and_then(flag) != Some(false) {
        let why = "each wait is a multiple of the one before, its jitter included, and not of the first one";
        draft.lose("basedOnPreviousValue", why, previous.map(|it| it.span));
    }
}
