//! What does an `HTTPProxy` of Contour say about retrying, or the annotations of an `Ingress`?
//!
//! Read in projectcontour/contour of August 2026, 1.33.6 (`apis/projectcontour/v1/httpproxy.go`, `internal/dag/policy.go`,
//! `internal/envoy/v3/route.go`, `internal/annotation/annotations.go`). It was not run; what it makes is Envoy's.
//!
//! A `count` of 0 is one retry, as none is, and -1 turns retries off. Without `retryOn` an `HTTPProxy` repeats what `5xx` names, and an
//! `Ingress` nothing. The route's time-out is 15 s where nothing is said.

use std::time::Duration;

use becalm::Budget;
use becalm::retry_on::Methods;

use super::envoy::{KEYS, Words, policy, timeouts};
use super::kubernetes::{Annotations, REFUSES, check, is_built_in, is_of};
use crate::code::{self, Code};
use crate::document::{Document, Node, Span};
use crate::durations::go_duration;
use crate::evidence::Evidence;
use crate::list::list;
use crate::mapping::{Draft, Origin};
use crate::reading::{Later, Reading};
use crate::severity::Severity;
use crate::system::{Follows, Form, Remedies, Schema, System};
use crate::template::is_placeholder;
use crate::told::Told;

pub(super) const CONTOUR: System = System {
    name: "contour",
    title: "Contour",
    versions: &["1.33"],
    evidence: Evidence::Read,
    form: Form::Tree,
    remedies: REMEDIES,
    fewer: Some("lower `count`"),
    elsewhere: &["no-budget", "concurrency-alone"],
    follows: Follows::Attempts,
    schema: Schema {
        refuses: Some(REFUSES),
        homes: &[
            ("retryPolicy", "move it into an item of `spec.routes`"),
            ("perTryTimeout", "move it into `retryPolicy`"),
            ("retryOn", "move it into `retryPolicy`"),
            ("retriableStatusCodes", "move it into `retryPolicy`"),
        ],
        tables: &["retryPolicy"],
        kinds: &["httpproxies.projectcontour.io"],
        ..Schema::OPEN
    },
};

/// What helps against a lint, by its code.
const REMEDIES: Remedies = &[
    (
        "repeats-non-idempotent",
        "set `retryOn: [connect-failure, refused-stream]`: Contour has no list of methods",
    ),
    (
        "repeats-what-may-be-done",
        "set `retryOn: [connect-failure, refused-stream, retriable-status-codes]` with the status 503",
    ),
    (
        "no-deadline",
        "set `timeoutPolicy.response` to a time, not to infinity",
    ),
    (
        "attempt-timeout-fills-deadline",
        "lower `perTryTimeout` or `count`, or raise `timeoutPolicy.response`",
    ),
    (
        "waits-exceed-deadline",
        "lower `count`, or raise `timeoutPolicy.response`",
    ),
];

const RETRY: &[&str] = list!("count:number perTryTimeout:time retryOn retriableStatusCodes:number");
const TIMEOUTS: &[&str] = list!("response:time idle:time idleConnection:time");

const PREFIX: &str = "projectcontour.io/";
const ANNOTATIONS: &[&str] =
    list!("retry-on num-retries per-try-timeout response-timeout request-timeout max-retries");

pub(super) fn recognises(document: &Document<'_>) -> bool {
    is_of(document, "projectcontour.io")
        || Annotations::of(document, PREFIX, ANNOTATIONS)
            .first()
            .is_some()
}

