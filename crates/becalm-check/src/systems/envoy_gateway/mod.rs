//! What does a `BackendTrafficPolicy` of Envoy Gateway say about retrying?
//!
//! `api/v1alpha1` (`retry_types.go`, `circuitbreaker_types.go`, `timeout_types.go`) and
//! `internal/xds/translator` (`buildRetryPolicy`, `buildXdsClusterCircuitBreaker`) of
//! envoyproxy/gateway 1.9.0. What they make is Envoy's.

mod attached;

use std::time::Duration;

use becalm::preset::Preset;
use becalm::retry_on::Methods;
use becalm::{Budget, Policy};

use super::envoy::{KEYS, Words, at_most, base_alone, share_of, timeouts};
use super::kubernetes::{REFUSES, check, check_types, is_of};
use super::resources::Resources;
use crate::code;
use crate::document::{Document, Node, Span};
use crate::evidence::Evidence;
use crate::list::list;
use crate::mapping::{Draft, Origin};
use crate::reading::Reading;
use crate::room::Connecting;
use crate::system::{Follows, Form, Schema, System};
use crate::template::is_placeholder;
use crate::told::Told;

pub(super) const ENVOY_GATEWAY: System = System {
    name: "envoy-gateway",
    title: "Envoy Gateway",
    versions: &["1.9"],
    evidence: Evidence::Read,
    form: Form::Tree,
    remedies: REMEDIES,
    fewer: Some("lower `numRetries`"),
    elsewhere: &[],
    follows: Follows::Attempts,
    schema: Schema {
        refuses: Some(REFUSES),
        homes: &[
            ("retry", "move it into `spec`"),
            ("numRetries", "move it into `spec.retry`"),
        ],
        own: &[("circuitBreaker", "maxParallelRetries")],
        tables: list!("retry retryOn perRetry backOff retryBudget"),
        kinds: &["backendtrafficpolicies.gateway.envoyproxy.io"],
        ..Schema::OPEN
    },
};

/// What helps against a lint, by its code.
const REMEDIES: &[(&str, &str)] = &[
    (
        "concurrency-alone",
        "set `numRetries: 1`, and a budget where the clients are: Envoy has none that looks at traffic",
    ),
    (
        "hints-ignored",
        "lower `numRetries`: Envoy Gateway heeds no Retry-After",
    ),
    (
        "attempt-timeout-fills-deadline",
        "lower `perRetry.timeout` or `numRetries`, or raise `timeout.http.requestTimeout`",
    ),
    (
        "repeats-non-idempotent",
        "match POST and PATCH in a route of their own with a policy whose triggers are connect-failure and refused-stream",
    ),
    (
        "repeats-what-may-be-done",
        "set the triggers connect-failure, refused-stream, unavailable and retriable-status-codes, with the status 503",
    ),
    ("long-waits", "set a lower `backOff.maxInterval`"),
    (
        "waits-exceed-deadline",
        "lower `numRetries` or `backOff.baseInterval`, or raise `timeout.http.requestTimeout`",
    ),
    (
        "large-budget",
        "lower `percent` of `circuitBreaker.retryBudget`, or `maxParallelRetries`",
    ),
    (
        "budget-never-grants",
        "raise `percent` or `minRetryConcurrency` of `circuitBreaker.retryBudget`, or `maxParallelRetries`",
    ),
    (
        "budget-runs-out",
        "raise `percent` or `minRetryConcurrency` of `circuitBreaker.retryBudget`, or `maxParallelRetries`",
    ),
];

const GROUP: &str = "gateway.envoyproxy.io";

pub(super) fn recognises(document: &Document<'_>) -> bool {
    is_of(document, GROUP)
}

