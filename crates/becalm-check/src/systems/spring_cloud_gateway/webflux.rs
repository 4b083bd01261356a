//! What does the filter Retry of the gateway on `WebFlux` repeat, and how often?

use std::collections::HashSet;

use becalm::classify::FailureKind;
use becalm::retry_on::{Codes, Methods, RetryOn, Statuses};

use super::filter::{Filter, origin};
use super::spring::{Exceptions, series, status};
use super::timeouts::attempt_timeout;
use super::waits::waits;
use super::{KEYS, bare, retries};
use crate::code;
use crate::document::{Node, Span};
use crate::list::list;
use crate::mapping::Draft;
use crate::reading::Reading;
use crate::template;

/// `shortcutFieldOrder`.
const SHORT: &[&str] = list!(
    "retries statuses methods backoff.firstBackoff backoff.maxBackoff backoff.factor \
     backoff.basedOnPreviousValue jitter.randomFactor timeout"
);

/// The fields of `RetryConfig`.
const KNOWN: &[&str] =
    list!("retries series statuses methods exceptions backoff jitter timeout routeId");

/// The policy of a filter Retry in a route.
pub fn draft(reading: &mut Reading<'_>, filter: &Filter, server: &Node, route: &Node) -> Draft {
    let filter = filter.named(reading, SHORT, KNOWN);
    let mut draft = Draft::of(bare(4), KEYS);
    if let Some((retries, span)) = retries(reading, &mut draft, &filter, 1) {
        draft.retries(retries, span);
    }
    waits(reading, &mut draft, &filter);
    attempt_timeout(reading, &mut draft, server, route);
    retry_on(reading, &mut draft, &filter);
    draft
}

fn retry_on(reading: &mut Reading<'_>, draft: &mut Draft, filter: &Filter) {
    let statuses = statuses(reading, draft, filter);
    let exceptions = exceptions(reading, draft, filter);
    let methods = methods(reading, filter);
    let is_set = |name: &str| {
        filter
            .words(name)
            .is_none_or(|(_, words)| !words.is_empty())
    };
    let is_set_statuses = filter.words("statuses").is_some() && is_set("statuses");
    if !is_set("series") && !is_set("exceptions") && !is_set_statuses {
        let sentence = format!(
            "{} refuses a filter without any of `series`, `statuses` and `exceptions`",
            reading.who()
        );
        let remedy = "leave `series` out, or name statuses";
        reading.find(filter.span, code::REFUSED, sentence, remedy);
    }
    let mut listed = RetryOn::new()
        .methods(methods)
        .statuses(statuses)
        .codes(Codes::default());
    // Of classes that only code knows nothing is said here.
    if !exceptions.is_empty() || exceptions.unknown.is_empty() {
        listed = listed.failures(exceptions.failures);
    }
    draft.policy.retry_on = listed.into();
    let own = ["statuses", "series", "methods", "exceptions"];
    if let Some(origin) = origin(filter, &own) {
        draft.origin("retry_on", origin);
    }
}

/// Those of `statuses` and those of `series`, each of which is tried.
fn statuses(reading: &mut Reading<'_>, draft: &mut Draft, filter: &Filter) -> Statuses {
    let mut listed: Vec<u16> = Vec::new();
    let given = filter.words("statuses");
    let form = "a name of Spring's HttpStatus, such as SERVICE_UNAVAILABLE";
    for (word, span) in given.iter().flat_map(|(_, words)| words) {
        let told = reading.told_text(Some(word), *span, form, status);
        listed.extend(told.known());
    }
    let series = match filter.words("series") {
        None => vec![SERVER_ERROR],
        Some((_, words)) => series_of(reading, &words),
    };
    let of_series: Statuses = series
        .iter()
        .flat_map(|it| it * 100..it * 100 + 100)
        .collect();
    let is_below = listed.iter().any(|it| *it < 400) || series.iter().any(|it| *it < 4);
    if is_below {
        let why = "answers below 400 are repeated as well; for a policy they are successes";
        draft.lose(
            "statuses below 400",
            why,
            given.as_ref().map(|(span, _)| *span),
        );
    }
    if let (Some((span, words)), None) = (&given, filter.words("series")) {
        if !words.is_empty() {
            let sentence = "`statuses` narrows nothing: every 5xx is repeated as well, since `series` is SERVER_ERROR where it is not set";
            let remedy = "set `series` to an empty value, so that only the statuses are repeated";
            reading.find(*span, code::STATUSES_WIDER, sentence, remedy);
        }
    }
    listed.into_iter().fold(of_series, Statuses::and)
}

/// The series that is repeated where none is named.
pub const SERVER_ERROR: u16 = 5;