pub(super) fn read(reading: &mut Reading<'_>) {
    let document = reading.document;
    reading.misread = code::REFUSED;
    if !is_of(&document, "projectcontour.io") {
        of_ingress(reading);
        return;
    }
    let Some(spec) = document.at(&["spec"]) else {
        return;
    };
    if !document.says(&["kind"], "HTTPProxy") {
        // How many retries run at once, in a ContourConfiguration.
        for node in spec.walk() {
            node.at(&["circuitBreakers", "maxRetries"]);
        }
        return;
    }
    for route in spec.list(&["routes"]) {
        let retry = route.entry("retryPolicy").filter(|(_, it)| it.is_table());
        check(reading, retry.map(|(_, it)| it), "`retryPolicy`", RETRY);
        let times = route.get("timeoutPolicy");
        check(reading, times, "`timeoutPolicy`", TIMEOUTS);
        let Some((key, retry)) = retry else { continue };
        let services = route.list(&["services"]).iter();
        let names = services.filter_map(|it| it.get("name")?.text());
        let names: Vec<_> = names.map(ToOwned::to_owned).collect();
        let given = Given {
            title: format!("route to {}", names.first().map_or("?", |it| &**it)),
            names,
            span: key.span,
            count: ("count", retry.get("count")),
            each: ("perTryTimeout", retry.get("perTryTimeout")),
            whole: times.and_then(|it| it.get("response")),
        };
        let words = words(reading, retry);
        of_route(reading, given, &words, retry.get("retryOn"));
    }
}

/// What a route says.
struct Given<'n> {
    title: String,
    names: Vec<String>,
    span: Span,
    count: (&'static str, Option<&'n Node>),
    each: (&'static str, Option<&'n Node>),
    whole: Option<&'n Node>,
}

/// What is repeated: `5xx` where nothing is listed.
fn words(reading: &mut Reading<'_>, retry: &Node) -> Words {
    let listed = retry.get("retryOn").filter(|it| !it.is_null());
    if let Some(node) = listed.filter(|it| it.items().is_empty() && !it.is_table()) {
        if let Some(text) = node.text() {
            let sentence = format!("`{text}` stands where {} reads a list", reading.who());
            reading.find(node.span, code::REFUSED, sentence, "write `[5xx]`");
        }
    }
    let mut known = Vec::new();
    for node in listed.map_or(&[][..], Node::items) {
        let told = reading.told(Some(node), "a word such as 5xx", |it| {
            (!is_placeholder(it)).then(|| it.to_owned())
        });
        let Some(word) = told.known() else { continue };
        if !Words::read(&word).unknown.is_empty() {
            let sentence = format!("{} has no `{word}`: kubectl refuses it", reading.who());
            let remedy = Later(|| Words::meant(&word));
            reading.find(node.span, code::REFUSED, sentence, remedy);
        }
        known.push(word);
    }
    let mut words = if known.is_empty() {
        Words::read("5xx")
    } else {
        Words::read(&known.join(","))
    };
    let statuses = retry.entry("retriableStatusCodes");
    let mut all = Vec::new();
    for node in statuses.map_or(&[][..], |(_, it)| it.items()) {
        let told = reading.told(Some(node), "a status", |it| {
            it.parse::<u16>().ok().filter(|it| (100..600).contains(it))
        });
        words.or_unknown(&told);
        all.extend(told.known());
    }
    if words.reads_statuses {
        words.and_statuses(all);
    } else if let Some((key, _)) = statuses {
        let sentence =
            "`retriableStatusCodes` is not read without `retriable-status-codes` in `retryOn`";
        let remedy = "add the word, or leave out the list";
        reading.find(key.span, code::KEY_NOT_READ, sentence, remedy);
    }
    words
}

