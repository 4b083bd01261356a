//! What does an Istio `VirtualService` say about retrying?
//!
//! `pilot/pkg/networking/core/route/retry/retry.go` and `cluster_traffic_policy.go` of istio/istio, and
//! `virtual_service.proto` and `destination_rule.proto` of istio/api, as of August 2026 (1.32 to come).
//! What is written there is Envoy's: its time-outs and its draws of delays.

use std::time::Duration;

use becalm::preset::Preset;
use becalm::{Budget, Policy};

use super::envoy::{KEYS, Words, at_most, at_most_share, timeouts};
use super::kubernetes::{check, is_of, is_same, methods};
use crate::code;
use crate::document::{Document, Key, Node, Span};
use crate::mapping::{Draft, Origin};
use crate::reading::{Reading, Told};
use crate::system::{Evidence, Form, System};
use crate::template::is_placeholder;

pub(super) const ISTIO: System = System {
    name: "istio",
    title: "Istio",
    versions: &["1.31", "1.23"],
    evidence: Evidence::Read,
    form: Form::Tree,
    remedies: REMEDIES,
    recognises,
    read,
};

/// What helps against a lint, by its code.
const REMEDIES: &[(&str, &str)] = &[
    (
        "no-budget",
        "set `trafficPolicy.retryBudget` in a DestinationRule",
    ),
    (
        "concurrency-alone",
        "set `attempts: 1`, and a budget where the clients are: Istio has none that looks at past traffic",
    ),
    ("no-deadline", "set the route's `timeout`"),
    (
        "hints-ignored",
        "lower `attempts`: Istio heeds no Retry-After",
    ),
    (
        "attempt-timeout-fills-deadline",
        "lower `perTryTimeout` or `attempts`, or raise the route's `timeout`",
    ),
    (
        "waits-exceed-deadline",
        "lower `attempts` or `backoff`, or raise the route's `timeout`",
    ),
    (
        "repeats-non-idempotent",
        "match POST and PATCH in a route of their own, whose `retryOn` is \"connect-failure,refused-stream\"",
    ),
    (
        "repeats-what-may-be-done",
        "set `retryOn` to \"connect-failure,refused-stream,unavailable,503\"",
    ),
];

fn recognises(document: &Document<'_>) -> bool {
    is_of(document, GROUP)
}

const GROUP: &str = "networking.istio.io";

/// `message HTTPRetry`.
const RETRIES: &[&str] = &[
    "attempts",
    "perTryTimeout",
    "retryOn",
    "retryRemoteLocalities",
    "retryIgnorePreviousHosts",
    "backoff",
];

/// `message HTTPRoute`.
const ROUTE: &[&str] = &[
    "name",
    "match",
    "route",
    "redirect",
    "directResponse",
    "delegate",
    "rewrite",
    "timeout",
    "retries",
    "fault",
    "mirror",
    "mirrors",
    "mirrorPercent",
    "mirror_percent",
    "mirrorPercentage",
    "corsPolicy",
    "headers",
];

/// `defaultRetryOn`, with 503 up to 1.23 (istio/istio#50506).
const RETRY_ON: &str =
    "connect-failure,refused-stream,unavailable,cancelled,retriable-status-codes";

fn read(reading: &mut Reading<'_>) {
    let document = reading.document;
    let Some(spec) = document.at(&["spec"]) else {
        return;
    };
    if document.says(&["kind"], "EnvoyFilter") {
        patched(reading, spec);
    }
    if !document.says(&["kind"], "VirtualService") {
        return;
    }
    for route in spec.list(&["http"]) {
        check(reading, Some(route), "an HTTPRoute", ROUTE);
        check(reading, route.get("retries"), "`retries`", RETRIES);
        if !route.list(&["route"]).is_empty() {
            of_route(reading, spec, route);
        }
    }
}

/// What it patches is Envoy's configuration, which Istio makes.
fn patched(reading: &mut Reading<'_>, spec: &Node) {
    let retries = |it: &Node| {
        let mut both = ["retry_policy", "retryPolicy"].into_iter();
        both.find_map(|name| Some(it.entry(name)?.0.span))
    };
    let spans: Vec<_> = spec.walk().filter_map(retries).collect();
    for span in spans {
        let sentence =
            "an EnvoyFilter changes the retries of routes that Istio makes, which are in no file";
        let remedy = "check what `istioctl proxy-config routes -o json` prints";
        reading.find(span, code::NOT_SEEN, sentence, remedy);
    }
}

