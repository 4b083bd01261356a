//! What does the filter Retry of the gateway on Spring MVC repeat, and how often?
//!
//! `FrameworkRetryFilterFunctions` (from 5.0, with `RetryTemplate` of Spring Framework 7.0) and `GatewayRetryFilterFunctions` (with
//! Spring Retry, whose `CompositeRetryPolicy` asks both of its policies).

use std::time::Duration;

use becalm::retry_on::{Codes, Failures, Methods, RetryOn, Statuses};

use super::filter::{Filter, origin};
use super::spring::{Exceptions, flag};
use super::waits::back_off;
use super::webflux::{SERVER_ERROR, known_classes, methods, series_of};
use super::{KEYS, bare, check, entry, get, retries};
use crate::code;
use crate::document::Node;
use crate::list::list;
use crate::mapping::{Draft, Origin};
use crate::reading::Reading;

/// `@Shortcut`.
const SHORT: &[&str] = &["retries", "series", "methods"];

/// The fields of `RetryConfig`.
const KNOWN: &[&str] = list!("retries series exceptions methods cacheBody backoff");

/// The longest wait of either implementation, where `maxBackoff` is not set.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// The policy of a filter Retry in a route.
pub fn draft(reading: &mut Reading<'_>, filter: &Filter, server: &Node) -> Draft {
    let filter = filter.named(reading, SHORT, KNOWN);
    let forced = get(server, "use-framework-retry-filter");
    let forced = forced.and_then(Node::text).and_then(flag) == Some(true);
    let is_framework = reading.version == "5.0";
    let mut draft = Draft::of(bare(if is_framework { 4 } else { 3 }), KEYS);
    if is_framework && !forced {
        let why = "where Spring Retry is on the class path it repeats, unless `use-framework-retry-filter` is true: `retries` counts the first try then, and no exception is repeated";
        draft.lose("spring-retry", why, None);
    }
    if let Some((retries, span)) = retries(reading, &mut draft, &filter, 0) {
        if is_framework {
            draft.retries(retries, span);
        } else {
            draft.policy.attempts = retries.max(1);
            let how = "Spring Retry counts the first try".to_owned();
            draft.origin("attempts", Origin::Derived(span, how));
        }
    }
    waits(reading, &mut draft, &filter, is_framework);
    retry_on(reading, &mut draft, &filter, is_framework);
    if let Some((key, _)) = entry(&filter.args, "cacheBody") {
        let why = "without it a body that was sent cannot be sent again";
        draft.lose("cacheBody", why, Some(key.span));
    }
    let why = "those of an attempt are the HTTP client's, below `spring.http`";
    draft.lose("time-outs", why, None);
    draft
}

/// Without `backoff`: Spring Framework waits for a second three times at most, Spring Retry not at all.
fn waits(reading: &mut Reading<'_>, draft: &mut Draft, filter: &Filter, is_framework: bool) {
    let given = entry(&filter.args, "backoff").filter(|(_, it)| it.is_table());
    if let Some((key, given)) = given {
        check(
            reading,
            Some(given),
            "`backoff`",
            &["firstBackoff", "maxBackoff", "factor"],
        );
        draft.policy.cap = LONGEST_WAIT;
        draft.origin("cap", Origin::Default);
        back_off(reading, draft, given, key.span, Duration::from_millis(5));
        let is_below = |it: &str| it.trim().parse::<i32>().is_ok_and(|it| it < 2);
        if let Some(factor) = get(given, "factor").filter(|it| it.text().is_some_and(is_below)) {
            let sentence = format!("{} refuses a `factor` below 2", reading.who());
            reading.find(factor.span, code::REFUSED, sentence, "set it to 2 or more");
        }
        draft.policy.base = draft.policy.base.min(draft.policy.cap);
    } else if is_framework {
        draft.policy.base = Duration::from_secs(1);
        if draft.policy.attempts > 4 {
            let asked = draft.policy.attempts - 1;
            draft.policy.attempts = 4;
            let span = get(&filter.args, "retries").map_or(filter.span, |it| it.span);
            let sentence = format!(
                "without `backoff` Spring Framework repeats 3 times at most, and not {asked} times"
            );
            reading.find(span, code::ATTEMPTS_CUT, sentence, "set `backoff`");
            let how = "cut: without `backoff` there are 3 retries at most".to_owned();
            draft.origin("attempts", Origin::Derived(span, how));
        }
    }
}