pub fn series_of(reading: &mut Reading<'_>, words: &[(String, Span)]) -> Vec<u16> {
    let form = "a name of HttpStatus.Series, such as SERVER_ERROR";
    let is_unknown = |(word, _): &(String, Span)| template::is_placeholder(word);
    let mut read = Vec::new();
    for (word, span) in words {
        read.extend(reading.told_text(Some(word), *span, form, series).known());
    }
    if read.is_empty() && words.iter().any(is_unknown) {
        read.push(SERVER_ERROR);
    }
    read
}

/// `IOException` and the gateway's own `TimeoutException`, where nothing else is said; the class or that of its cause.
fn exceptions(reading: &mut Reading<'_>, draft: &mut Draft, filter: &Filter) -> Exceptions {
    let own = filter.words("exceptions");
    let default = [
        "java.io.IOException",
        "org.springframework.cloud.gateway.support.TimeoutException",
    ];
    let named = own.as_ref().map(|(_, words)| known_classes(reading, words));
    let classes = match &named {
        // Where one is unknown and nothing else is named, the default stands in.
        Some((classes, is_unknown)) if !is_unknown || !classes.is_empty() => classes.clone(),
        _ => default.to_vec(),
    };
    if let Some((span, _)) = &own {
        let is_juc = classes.contains(&"java.util.concurrent.TimeoutException");
        let is_own = classes.contains(&default[1]);
        if is_juc && !is_own {
            let sentence = "the gateway throws a TimeoutException of its own when `response-timeout` is over, and not that of java.util.concurrent";
            let remedy = format!("add `{}`", default[1]);
            reading.find(*span, code::KEY_NOT_READ, sentence, remedy);
        }
    }
    let mut all = Exceptions::of(classes.iter().copied());
    for class in &all.unknown {
        let span = own.as_ref().map(|(span, _)| *span);
        let why = "which failures it stands for is said in code";
        draft.lose(class.clone(), why, span);
    }
    // netty's own time-outs are none of the JDK's.
    let times_out = |class: &&str| {
        class.ends_with("gateway.support.TimeoutException")
            || [
                "java.lang.Throwable",
                "java.lang.Exception",
                "java.lang.RuntimeException",
            ]
            .contains(class)
    };
    let is_repeated = classes.iter().any(times_out);
    let kinds = all.failures.iter();
    all.failures = kinds
        .filter(|it| *it != FailureKind::TimedOut || is_repeated)
        .collect();
    all.statuses = Statuses::default();
    all
}

/// The classes of these words, and whether there are others that are filled in elsewhere.
pub fn known_classes<'w>(
    reading: &mut Reading<'_>,
    words: &'w [(String, Span)],
) -> (Vec<&'w str>, bool) {
    let mut classes = Vec::new();
    for (word, span) in words {
        let is_known = !template::is_placeholder(word);
        let told = reading.told_text(Some(word), *span, "a class", |_| {
            is_known.then_some(&**word)
        });
        classes.extend(told.known());
    }
    let is_unknown = classes.len() < words.len();
    (classes, is_unknown)
}

/// GET where nothing is said. Names are as they stand: Spring's `HttpMethod.valueOf` knows capital letters alone.
pub fn methods(reading: &mut Reading<'_>, filter: &Filter) -> Methods {
    let Some((span, words)) = filter.words("methods") else {
        return Methods::of(["GET"]);
    };
    reading.is_default(span);
    if words.is_empty() {
        let sentence = format!("{} refuses empty `methods`", reading.who());
        let remedy = "leave them out, or name some";
        reading.find(span, code::REFUSED, sentence, remedy);
    }
    let is_unknown = words.iter().any(|(word, _)| template::is_placeholder(word));
    let is_misspelt = words
        .iter()
        .any(|(word, _)| word.eq_ignore_ascii_case("GET"));
    let mut names: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    for (word, at) in words {
        if template::is_placeholder(&word) {
            reading.told_text(Some(&word), at, "a method", |_| None::<()>);
        } else if word.chars().any(|c| !c.is_ascii_uppercase()) {
            let sentence =
                format!("no request has the method `{word}`: methods have capital letters");
            let remedy = format!("write `{}`", word.to_ascii_uppercase());
            reading.find(at, code::METHODS_NARROWED, sentence, remedy);
        } else if seen.insert(word.clone()) {
            names.push(word);
        }
    }
    if is_unknown && names.is_empty() {
        return Methods::of(["GET"]);
    }
    if !is_misspelt && !is_unknown && !names.iter().any(|it| it == "GET") {
        let sentence = "`methods` takes the place of the default, so that GET is not repeated";
        reading.find(span, code::METHODS_NARROWED, sentence, "add GET");
    }
    Methods::Listed(names)
}