const RETRY: &[&str] = list!("numRetries:number numAttemptsPerPriority:number retryOn perRetry");
const RETRY_ON: &[&str] = &["triggers", "httpStatusCodes:number"];
const PER_RETRY: &[&str] = &["timeout:time", "backOff"];
const BACK_OFF: &[&str] = &["baseInterval:time", "maxInterval:time"];
const CIRCUIT_BREAKER: &[&str] = list!(
    "maxConnections:number maxPendingRequests:number maxParallelRequests:number \
     maxParallelRetries:number maxRequestsPerConnection:number perEndpoint retryBudget"
);
const FRACTION: &[&str] = &["numerator:number", "denominator:number"];
const RETRY_BUDGET: &[&str] = &["percent", "minRetryConcurrency:number"];

/// `retryDefaultRetryOn`, `retryDefaultRetriableStatusCode`, `retryDefaultNumRetries`.
const TRIGGERS: &str =
    "connect-failure,refused-stream,unavailable,cancelled,retriable-status-codes";
/// Words of Envoy that are none of `TriggerEnum`.
const UNKNOWN_TRIGGERS: [&str; 3] = [
    "retriable-headers",
    "envoy-ratelimited",
    "http3-post-connect-failure",
];
const STATUS: u16 = 503;
const RETRIES: u32 = 2;

/// Retries at once where nothing is said: "to handle surges in retries related to pod restarts".
const AT_ONCE: u32 = 1024;

pub(super) fn read(reading: &mut Reading<'_>, resources: &Resources<'_>) {
    let document = reading.document;
    let Some(spec) = document.at(&["spec"]) else {
        return;
    };
    if !document.says(&["kind"], "BackendTrafficPolicy") {
        of_own_calls(reading, spec);
        return;
    }
    let breaker = spec.get("circuitBreaker");
    check(reading, breaker, "`circuitBreaker`", CIRCUIT_BREAKER);
    let budget = breaker.and_then(|it| it.get("retryBudget"));
    check(reading, budget, "`retryBudget`", RETRY_BUDGET);
    let Some((key, retry)) = spec.entry("retry") else {
        return;
    };
    check(reading, Some(retry), "`retry`", RETRY);
    check(reading, retry.get("retryOn"), "`retryOn`", RETRY_ON);
    let per_retry = retry.get("perRetry");
    check(reading, per_retry, "`perRetry`", PER_RETRY);
    let back_off = per_retry.and_then(|it| it.get("backOff"));
    check(reading, back_off, "`backOff`", BACK_OFF);
    if attached::overridden(reading, key.span, resources) {
        return;
    }

    let policy = Preset::by_name("envoy").map_or_else(|_| Policy::default(), Preset::policy);
    let policy = policy.attempts(RETRIES + 1).deadline(timeouts::TIMEOUT);
    let mut draft = Draft::of(policy.budget(Budget::concurrency(0.0, AT_ONCE)), KEYS);
    let retries = reading.whole(retry.get("numRetries"), "a number of retries");
    draft.told_retries(retries);
    let of_route = attached::timeout(reading, resources);
    times(reading, &mut draft, spec, per_retry, (key.span, of_route));
    if let Some(back_off) = back_off {
        self::back_off(reading, &mut draft, back_off);
    }
    if !retry_on(reading, &mut draft, retry.get("retryOn")) && draft.policy.attempts > 1 {
        let sentence = "`retryOn` names nothing that Envoy repeats, so that nothing is repeated";
        reading.find(key.span, code::NEVER_RETRIES, sentence, "");
        draft.policy.attempts = 1;
    }
    self::budget(reading, &mut draft, breaker);
    to_connect(reading, &draft, spec, key.span);
    lose(&mut draft, spec, retry);
    let names = targets(spec);
    let name = match &names[..] {
        [] => "backend traffic".to_owned(),
        names => format!("traffic of {}", names.join(", ")),
    };
    reading.map(draft, name, names, key.span);
}

/// `ClusterSettings` of other kinds, such as a `SecurityPolicy`: calls that the proxy makes for itself.
fn of_own_calls(reading: &mut Reading<'_>, spec: &Node) {
    for settings in spec.walk().filter_map(|it| it.get("backendSettings")) {
        if let Some((key, _)) = settings.entry("retry") {
            let sentence =
                "`retry` of `backendSettings`: what the proxy repeats of its own calls is not read";
            let remedy = "look at it by hand; `becalm check` says nothing about it";
            reading.find(key.span, code::RETRIES_NOT_READ, sentence, remedy);
        }
    }
}