fn retry_on(reading: &mut Reading<'_>, draft: &mut Draft, filter: &Filter, is_framework: bool) {
    let series = match filter.words("series") {
        None => vec![SERVER_ERROR],
        Some((_, words)) => series_of(reading, &words),
    };
    let mut statuses: Statuses = series
        .iter()
        .flat_map(|it| it * 100..it * 100 + 100)
        .collect();
    let mut failures = Failures::default();
    if is_framework {
        failures = of_framework(reading, draft, filter);
    } else if !statuses_are_repeated(reading, filter) {
        statuses = Statuses::default();
    }
    if statuses == Statuses::default() && failures == Failures::default() {
        let sentence = "no status and no exception is repeated";
        let remedy = "leave `series` and `exceptions` out";
        reading.find(filter.span, code::NEVER_RETRIES, sentence, remedy);
        draft.policy.attempts = 1;
    }
    let mut methods = methods(reading, filter);
    if failures != Failures::default() {
        let span = filter
            .words("exceptions")
            .map_or(filter.span, |(span, _)| span);
        let sentence = "`methods` holds for statuses alone: after one of these exceptions a POST is repeated as well";
        let remedy = "name in `exceptions` only what was never sent";
        reading.find(span, code::METHODS_NARROWED, sentence, remedy);
        methods = Methods::Any;
    }
    let listed = RetryOn::new()
        .methods(methods)
        .statuses(statuses)
        .codes(Codes::default())
        .failures(failures);
    draft.policy.retry_on = listed.into();
    if let Some(origin) = origin(filter, &["series", "methods", "exceptions"]) {
        draft.origin("retry_on", origin);
    }
}

/// Classes above all that the client throws.
const ABOVE: &[&str] = list!(
    "java.lang.Throwable java.lang.Exception java.lang.RuntimeException \
     org.springframework.core.NestedRuntimeException"
);

/// The exception that stands for a status.
fn is_of_status(class: &str) -> bool {
    class.ends_with("RetryFilterFunctions$RetryException")
        || class.ends_with("RetryFilterFunctions.RetryException")
}

/// What `exceptions` names of failures without an answer: nothing by default, as the client's exception is none of the default.
fn of_framework(reading: &mut Reading<'_>, draft: &mut Draft, filter: &Filter) -> Failures {
    let Some((span, words)) = filter.words("exceptions") else {
        return Failures::default();
    };
    let (mut classes, _) = known_classes(reading, &words);
    classes.retain(|it| !is_of_status(it));
    let wraps = |it: &&str| {
        ABOVE.contains(it)
            || it.ends_with("RestClientException")
            || it.ends_with("ResourceAccessException")
    };
    if classes.contains(&"java.io.IOException") && !classes.iter().any(wraps) {
        let sentence = "an IOException of the call to the service comes wrapped in a ResourceAccessException, which this list does not have";
        let remedy = "add `org.springframework.web.client.ResourceAccessException`";
        reading.find(span, code::KEY_NOT_READ, sentence, remedy);
        return Failures::default();
    }
    let all = Exceptions::of(classes);
    for class in all.unknown {
        let why = "which failures it stands for is said in code";
        draft.lose(class, why, Some(span));
    }
    all.failures
}

/// Spring Retry repeats a status only where its exception is on the list, and no other exception.
fn statuses_are_repeated(reading: &mut Reading<'_>, filter: &Filter) -> bool {
    let Some((span, words)) = filter.words("exceptions") else {
        return true;
    };
    let sentence = "Spring Retry repeats no exception here: its composite policy asks a second policy that knows statuses alone";
    reading.find(span, code::KEY_NOT_READ, sentence, "leave `exceptions` out");
    words
        .iter()
        .any(|(word, _)| is_of_status(word) || ABOVE.contains(&&**word))
}
