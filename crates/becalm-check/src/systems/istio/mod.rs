//! What does Istio say about retrying, in a `VirtualService`, a `DestinationRule` and the configuration of the mesh?
//!
//! `pilot/pkg/networking/core/route/retry/retry.go`, `pilot/pkg/model/virtualservice.go` and `cluster_traffic_policy.go` of
//! istio/istio, and
//! `virtual_service.proto` and `destination_rule.proto` of istio/api, as of August 2026 (1.32 to come).
//! What is written there is Envoy's: its time-outs and its draws of delays.

mod files;
mod given;
mod handed;
mod patched;
mod retries;
mod rule;

use std::sync::LazyLock;

use becalm::preset::Preset;
use becalm::retry_on::Methods;
use becalm::{Budget, Policy};
use foldhash::HashSet;

use super::envoy::{KEYS, Words, timeouts};
use super::kubernetes::{REFUSES, check, check_names, is_of};
use super::methods;
use crate::code;
use crate::document::{Document, Node, Span, Value};
use crate::durations::istio_duration;
use crate::evidence::Evidence;
use crate::list::list;
use crate::mapping::{Draft, NAMES};
use crate::reading::Reading;
use crate::system::{Follows, Form, Refuses, Schema, System};
use crate::told::Told;
pub(super) use files::Files;
use given::{Given, Root};

pub(super) const ISTIO: System = System {
    name: "istio",
    title: "Istio",
    versions: &["1.31", "1.23"],
    evidence: Evidence::Read,
    form: Form::Tree,
    remedies: REMEDIES,
    fewer: Some("lower `attempts`"),
    elsewhere: &["no-budget"],
    follows: Follows::Attempts,
    schema: Schema {
        refuses: Some(Refuses {
            // What a patch has is of no schema.
            place: |path| {
                (REFUSES.place)(path)
                    && !path.starts_with(&["spec", "configPatches", "patch", "value"])
            },
            ..REFUSES
        }),
        homes: &[
            (
                "retries",
                "move it beside `route`, into the item of `spec.http`",
            ),
            ("attempts", IN_RETRIES),
            ("retryOn", IN_RETRIES),
            ("perTryTimeout", IN_RETRIES),
            (
                "retry_policy",
                "move it into `route` of a patch of HTTP_ROUTE, or into a patch of VIRTUAL_HOST",
            ),
        ],
        own: &[
            ("http", "maxRetries"),
            // Of a patch of a virtual host.
            ("value", "include_request_attempt_count"),
            ("value", "include_attempt_count_in_response"),
            ("value", "include_is_timeout_retry_header"),
        ],
        tables: &["retries"],
        kinds: &[
            "virtualservices.networking.istio.io",
            "destinationrules.networking.istio.io",
            "envoyfilters.networking.istio.io",
        ],
        ..Schema::OPEN
    },
};

const IN_RETRIES: &str = "write it in `retries` of an item of `spec.http`";

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
    ("long-waits", "lower `backoff`"),
    (
        "large-budget",
        "lower `percent` of `trafficPolicy.retryBudget`, or `maxRetries` of the connection pool",
    ),
    (
        "budget-never-grants",
        "raise `percent` or `minRetryConcurrency` of `trafficPolicy.retryBudget`, or `maxRetries` of the connection pool",
    ),
    (
        "budget-runs-out",
        "raise `percent` or `minRetryConcurrency` of `trafficPolicy.retryBudget`, or `maxRetries` of the connection pool",
    ),
];

pub(super) fn recognises(document: &Document<'_>) -> bool {
    is_of(document, GROUP) || document.tree.and_then(given::of_mesh).is_some()
}

/// What the mesh has for all routes: their time-outs are said in each route.
const OF_MESH: System = System {
    elsewhere: &["no-budget", "no-deadline", "no-total-time"],
    ..ISTIO
};

const GROUP: &str = "networking.istio.io";

/// `message HTTPRetry`.
const RETRIES: &[&str] = list!(
    "attempts:number perTryTimeout:time retryOn:text retryRemoteLocalities:flag retryIgnorePreviousHosts:flag backoff:time"
);

/// `message HTTPRoute`.
const ROUTE: &[&str] = list!(
    "name match route redirect directResponse delegate rewrite timeout:time retries fault mirror \
     mirrors mirrorPercent mirror_percent mirrorPercentage corsPolicy headers"
);