/// `tcpClusterTimeout`, or else 10 s (`internal/xds/translator/cluster.go`).
fn to_connect(reading: &mut Reading<'_>, draft: &Draft, spec: &Node, at: Span) {
    let node = spec.at(&["timeout", "tcp", "connectTimeout"]);
    let connecting = Connecting {
        name: "connectTimeout",
        time: reading.gateway_duration(node, "a duration such as 1s"),
        default: Duration::from_secs(10),
        remedy: "lower `connectTimeout` or `numRetries`, or raise `timeout.http.requestTimeout`",
    };
    reading.room_to_connect(draft, &connecting, at);
}

/// The time-outs; of the route, at this place, before those of the policy.
fn times(
    reading: &mut Reading<'_>,
    draft: &mut Draft,
    spec: &Node,
    per_retry: Option<&Node>,
    (at, of_route): (Span, attached::Timeout),
) {
    let form = "a duration such as 10s";
    let http = spec.at(&["timeout", "http"]);
    let mut read = |node: Option<&Node>| reading.gateway_duration(node, form);
    let own = read(http.and_then(|it| it.get("requestTimeout")));
    let timeout = match &of_route {
        Some(Ok((time, _))) => Told::Is(*time, at),
        _ => own,
    };
    let stream = read(http.and_then(|it| it.get("maxStreamDuration")));
    let each = read(per_retry.and_then(|it| it.get("timeout")));
    let is_by_stream = stream != Told::Absent;
    let whole = timeouts::of_request(reading, draft, timeout, &stream, is_by_stream);
    timeouts::of_attempt(reading, draft, "perRetry.timeout", each, whole);
    match of_route {
        Some(Ok((_, how))) if !is_by_stream => {
            draft.origin("deadline", Origin::Derived(at, how));
        }
        Some(Err(why)) => draft.lose("requestTimeout", why, None),
        _ => {}
    }
}

fn back_off(reading: &mut Reading<'_>, draft: &mut Draft, back_off: &Node) {
    let form = "a duration such as 100ms";
    let base = reading.gateway_duration(back_off.get("baseInterval"), form);
    let cap = reading.gateway_duration(back_off.get("maxInterval"), form);
    let refusal = match (&base, &cap) {
        (Told::Is(base, _), _) if base.is_zero() => Some("a baseInterval of 0"),
        (_, Told::Is(cap, _)) if cap.is_zero() => Some("a maxInterval of 0"),
        (Told::Is(base, _), Told::Is(cap, _)) if cap < base => {
            Some("a maxInterval below the baseInterval")
        }
        (Told::Absent, Told::Is(..)) => Some("a maxInterval without a baseInterval"),
        _ => None,
    };
    if let Some(refusal) = refusal {
        let sentence = format!("{} refuses the policy for {refusal}", reading.who());
        let remedy = "set a base above 0, and a maximum at or above it, or none";
        reading.find(back_off.span, code::REFUSED, sentence, remedy);
        return;
    }
    base_alone(draft, &base, "baseInterval");
    draft.set("cap", cap, |policy, it| policy.cap = it);
}

