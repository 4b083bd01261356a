//! What does an `HTTPRoute` of the Gateway API say about retrying?
//!
//! `apis/v1/httproute_types.go` and `apisx/v1alpha1/xbackendtrafficpolicy_types.go` of
//! kubernetes-sigs/gateway-api, and GEP-1731 and GEP-3388. What the specification leaves to the implementation is
//! told so: where a policy needs a value, Envoy Gateway 1.9's stands in.

use std::time::Duration;

use becalm::budget::Window;
use becalm::classify::FailureKind;
use becalm::hint::HintMode;
use becalm::retry_on::{Codes, Failures, RetryOn, Statuses};
use becalm::{Budget, Jitter, Policy};

use super::kubernetes::{REFUSES, check, check_types, is_a, is_of, is_same};
use super::methods;
use super::resources::Resources;
use crate::code;
use crate::document::{Document, Key, Node, Span};
use crate::evidence::Evidence;
use crate::list::list;
use crate::mapping::{Draft, NAMES, Origin};
use crate::reading::Reading;
use crate::system::{Follows, Form, Schema, System};
use crate::told::Told;

pub(super) const GATEWAY_API: System = System {
    name: "gateway-api",
    title: "Gateway API",
    versions: &["1.5"],
    evidence: Evidence::Read,
    form: Form::Tree,
    remedies: REMEDIES,
    fewer: Some("lower `attempts`"),
    elsewhere: &["no-budget"],
    follows: Follows::Attempts,
    schema: Schema {
        refuses: Some(REFUSES),
        homes: &[
            ("retry", "move it into an item of `spec.rules`"),
            (
                "attempts",
                "move it into `retry` of an item of `spec.rules`",
            ),
        ],
        tables: &["retry"],
        kinds: &[
            "httproutes.gateway.networking.k8s.io",
            "xbackendtrafficpolicies.gateway.networking.x-k8s.io",
        ],
        ..Schema::OPEN
    },
};

/// What helps against a lint, by its code.
const REMEDIES: &[(&str, &str)] = &[
    (
        "no-budget",
        "set `retryConstraint` in an XBackendTrafficPolicy, where the implementation has it",
    ),
    ("no-deadline", "set `timeouts.request`"),
    (
        "hints-ignored",
        "ask the implementation: the specification says nothing of Retry-After",
    ),
    (
        "attempt-timeout-fills-deadline",
        "set `backendRequest` to less than `request`, so that there is room for a retry",
    ),
    (
        "repeats-non-idempotent",
        "match POST and PATCH in a rule of their own without `retry`",
    ),
    (
        "repeats-what-may-be-done",
        "set `codes: [503]`, and match what is not idempotent in a rule of its own without `retry`",
    ),
    ("long-waits", "lower `backoff`"),
    (
        "waits-exceed-deadline",
        "lower `attempts` or `backoff`, or raise `timeouts.request`",
    ),
    (
        "large-budget",
        "lower `minRetryRate` or `budget.percent` of `retryConstraint`",
    ),
    (
        "budget-never-grants",
        "raise `budget.percent` or `minRetryRate` of `retryConstraint`",
    ),
    (
        "budget-runs-out",
        "raise `budget.percent` or `minRetryRate` of `retryConstraint`",
    ),
];

pub(super) fn recognises(document: &Document<'_>) -> bool {
    is_of(document, "gateway.networking.k8s.io") || is_of(document, EXPERIMENTAL)
}

const EXPERIMENTAL: &str = "gateway.networking.x-k8s.io";

const KEYS: &[&str] = &["deadline", "attempt_timeout", "retry_on"];

const RULE: &[&str] = list!("name matches filters backendRefs timeouts retry sessionPersistence");
const RETRY: &[&str] = &["codes:number", "attempts:number", "backoff:time"];
const TIMEOUTS: &[&str] = &["request:time", "backendRequest:time"];
const CONSTRAINT: &[&str] = &["budget", "minRetryRate"];

const BUDGET: &[&str] = &["percent:number", "interval:time"];
const RATE: &[&str] = &["count:number", "interval:time"];

const LEFT: &str = "left to the implementation";