/// `defaultRetryOn`, with 503 up to 1.23 (istio/istio#50506).
const RETRY_ON: &str =
    "connect-failure,refused-stream,unavailable,cancelled,retriable-status-codes";

static DEFAULT: LazyLock<Words> = LazyLock::new(|| Words::read(RETRY_ON));

pub(super) fn read<'a>(reading: &mut Reading<'a>, files: &'a Files<'a>) {
    // What the schemas of the resources or Istio's validation do not take, the API server refuses.
    reading.misread = code::REFUSED;
    let document = reading.document;
    let Some(tree) = document.tree else {
        return;
    };
    if let Some((key, policy)) = given::of_mesh(tree) {
        check_names(reading, Some(policy), "`defaultHttpRetryPolicy`", RETRIES);
        let name = "routes without `retries`".to_owned();
        let route = nothing(key.span);
        let unbounded = |_: &mut Reading<'a>, draft: &mut Draft, _: Span| {
            draft.policy.budget = Budget::None;
        };
        let own = std::mem::replace(&mut reading.system, &OF_MESH);
        of_route(reading, &route, None, files, name, Vec::new(), unbounded);
        reading.system = own;
    }
    let Some(spec) = tree.get("spec") else {
        return;
    };
    match document.at(&["kind"]).and_then(Node::text) {
        Some("EnvoyFilter") => patched::read(reading, spec),
        Some("DestinationRule") => rule::alone(reading, spec, files),
        Some("VirtualService") => service(reading, spec, files),
        _ => {}
    }
}

fn service<'a>(reading: &mut Reading<'a>, spec: &Node, files: &'a Files<'a>) {
    if handed::overridden(reading, spec, files) {
        return;
    }
    let is_delegate = spec.list(&["hosts"]).is_empty();
    let roots = if is_delegate {
        handed::roots(reading, files)
    } else {
        Vec::new()
    };
    for route in spec.list(&["http"]) {
        check(reading, Some(route), "an HTTPRoute", ROUTE);
        check(reading, route.get("retries"), "`retries`", RETRIES);
        handed::to_unseen(reading, route, files);
        if route.list(&["route"]).is_empty() {
            handed::to_nothing(reading, route);
            continue;
        }
        let of_roots = roots.iter().map(Some);
        let roots = of_roots.chain(roots.is_empty().then_some(None));
        for root in roots {
            let hosts = root.map_or(&[][..], |it| &it.hosts);
            let root = root.map(|it| &it.root);
            let names = names(route, spec, hosts);
            let name = format!("route to {}", names.first().map_or("?", |it| &**it));
            let host = names.first().cloned();
            let bounded = |reading: &mut Reading<'a>, draft: &mut Draft, at: Span| {
                rule::budget(reading, draft, route, host.as_deref(), files, at);
            };
            of_route(reading, route, root, files, name, names, bounded);
        }
    }
}

/// A route that says nothing.
const fn nothing(span: Span) -> Node {
    Node {
        span,
        value: Value::Table(Vec::new()),
    }
}

fn preset() -> Policy {
    Preset::by_name("istio").map_or_else(|_| Policy::default(), Preset::policy)
}

/// Maps the retries of a route: its own, or else those of the root that delegates to it, or else those of the mesh.
fn of_route<'a>(
    reading: &mut Reading<'a>,
    route: &Node,
    root: Option<&Root<'a>>,
    files: &'a Files<'a>,
    name: String,
    names: Vec<String>,
    bounded: impl FnOnce(&mut Reading<'a>, &mut Draft, Span),
) {
    let mut draft = Draft::of(preset(), KEYS);
    let own = reading.document.file;
    let given = |name| Given::of(own, route, name).or_else(|| root?.given(name));
    let of_route = given("retries").filter(|it| it.node.is_table());
    let here = of_route.filter(|it| it.file == own);
    let span = here.map_or(route.span, |it| it.key.span);
    let mesh = files.mesh(reading.document.file);
    let retries = of_route.or(mesh);
    let mut words = DEFAULT.clone();
    if reading.version == "1.23" {
        words.and_statuses([503]);
    }
    if retries.is_none() {
        let sentence = "Istio retries twice though nothing is written";
        let remedy = "`retries: {attempts: 0}` beside `route` turns it off";
        reading.find(span, code::REPEATS_BY_DEFAULT, sentence, remedy);
    }
    if let Some(it) = retries {
        draft.elsewhere = (it.file != own).then(|| (it.file.to_owned(), it.key.span));
        reading.in_file(it.file, &mut draft, span, |reading, draft| {
            retries::attempts(reading, draft, it.key, it.node);
            if let Some(told) = retries::retry_on(reading, draft, it.node) {
                words = told;
            }
            retries::back_off(reading, draft, it.node);
        });
    }
    times(reading, &mut draft, given("timeout"), retries, span);
    for (word, why) in &words.lost {
        draft.lose(*word, *why, None);
    }
    let methods = limited(&mut draft, route, root);
    if draft.policy.attempts > 1 && !words.repeats_anything() {
        let sentence = "`retryOn` names nothing that Envoy repeats, so that nothing is repeated";
        reading.find(span, code::NEVER_RETRIES, sentence, "");
        draft.policy.attempts = 1;
    }
    draft.policy.retry_on = words.retry_on(methods).into();
    bounded(reading, &mut draft, span);
    let of_mesh = of_route.and(mesh);
    lose(&mut draft, retries, of_mesh);
    reading.map(draft, name, names, span);
}