fn of_route(reading: &mut Reading<'_>, spec: &Node, route: &Node) {
    let policy = Preset::by_name("istio").map_or_else(|_| Policy::default(), Preset::policy);
    let mut draft = Draft::of(policy, KEYS);
    let retries = route.entry("retries").filter(|(_, it)| it.is_table());
    let span = retries.map_or(route.span, |(key, _)| key.span);
    let mut words = Words::read(RETRY_ON);
    if reading.version == "1.23" {
        words.and_statuses([503]);
    }
    if let Some((key, retries)) = retries {
        attempts(reading, &mut draft, key, retries);
        words = retry_on(reading, &mut draft, retries).unwrap_or(words);
        back_off(reading, &mut draft, retries);
    }
    times(reading, &mut draft, route);
    for (word, why) in &words.lost {
        draft.lose(*word, *why, None);
    }
    let methods = methods(route.list(&["match"]), &["method", "exact"]);
    if draft.policy.attempts > 1 && !words.repeats_anything() {
        let sentence = "`retryOn` names nothing that Envoy repeats, so that nothing is repeated";
        reading.find(span, code::NEVER_RETRIES, sentence, "");
        draft.policy.attempts = 1;
    }
    draft.policy.retry_on = words.retry_on(methods).into();
    let names = names(spec, route);
    budget(reading, &mut draft, route, &names, span);
    lose(&mut draft, retries.map(|(_, it)| it));
    let name = format!("route to {}", names.first().map_or("?", |it| &**it));
    reading.map(draft, name, names, span);
}

fn attempts(reading: &mut Reading<'_>, draft: &mut Draft, key: &Key, retries: &Node) {
    let told = reading.whole(retries.get("attempts"), "a number of retries");
    let is_off = matches!(told, Told::Absent | Told::Is(0, _));
    let others = ["perTryTimeout", "retryOn", "retryRemoteLocalities"];
    if is_off
        && others
            .iter()
            .any(|it| retries.get(it).is_some_and(|it| !it.is_null()))
    {
        let sentence = "Istio's validation refuses 0 attempts beside other settings of `retries`";
        reading.find(
            key.span,
            code::REFUSED,
            sentence,
            "leave out the others, or set `attempts`",
        );
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
            let all = retries.saturating_add(1);
            draft.policy.attempts = all;
            let how = format!("{retries} retries and the first try");
            draft.origin("attempts", Origin::Derived(span, how));
            let sentence = format!(
                "`attempts: {retries}` counts the retries: a request makes up to {all} attempts"
            );
            reading.find(span, code::ATTEMPTS_ARE_RETRIES, sentence, "");
        }
        Told::Unknown(span, text) => draft.origin("attempts", Origin::Unknown(span, text)),
        Told::Absent => {
            draft.policy.attempts = 1;
            let how = "`retries` without `attempts` switches them off".to_owned();
            draft.origin("attempts", Origin::Derived(key.span, how));
            let sentence =
                "`retries` without `attempts` switches retries off: a number that is left out is 0";
            reading.find(key.span, code::NEVER_RETRIES, sentence, "set `attempts`");
        }
    }
}

/// The words of the file; a number among them is a status, where Go's `net/http` knows it.
fn retry_on(reading: &mut Reading<'_>, draft: &mut Draft, retries: &Node) -> Option<Words> {
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
        reading.find(span, code::REFUSED, sentence, Words::meant(word));
    }
    // ValidateHTTPRetry compares what stands between two commas as it stands.
    if text.split(',').any(|it| it.is_empty() || it.trim() != it) {
        let sentence = "Istio's validation refuses blanks and empty words in `retryOn`";
        let words: Vec<_> = text
            .split(',')
            .map(str::trim)
            .filter(|it| !it.is_empty())
            .collect();
        reading.find(
            span,
            code::REFUSED,
            sentence,
            format!("write \"{}\"", words.join(",")),
        );
    }
    if words.reads_statuses && statuses.is_empty() {
        let sentence = "`retriable-status-codes` names no status here";
        reading.find(
            span,
            code::KEY_NOT_READ,
            sentence,
            "add the statuses to the list, such as \"503\"",
        );
    }
    draft.origin("retry_on", Origin::Line(span));
    Some(words)
}

/// Whether `http.StatusText` has a name for it (Go 1.26).
const fn has_a_name(status: u16) -> bool {
    matches!(status, 100..=103 | 200..=208 | 226 | 300..=305 | 307 | 308 | 400..=418 | 421..=426 | 428 | 429 | 431 | 451)
        || matches!(status, 500..=508 | 510 | 511)
}

fn back_off(reading: &mut Reading<'_>, draft: &mut Draft, retries: &Node) {
    let base = reading.go_duration(retries.get("backoff"), "a duration such as 1s");
    if let Told::Is(base, span) = base {
        let base = base.max(Duration::from_millis(1));
        draft.policy.cap = base.saturating_mul(10);
        draft.origin("cap", Origin::Derived(span, "10 times the backoff".into()));
        draft.set("base", Told::Is(base, span), |policy, it| policy.base = it);
    } else {
        draft.set("base", base, |_, _| {});
    }
}

fn times(reading: &mut Reading<'_>, draft: &mut Draft, route: &Node) {
    let form = "a duration such as 1s";
    let timeout = reading.go_duration(route.get("timeout"), form);
    timeouts::of_request(draft, timeout, &Told::Absent);
    let each = reading.go_duration(route.at(&["retries", "perTryTimeout"]), form);
    timeouts::of_attempt(reading, draft, "perTryTimeout", each);
}