pub(super) fn read<'a>(reading: &mut Reading<'a>, resources: &Resources<'a>) {
    let document = reading.document;
    let Some(spec) = document.at(&["spec"]) else {
        return;
    };
    if let (true, Some((key, constraint))) = (
        document.says(&["kind"], "XBackendTrafficPolicy"),
        spec.entry("retryConstraint"),
    ) {
        check(reading, Some(constraint), "`retryConstraint`", CONSTRAINT);
        check_types(reading, constraint.get("budget"), BUDGET);
        check_types(reading, constraint.get("minRetryRate"), RATE);
        // Its values are told with it, whether or not a route is here that it bounds.
        let policy = Policy::default().budget(Budget::None);
        bounded(reading, &mut Draft::of(policy, KEYS), key, constraint);
    }
    if !document.says(&["kind"], "HTTPRoute") {
        return;
    }
    for rule in spec.list(&["rules"]) {
        check(reading, Some(rule), "a rule", RULE);
        check(reading, rule.get("retry"), "`retry`", RETRY);
        check(reading, rule.get("timeouts"), "`timeouts`", TIMEOUTS);
        if rule.get("retry").is_some_and(Node::is_table) {
            of_rule(reading, spec, rule, resources);
        }
        extended(reading, rule);
    }
}

/// Tells of a filter that the specification leaves to the implementation.
fn extended(reading: &mut Reading<'_>, rule: &Node) {
    let mut filters = rule.list(&["filters"]).iter();
    if let Some(filter) = filters.find_map(|it| it.get("extensionRef")) {
        let text = |key| filter.get(key).and_then(Node::text).unwrap_or("?");
        let sentence = format!(
            "the {} {} may repeat requests as well, which is not known here",
            text("kind"),
            text("name")
        );
        let remedy = "name its file as well";
        reading.find(filter.span, code::NOT_SEEN, sentence, remedy);
    }
}

fn of_rule<'a>(reading: &mut Reading<'a>, spec: &Node, rule: &Node, resources: &Resources<'a>) {
    let Some((key, retry)) = rule.entry("retry") else {
        return;
    };
    let policy = Policy::exponential(Duration::from_millis(25))
        .cap(Duration::from_millis(250))
        .jitter(Jitter::Full)
        .hint(HintMode::Ignore)
        .budget(Budget::None)
        .attempts(3);
    let mut draft = Draft::of(policy, KEYS);
    for left in ["attempts", "base", "cap", "jitter", "hint", "budget"] {
        draft.origin(left, Origin::NotExpressible(LEFT.into()));
    }
    attempts(reading, &mut draft, retry);
    back_off(reading, &mut draft, retry);
    times(reading, &mut draft, rule);
    retry_on(reading, &mut draft, rule, retry);
    let names = names(spec, rule);
    budget(reading, &mut draft, &names, key.span, resources);
    let name = format!("rule to {}", names.first().map_or("?", |it| &**it));
    reading.map(draft, name, names, key.span);
}

fn attempts(reading: &mut Reading<'_>, draft: &mut Draft, retry: &Node) {
    let told = reading.whole(retry.get("attempts"), "a number of retries of at least 1");
    match told {
        Told::Is(0, span) => {
            let sentence = format!("{} refuses 0 `attempts`", reading.who());
            reading.find(span, code::REFUSED, sentence, "leave out `retry`");
        }
        Told::Is(retries, span) => {
            reading.attempts_are_retries(draft, "attempts", retries, span);
        }
        told => draft.set("attempts", told, |_, _| {}),
    }
}

/// "The minimum duration a Gateway should wait": a floor, above which the implementation draws.
fn back_off(reading: &mut Reading<'_>, draft: &mut Draft, retry: &Node) {
    let told = reading.gateway_duration(retry.get("backoff"), "a duration such as 500ms");
    if let Told::Is(least, span) = told {
        if least.is_zero() {
            return;
        }
        draft.policy.base = least;
        draft.policy.floor = least;
        draft.policy.cap = least.saturating_mul(10);
        draft.origin("base", Origin::Line(span));
        draft.origin(
            "floor",
            Origin::Derived(span, "no retry comes sooner".into()),
        );
    } else {
        draft.set("base", told, |_, _| {});
    }
}

/// A time-out of 0 is none.
fn times(reading: &mut Reading<'_>, draft: &mut Draft, rule: &Node) {
    let form = "a duration such as 10s";
    let whole = reading.gateway_duration(rule.at(&["timeouts", "request"]), form);
    let one = reading.gateway_duration(rule.at(&["timeouts", "backendRequest"]), form);
    draft.deadline(whole);
    draft.attempt_timeout(one);
    if let (Some(deadline), Some(timeout)) = (draft.policy.deadline, draft.policy.attempt_timeout) {
        if timeout > deadline {
            let span = rule
                .at(&["timeouts", "backendRequest"])
                .map_or(rule.span, |it| it.span);
            let sentence = format!(
                "{} refuses a backendRequest that is longer than the request",
                reading.who()
            );
            let remedy = "set it to less, so that there is room for a retry";
            reading.find(span, code::REFUSED, sentence, remedy);
        }
    }
}