fn of_ingress(reading: &mut Reading<'_>) {
    let document = reading.document;
    let own = Annotations::of(&document, PREFIX, ANNOTATIONS);
    own.check(reading, |name| match name {
        "max-retries" => "Service",
        _ => "Ingress",
    });
    if !is_built_in(&document, "Ingress") {
        return;
    }
    // What is not understood is passed over.
    reading.misread = code::NOT_UNDERSTOOD;
    let text = own.get("retry-on").and_then(Node::text).unwrap_or_default();
    let Some((key, said)) = own.entry("retry-on").filter(|_| !text.is_empty()) else {
        if let Some((key, _)) = own
            .entry("num-retries")
            .or_else(|| own.entry("per-try-timeout"))
        {
            let sentence = format!("`{}` is not read without `{PREFIX}retry-on`", key.name);
            let remedy = "add it, or leave this out";
            reading.find(key.span, code::NEVER_RETRIES, sentence, remedy);
        }
        return;
    };
    let words = Words::read(text);
    for word in &words.unknown {
        let sentence = format!("Envoy has no word `{word}`, and repeats nothing for it");
        let remedy = Later(|| Words::meant(word));
        reading.find(key.span, code::NOT_UNDERSTOOD, sentence, remedy);
    }
    let name = document.at(&["metadata", "name"]).and_then(Node::text);
    let given = Given {
        title: format!("Ingress {}", name.unwrap_or("?")),
        names: Vec::new(),
        span: key.span,
        count: ("num-retries", own.get("num-retries")),
        each: ("per-try-timeout", own.get("per-try-timeout")),
        whole: own
            .get("response-timeout")
            .or_else(|| own.get("request-timeout")),
    };
    of_route(reading, given, &words, Some(said));
}

fn of_route(reading: &mut Reading<'_>, given: Given<'_>, words: &Words, said: Option<&Node>) {
    let policy = policy().attempts(2).deadline(timeouts::TIMEOUT);
    let mut draft = Draft::of(policy.budget(Budget::concurrency(0.0, AT_ONCE)), KEYS);
    let (name, count) = given.count;
    match reading.told(count, "a number of retries, or -1", |it| {
        it.parse::<i64>()
            .ok()
            .filter(|it| (-1..=i64::from(u32::MAX - 1)).contains(it))
    }) {
        Told::Is(-1, _) => return, // switched off
        Told::Is(0, span) => {
            let severity = Severity::Warning;
            let code = Code {
                severity,
                ..code::REPEATS_BY_DEFAULT
            };
            let sentence = format!("`{name}` of 0 is one retry");
            let remedy = format!("set `{name}` to -1 to turn retries off, or to 1");
            reading.find(span, code, sentence, remedy);
            draft.retries(1, span);
        }
        Told::Is(count, span) => {
            draft.retries(u32::try_from(count).unwrap_or(u32::MAX - 1), span);
        }
        told => draft.set("attempts", told, |_, _| {}),
    }
    let form = "a duration such as 1s, or infinity";
    let whole = reading.told(given.whole, form, duration);
    // 0 leaves the default.
    let whole = match whole {
        Told::Is(it, _) if it.is_zero() => Told::Absent,
        told => told.map(bound),
    };
    let none = Told::Absent;
    let whole = timeouts::of_request(reading, &mut draft, whole, &none, false);
    let (name, each) = given.each;
    let each = reading.told(each, form, duration);
    let each = each.map(bound);
    timeouts::of_attempt(reading, &mut draft, name, each, whole);
    for (word, why) in &words.lost {
        draft.lose(*word, *why, said.map(|it| it.span));
    }
    if !words.repeats_anything() {
        let sentence = format!("{}: nothing is listed that Envoy repeats", given.title);
        let remedy = "list `connect-failure`, or leave the retries out";
        reading.find(given.span, code::NEVER_RETRIES, sentence, remedy);
        return;
    }
    draft.policy.retry_on = words.retry_on(Methods::Any).into();
    if let Some(said) = said {
        draft.origin("retry_on", Origin::Line(said.span));
    }
    let why = "`projectcontour.io/max-retries` of the Service, or the configuration of Contour, may allow more at once";
    draft.lose("max-retries", why, None);
    reading.map(draft, given.title, given.names, given.span);
}

/// Of Envoy, where nothing is said.
const AT_ONCE: u32 = 3;

const INFINITE: Duration = Duration::MAX;

fn duration(text: &str) -> Option<Duration> {
    match text {
        "infinity" | "infinite" => Some(INFINITE),
        text => go_duration(text),
    }
}

/// As Envoy has it: 0 is without a bound.
fn bound(time: Duration) -> Duration {
    if time == INFINITE {
        Duration::ZERO
    } else {
        time
    }
}