/// By its own matches, or else by those of its root, which a delegate's can only narrow.
fn limited(draft: &mut Draft, route: &Node, root: Option<&Root<'_>>) -> Methods {
    let of_root = root.map_or(&[][..], |it| it.route.list(&["match"]));
    match methods::matched(route.list(&["match"])) {
        Ok(Methods::Any) => methods::matched(of_root).unwrap_or_else(|_| {
            draft.lose("method", methods::NOT_READ, None);
            Methods::Any
        }),
        Ok(methods) => methods,
        Err(span) => {
            draft.lose("method", methods::NOT_READ, Some(span));
            Methods::Any
        }
    }
}

/// What a field of time takes.
const TIME: &str = "a duration of at least 1ms, such as 1s";

fn times<'a>(
    reading: &mut Reading<'a>,
    draft: &mut Draft,
    timeout: Option<Given<'a, '_>>,
    retries: Option<Given<'a, '_>>,
    at: Span,
) {
    let form = TIME;
    let mut whole = None;
    if let Some(it) = timeout {
        reading.in_file(it.file, draft, at, |reading, draft| {
            let told = reading.told(Some(it.node), form, istio_duration);
            whole = timeouts::of_request(reading, draft, told, &Told::Absent, false);
        });
    }
    if let Some(it) = retries {
        reading.in_file(it.file, draft, at, |reading, draft| {
            let each = reading.told(it.node.get("perTryTimeout"), form, istio_duration);
            timeouts::of_attempt(reading, draft, "perTryTimeout", each, whole);
        });
    }
}

fn lose(draft: &mut Draft, retries: Option<Given<'_, '_>>, of_mesh: Option<Given<'_, '_>>) {
    let entry = |name| retries.and_then(|it| it.node.entry(name));
    let previous = entry("retryIgnorePreviousHosts");
    if previous.and_then(|(_, it)| it.text()) != Some("false") {
        let span = previous.map(|(_, it)| it.span);
        let why = "retries go to other hosts";
        draft.lose("retryIgnorePreviousHosts", why, span);
    }
    if let Some((key, _)) = entry("retryRemoteLocalities") {
        let why = "retries go to other localities";
        draft.lose("retryRemoteLocalities", why, Some(key.span));
    }
    let why = "the sidecar of the service repeats what was reset before it was read, twice";
    draft.lose("inbound retries", why, None);
    if let Some(mesh) = of_mesh {
        let why = format!(
            "the route's own `retries` stand in place of those of the mesh as a whole (line {} of {})",
            mesh.key.span.line, mesh.file
        );
        draft.lose("defaultHttpRetryPolicy", why, None);
    }
    if retries.is_none() {
        let why = "the mesh's own configuration overrides the default";
        draft.lose("defaultHttpRetryPolicy", why, None);
    }
}

fn names(route: &Node, spec: &Node, of_roots: &[&str]) -> Vec<String> {
    let destinations = route.list(&["route"]).iter();
    let destinations = destinations.filter_map(|it| it.at(&["destination", "host"]));
    let all = destinations
        .chain(spec.list(&["hosts"]))
        .filter_map(Node::text)
        .chain(of_roots.iter().copied());
    let mut seen = HashSet::default();
    let all = all.filter(|it| *it != "*" && seen.insert(*it));
    all.take(NAMES).map(ToOwned::to_owned).collect()
}