/// "Implementations SHOULD retry on connection errors (disconnect, reset, timeout, TCP failure)".
fn retry_on(reading: &mut Reading<'_>, draft: &mut Draft, rule: &Node, retry: &Node) {
    use FailureKind::{Connect, ConnectTimeout, RefusedStream, Reset, TimedOut};
    let failures = [Connect, ConnectTimeout, RefusedStream, Reset, TimedOut];
    let mut listed = RetryOn::new()
        .methods(methods::named(rule.list(&["matches"]), &["method"]))
        .codes(Codes::default())
        .failures(failures.into_iter().collect::<Failures>());
    let codes = retry.get("codes");
    let mut statuses = Statuses::default();
    for code in codes.map_or(&[][..], Node::items) {
        let form = "a status from 400 to 599";
        let status = reading.told(Some(code), form, |it| {
            it.parse().ok().filter(|it| (400..600).contains(it))
        });
        statuses = status.known().map_or(statuses, |it| statuses.and(it));
    }
    match codes {
        Some(codes) => {
            listed = listed.statuses(statuses);
            draft.origin("retry_on", Origin::Line(codes.span));
        }
        None => draft.lose(
            "codes",
            "which statuses are repeated is left to the implementation",
            None,
        ),
    }
    draft.policy.retry_on = listed.into();
}

/// Of an `XBackendTrafficPolicy` that is about the backend, in this file or another.
fn budget<'a>(
    reading: &mut Reading<'a>,
    draft: &mut Draft,
    names: &[String],
    at: Span,
    resources: &Resources<'a>,
) {
    let is_about = |it: &Node, name: &str| {
        let targets = it.list(&["spec", "targetRefs"]);
        let mut targets = targets.iter().filter_map(|it| it.get("name")?.text());
        let is_policy = is_a(it, "XBackendTrafficPolicy", &[EXPERIMENTAL]);
        is_policy && targets.any(|target| is_same(name, target))
    };
    let file = reading.document.file;
    let about = |name: &String| {
        let mut attached = resources.attached(file, None, name);
        attached.find(|(_, it)| is_about(it, name))
    };
    let found = names.iter().find_map(about);
    let found =
        found.and_then(|(file, it)| Some((file, it.get("spec")?.entry("retryConstraint")?)));
    if let Some((file, (key, constraint))) = found {
        reading.in_file(file, draft, at, |reading, draft| {
            bounded(reading, draft, key, constraint);
        });
    }
}

/// By a `retryConstraint`.
fn bounded(reading: &mut Reading<'_>, draft: &mut Draft, key: &Key, constraint: &Node) {
    let percent = reading.number(constraint.at(&["budget", "percent"]), "a percentage");
    let interval = reading.gateway_duration(
        constraint.at(&["budget", "interval"]),
        "a duration such as 10s",
    );
    let count = reading.number(constraint.at(&["minRetryRate", "count"]), "a number");
    let each = reading.gateway_duration(
        constraint.at(&["minRetryRate", "interval"]),
        "a duration such as 1s",
    );
    let times = [Origin::unknown(&interval), Origin::unknown(&each)];
    let unknown = Origin::unknown(&percent).or_else(|| Origin::unknown(&count));
    let unknown = unknown.or_else(|| times.into_iter().flatten().next());
    let share = percent.known().unwrap_or(20.0).clamp(0.0, 100.0) / 100.0;
    let asked = interval.known().unwrap_or(Duration::from_secs(10));
    let ttl = asked.clamp(Duration::from_secs(1), Duration::from_secs(60));
    let each = each
        .known()
        .filter(|it| !it.is_zero())
        .unwrap_or(Duration::from_secs(1));
    let floor = count.known().unwrap_or(10.0) / each.as_secs_f64();
    if share == 0.0 && floor <= 0.0 {
        draft.policy.attempts = 1;
        draft.origin(
            "attempts",
            Origin::Derived(key.span, "a budget of nothing allows no retry".into()),
        );
        return;
    }
    draft.policy.budget = Budget::Window(
        Window::default()
            .share(share)
            .ttl(ttl)
            .floor_per_second(floor.clamp(0.0, 10_000.0)),
    );
    draft.origin("budget", unknown.unwrap_or(Origin::Line(key.span)));
    if ttl != asked {
        let why = "a window of a policy is at most a minute long";
        draft.lose("budget.interval", why, Some(key.span));
    }
}

fn names(spec: &Node, rule: &Node) -> Vec<String> {
    let backends = rule
        .list(&["backendRefs"])
        .iter()
        .filter_map(|it| it.get("name")?.text());
    let hosts = spec.list(&["hostnames"]).iter().filter_map(Node::text);
    let all = backends.chain(hosts).map(ToOwned::to_owned);
    all.take(NAMES).collect()
}
