//! What does the filter Retry of the gateway on Spring MVC repeat, and how often?
//!
//! `FrameworkRetryFilterFunctions` (from 5.0, with `RetryTemplate` of Spring Framework 7.0) and `GatewayRetryFilterFunctions` (with
//! Spring Retry, whose `CompositeRetryPolicy` asks both of its policies).

use std::time::Duration;

use becalm::retry_on::{Codes, Methods, RetryOn, Statuses};

use super::filter::Filter;
use super::spring::{Exceptions, flag};
use super::waits::back_off;
use super::webflux::{methods, series_of};
use super::{bare, check, entry, get, retries};
use crate::code;
use crate::document::Node;
use crate::mapping::{Draft, Origin};
use crate::reading::Reading;

/// `@Shortcut`.
const SHORT: &[&str] = &["retries", "series", "methods"];

/// The fields of `RetryConfig`.
const KNOWN: &[&str] = &[
    "retries",
    "series",
    "exceptions",
    "methods",
    "cacheBody",
    "backoff",
];

const KEYS: &[&str] = &[
    "attempts",
    "backoff",
    "base",
    "jitter",
    "hint",
    "budget",
    "deadline",
    "attempt_timeout",
    "retry_on",
];

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
        draft.lose(
            "spring-retry",
            "where Spring Retry is on the class path it repeats, unless `use-framework-retry-filter` is true: `retries` counts the first try then, and no exception is repeated",
            None,
        );
    }
    if let Some((retries, span)) = retries(reading, &mut draft, &filter) {
        let (attempts, how) = if is_framework {
            (
                retries.saturating_add(1),
                format!("{retries} retries and the first try"),
            )
        } else {
            (retries, "Spring Retry counts the first try".to_owned())
        };
        draft.policy.attempts = attempts;
        draft.origin("attempts", Origin::Derived(span, how));
    }
    waits(reading, &mut draft, &filter, is_framework);
    retry_on(reading, &mut draft, &filter, is_framework);
    if let Some((key, _)) = entry(&filter.args, "cacheBody") {
        draft.lose(
            "cacheBody",
            "without it a body that was sent cannot be sent again",
            Some(key.span),
        );
    }
    draft.lose(
        "time-outs",
        "those of an attempt are the HTTP client's, below `spring.http`",
        None,
    );
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
        None => vec![5],
        Some((_, words)) => series_of(reading, &words),
    };
    let statuses: Statuses = series
        .iter()
        .flat_map(|it| it * 100..it * 100 + 100)
        .collect();
    let own = filter.words("exceptions");
    let mut failures = Exceptions::default();
    let mut statuses_are_repeated = true;
    if let Some((span, words)) = &own {
        let classes: Vec<&str> = words.iter().map(|(word, _)| &**word).collect();
        let is_transfer = |it: &&str| {
            it.ends_with("RetryFilterFunctions$RetryException")
                || it.ends_with("RetryFilterFunctions.RetryException")
        };
        let covers = |it: &&str| {
            is_transfer(it)
                || [
                    "java.lang.Throwable",
                    "java.lang.Exception",
                    "java.lang.RuntimeException",
                    "org.springframework.core.NestedRuntimeException",
                ]
                .contains(it)
        };
        if is_framework {
            let classes = classes.iter().copied().filter(|it| !is_transfer(it));
            failures = Exceptions::of(classes);
            failures.statuses = Statuses::default();
            for class in &failures.unknown {
                draft.lose(
                    class.clone(),
                    "which failures it stands for is said in code",
                    Some(*span),
                );
            }
        } else {
            let sentence = "Spring Retry repeats no exception here: its composite policy asks a second policy that knows statuses alone";
            reading.find(
                *span,
                code::KEY_NOT_READ,
                sentence,
                "leave `exceptions` out",
            );
            statuses_are_repeated = classes.iter().any(covers);
        }
        if classes.contains(&"java.io.IOException") && is_framework {
            let sentence = "an IOException of the call to the service comes wrapped in a ResourceAccessException, which this list does not have";
            if !classes.iter().any(|it| {
                covers(it)
                    || it.ends_with("RestClientException")
                    || it.ends_with("ResourceAccessException")
            }) {
                reading.find(
                    *span,
                    code::KEY_NOT_READ,
                    sentence,
                    "add `org.springframework.web.client.ResourceAccessException`",
                );
                failures = Exceptions::default();
            }
        }
    }
    let statuses = if statuses_are_repeated {
        statuses
    } else {
        Statuses::default()
    };
    if statuses == Statuses::default() && failures.is_empty() {
        let sentence = "no status and no exception is repeated";
        reading.find(
            filter.span,
            code::NEVER_RETRIES,
            sentence,
            "leave `series` and `exceptions` out",
        );
        draft.policy.attempts = 1;
    }
    let methods: Methods = methods(reading, filter);
    if !failures.is_empty() && methods != Methods::Any {
        let span = own.as_ref().map_or(filter.span, |(span, _)| *span);
        let sentence = "`methods` holds for statuses alone: after one of these exceptions a POST is repeated as well";
        reading.find(
            span,
            code::METHODS_NARROWED,
            sentence,
            "name in `exceptions` only what was never sent",
        );
    }
    let listed = RetryOn::new()
        .methods(if failures.is_empty() {
            methods
        } else {
            Methods::Any
        })
        .statuses(statuses)
        .codes(Codes::default())
        .failures(failures.failures);
    draft.policy.retry_on = listed.into();
    let own = ["series", "methods", "exceptions"];
    let first = own
        .iter()
        .filter_map(|it| filter.words(it))
        .map(|(span, _)| span)
        .min();
    if let Some(span) = first {
        draft.origin("retry_on", Origin::Line(span));
    }
}