/// Of the `DestinationRule` that is about the host, in this file or another.
fn budget(reading: &mut Reading<'_>, draft: &mut Draft, route: &Node, names: &[String], at: Span) {
    draft.policy.budget = Budget::None;
    let is_about = |it: &Node| {
        let host = it.at(&["spec", "host"]).and_then(Node::text);
        let is_rule = it.get("kind").and_then(Node::text) == Some("DestinationRule");
        is_rule && host.is_some_and(|host| names.first().is_some_and(|name| is_same(host, name)))
    };
    let found = reading.document.all().find(|(_, it)| is_about(it));
    let Some((file, spec)) = found.and_then(|(file, it)| Some((file, it.get("spec")?))) else {
        return;
    };
    let destination = route.list(&["route"]).first();
    let subset = destination.and_then(|it| it.at(&["destination", "subset"])?.text());
    let is_meant = |it: &&Node| subset.is_some() && it.get("name").and_then(Node::text) == subset;
    let subset = spec.list(&["subsets"]).iter().find(is_meant);
    let policies = [
        subset.and_then(|it| it.get("trafficPolicy")),
        spec.get("trafficPolicy"),
    ];
    reading.in_file(file, draft, at, |reading, draft| {
        of_rule(reading, draft, policies);
    });
}

/// Of the traffic policies of a subset and of the whole rule: each field of the former stands in place of the
/// latter's.
fn of_rule(reading: &mut Reading<'_>, draft: &mut Draft, policies: [Option<&Node>; 2]) {
    let entry = |name| policies.into_iter().flatten().find_map(|it| it.entry(name));
    for (name, why) in [
        ("outlierDetection", "a breaker for each host"),
        ("portLevelSettings", "ports have settings of their own"),
    ] {
        if let Some((key, _)) = entry(name) {
            draft.lose(name, why, Some(key.span));
        }
    }
    if let Some((key, given)) = entry("retryBudget") {
        share(reading, draft, given, key.span);
        return;
    }
    let most = entry("connectionPool").and_then(|(_, it)| it.at(&["http", "maxRetries"]));
    match reading.whole(most, "a number of retries") {
        // "if settings.Http.MaxRetries > 0": 0 leaves the default.
        Told::Is(most, span) if most > 0 => at_most(reading, draft, most, span),
        told => draft.set("budget", told, |_, _| {}),
    }
}

/// `message TrafficPolicy.RetryBudget`, which wins over `maxRetries`.
fn share(reading: &mut Reading<'_>, draft: &mut Draft, budget: &Node, span: Span) {
    check(
        reading,
        Some(budget),
        "`retryBudget`",
        &["percent", "minRetryConcurrency", "budgetInterval"],
    );
    let percent = reading.number(budget.get("percent"), "a percentage from 0 to 100");
    let floor = reading.whole(budget.get("minRetryConcurrency"), "a number of retries");
    if matches!(percent, Told::Absent) {
        let sentence = "a `retryBudget` without `percent` is one of 20 %, and of 0.2 % before istio/istio#59504 was fixed";
        reading.find(span, code::DEFAULT_BUDGET, sentence, "set `percent`");
    }
    if let Some((key, _)) = budget.entry("budgetInterval") {
        draft.lose(
            "budgetInterval",
            "the share is of the requests of this interval, not of those under way",
            Some(key.span),
        );
    }
    let percent = percent.known().unwrap_or(20.0).clamp(0.0, 100.0);
    let floor = floor.known().filter(|it| *it > 0).unwrap_or(3);
    at_most_share(reading, draft, percent, floor, span);
}

fn lose(draft: &mut Draft, retries: Option<&Node>) {
    let previous = retries.and_then(|it| it.get("retryIgnorePreviousHosts"));
    if previous.and_then(Node::text) != Some("false") {
        draft.lose(
            "retryIgnorePreviousHosts",
            "retries go to other hosts",
            previous.map(|it| it.span),
        );
    }
    if let Some((key, _)) = retries.and_then(|it| it.entry("retryRemoteLocalities")) {
        draft.lose(
            "retryRemoteLocalities",
            "retries go to other localities",
            Some(key.span),
        );
    }
    draft.lose(
        "inbound retries",
        "the sidecar of the service repeats what was reset before it was read, twice",
        None,
    );
    if retries.is_none() {
        draft.lose(
            "defaultHttpRetryPolicy",
            "the mesh's own configuration overrides the default",
            None,
        );
    }
}

fn names(spec: &Node, route: &Node) -> Vec<String> {
    let destinations = route.list(&["route"]).iter();
    let destinations = destinations.filter_map(|it| it.at(&["destination", "host"]));
    let all = destinations
        .chain(spec.list(&["hosts"]))
        .filter_map(Node::text);
    let mut names: Vec<String> = Vec::new();
    for name in all.filter(|it| *it != "*") {
        if !names.iter().any(|it| it == name) {
            names.push(name.to_owned());
        }
    }
    names
}