/// Triggers that are listed replace the default's; so do statuses, and triggers without statuses leave none. Whether anything
/// is repeated.
fn retry_on(reading: &mut Reading<'_>, draft: &mut Draft, given: Option<&Node>) -> bool {
    let triggers = given.map_or(&[][..], |it| it.list(&["triggers"]));
    let statuses = given.map_or(&[][..], |it| it.list(&["httpStatusCodes"]));
    let (mut known, mut is_known) = (Vec::new(), true);
    for node in triggers {
        let told = reading.told(Some(node), "a trigger such as connect-failure", |it| {
            (!is_placeholder(it)).then(|| it.to_owned())
        });
        let Some(word) = told.known() else {
            is_known = false;
            continue;
        };
        let is_envoys_alone = UNKNOWN_TRIGGERS.contains(&&*word);
        if is_envoys_alone || !Words::read(&word).unknown.is_empty() {
            let remedy = if is_envoys_alone {
                "leave it out: it is a word of Envoy alone".to_owned()
            } else {
                Words::meant(&word)
            };
            let sentence = format!(
                "{} has no trigger `{word}`, and refuses the policy",
                reading.who()
            );
            reading.find(node.span, code::REFUSED, sentence, remedy);
            is_known = false;
        }
        known.push(word);
    }
    let text = if triggers.is_empty() {
        TRIGGERS.to_owned()
    } else {
        known.join(",")
    };
    let mut words = Words::read(&text);
    if is_known && !words.reads_statuses && !statuses.is_empty() {
        let sentence =
            "`httpStatusCodes` is not read without `retriable-status-codes` among the triggers";
        let remedy = "add the trigger, or leave out the list";
        reading.find(statuses[0].span, code::KEY_NOT_READ, sentence, remedy);
    }
    let is_status = |it: &u16| (100..600).contains(it);
    let mut listed = Vec::new();
    for node in statuses {
        let told = reading.told(Some(node), "a status from 100 to 599", |it| {
            it.parse().ok().filter(is_status)
        });
        is_known &= matches!(told, Told::Is(..));
        listed.extend(told.known());
    }
    if triggers.is_empty() && statuses.is_empty() {
        words.and_statuses([STATUS]);
    } else if words.reads_statuses {
        words.and_statuses(listed);
    }
    for (word, why) in &words.lost {
        draft.lose(*word, *why, given.map(|it| it.span));
    }
    let repeats_anything = words.repeats_anything() || !is_known;
    draft.policy.retry_on = words.retry_on(Methods::Any).into();
    if let Some(given) = given {
        draft.origin("retry_on", Origin::Line(given.span));
    }
    repeats_anything
}

fn budget(reading: &mut Reading<'_>, draft: &mut Draft, breaker: Option<&Node>) {
    let entry = |name| breaker.and_then(|it| it.entry(name));
    if let Some((key, budget)) = entry("retryBudget") {
        check_types(reading, budget.get("percent"), FRACTION);
        let percent = percent(reading, budget.get("percent"));
        let floor = reading.whole(budget.get("minRetryConcurrency"), "a number of retries");
        share_of(reading, draft, (percent, 0.0), (floor, 3), key.span);
        return;
    }
    let most = entry("maxParallelRetries").map(|(_, it)| it);
    match reading.whole(most, "a number of retries") {
        Told::Is(most, span) => at_most(reading, draft, most, span),
        told => draft.set("budget", told, |_, _| {}),
    }
}

/// A fraction of a denominator, which is 100 by default.
fn percent(reading: &mut Reading<'_>, fraction: Option<&Node>) -> Told<f64> {
    let part = |name| fraction.and_then(|it| it.get(name));
    let denominator = reading.number(part("denominator"), "a number above 0");
    let numerator = reading.number(part("numerator"), "a number");
    let denominator = denominator.known().filter(|it| *it > 0.0).unwrap_or(100.0);
    numerator.map(|it| (it * 100.0 / denominator).clamp(0.0, 100.0))
}

fn lose(draft: &mut Draft, spec: &Node, retry: &Node) {
    draft.lose("previous hosts", "retries go to other hosts", None);
    if let Some((key, _)) = retry.entry("numAttemptsPerPriority") {
        let why = "after so many attempts a request goes to endpoints of another priority";
        draft.lose("numAttemptsPerPriority", why, Some(key.span));
    }
    let passive = spec.get("healthCheck").and_then(|it| it.entry("passive"));
    if let Some((key, _)) = passive {
        let why = "a breaker for each host";
        draft.lose("healthCheck.passive", why, Some(key.span));
    }
}

fn targets(spec: &Node) -> Vec<String> {
    let one = spec.get("targetRef").into_iter();
    let all = one
        .chain(spec.list(&["targetRefs"]))
        .filter_map(|it| it.get("name")?.text());
    all.map(ToOwned::to_owned).collect()
}
