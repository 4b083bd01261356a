//! What does Envoy repeat of the requests and connections that its filters make?
//!
//! Wherever Envoy's API has a `config.core.v3.RetryPolicy`, and connections of the filter `tcp_proxy`.
//! `convertCoreToRouteRetryPolicy` of `source/common/http/utility.cc` makes it that of a route: an attempt ends after the longest
//! wait, and filters that fetch something say what is repeated. Counted with 1.40.0: `ext_authz` over HTTP and gRPC, `remote_jwks`,
//! `tcp_proxy`.

use std::time::Duration;

use becalm::hint::HintMode;
use becalm::retry_on::Methods;
use becalm::{Budget, Jitter, Policy};

use super::super::methods::connecting;
use super::cluster;
use super::fields::{self, CORE_RETRY_POLICY, at, entry, field};
use super::files::Clusters;
use super::numbers::whole;
use super::retry_policy::{KEYS, back_off, policy, retry_on};
use super::timeouts::CONNECT_TIMEOUT;
use super::words::Words;
use crate::code;
use crate::document::{Key, Node, Span};
use crate::mapping::{Draft, Origin};
use crate::reading::Reading;
use crate::told::Told;

/// What filters that fetch something repeat, whatever `retry_on` says.
const FETCHED: &str = "5xx,gateway-error,connect-failure,reset";

/// What has a retry policy for its own requests.
#[derive(Debug, Clone, Copy)]
struct Filter {
    title: &'static str,
    /// Where the cluster and the time-out of the requests stand, and the name of the cluster's field.
    to: &'static [&'static str],
    cluster: &'static str,
    /// `None` where the file says it.
    repeats: Option<&'static str>,
    /// Whether a request changes something where it is done twice.
    has_effects: bool,
}

/// By a field beside the policy, or by the key that its mapping has.
const FILTERS: [(&str, Filter); 5] = [
    ("server_uri", filter("ext_authz", &["server_uri"], None)),
    (
        "token_endpoint",
        Filter {
            has_effects: true,
            ..filter("oauth2", &["token_endpoint"], Some(FETCHED))
        },
    ),
    (
        "remote_jwks",
        filter("remote_jwks", &["http_uri"], Some(FETCHED)),
    ),
    (
        "envoy_grpc",
        Filter {
            cluster: "cluster_name",
            ..filter("gRPC service", &["envoy_grpc"], None)
        },
    ),
    (
        "GcpAuthnFilterConfig",
        filter("gcp_authn", &["http_uri"], Some(FETCHED)),
    ),
];

const fn filter(
    title: &'static str,
    to: &'static [&'static str],
    repeats: Option<&'static str>,
) -> Filter {
    Filter {
        title,
        to,
        cluster: "cluster",
        repeats,
        has_effects: false,
    }
}

/// Reads all of them in a tree.
pub fn read<'a>(reading: &mut Reading<'a>, clusters: Clusters<'a>, tree: &Node) {
    within(reading, clusters, tree, "");
}

fn within<'a>(reading: &mut Reading<'a>, clusters: Clusters<'a>, node: &Node, parent: &str) {
    for item in node.items() {
        within(reading, clusters, item, parent);
    }
    let url = node.get("@type").and_then(Node::text).unwrap_or_default();
    if let Some((key, retry)) = entry_unasked(node, "retry_policy") {
        let is_it = |(mark, _): &&(&str, Filter)| {
            *mark == parent || url.ends_with(mark) || entry_unasked(node, mark).is_some()
        };
        match FILTERS.iter().find(is_it) {
            _ if parent == "envoy_grpc" => only(
                reading,
                key,
                "the waits of it alone are read, of streams to a control plane",
            ),
            Some((_, filter)) => of_filter(reading, clusters, *filter, (node, key, retry)),
            None if url.contains("generic_proxy") => only(
                reading,
                key,
                "`num_retries` alone is read, and is the number of attempts",
            ),
            None if url.contains("fluentd") || entry_unasked(node, "sha256").is_some() => {
                only(
                    reading,
                    key,
                    "connections and fetches of Envoy's own are made again",
                );
            }
            None if entry_unasked(node, "google_grpc").is_some() => {
                let sentence = "the `retry_policy` beside `google_grpc` is not read: that of `envoy_grpc` alone is";
                reading.find(
                    key.span,
                    code::KEY_NOT_READ,
                    sentence,
                    "use `envoy_grpc`, or leave it out",
                );
                key.asked.set(true);
            }
            None => {}
        }
    }
    if let Some((key, _)) = entry_unasked(node, "grpc_stream_retry_policy") {
        only(
            reading,
            key,
            "`num_retries` alone is read, of streams that were never made",
        );
    }
    if let Some((key, _)) = entry_unasked(node, "retry_options") {
        only(
            reading,
            key,
            "connections of Envoy's own are made again, so often at most",
        );
    }
    if url.ends_with("tcp_proxy.v3.TcpProxy") {
        of_connections(reading, clusters, node);
    }
    for (key, value) in node.entries() {
        within(reading, clusters, value, &key.name);
    }
}

/// As [`entry`], and nothing is taken for read.
fn entry_unasked<'n>(node: &'n Node, name: &str) -> Option<(&'n Key, &'n Node)> {
    let found = node
        .entries()
        .iter()
        .rfind(|(key, _)| fields::is(key, name));
    found
        .map(|(key, node)| (key, node))
        .filter(|(_, node)| !node.is_null())
}

/// A policy that is read in small parts alone.
fn only(reading: &mut Reading<'_>, key: &Key, what: &str) {
    key.asked.set(true);
    let sentence = format!("of this `{}` {what}; no policy is made of it", key.name);
    reading.find(key.span, code::NOT_KNOWN, sentence, "");
}

/// What helps against a danger of a filter's retries, in Envoy's words.
const REMEDIES: &[(&str, &str)] = &[
    ("no-deadline", "set `timeout` of the request"),
    ("no-total-time", "set `timeout` of the request"),
    (
        "attempt-timeout-fills-deadline",
        "lower `max_interval`, after which an attempt ends, or `num_retries`, or raise `timeout`",
    ),
    (
        "waits-exceed-deadline",
        "lower `base_interval` or `num_retries`, or raise `timeout`",
    ),
    (
        "hints-ignored",
        "lower `num_retries`: such a policy heeds no Retry-After",
    ),
    (
        "repeats-non-idempotent",
        "leave `retry_policy` out where the server does not take a request twice",
    ),
    (
        "repeats-what-may-be-done",
        "leave `retry_policy` out where the server does not take a request twice",
    ),
];

fn of_filter<'a>(
    reading: &mut Reading<'a>,
    clusters: Clusters<'a>,
    filter: Filter,
    (node, key, retry): (&Node, &Key, &Node),
) {
    key.asked.set(true);
    fields::check(reading, retry, &CORE_RETRY_POLICY);
    let policy = policy()
        .base(Duration::from_secs(1))
        .cap(Duration::from_secs(10))
        .attempts(2);
    let mut draft = Draft::of(policy, KEYS);
    let retries = whole(reading, field(retry, "num_retries"), "a number of retries");
    draft.told_retries(retries);
    back_off(reading, &mut draft, retry);
    draft.policy.attempt_timeout = Some(draft.policy.cap);
    let how = "an attempt ends after the longest wait".to_owned();
    let cap = draft
        .origins
        .iter()
        .find(|(it, _)| *it == "cap")
        .map(|(_, it)| it.clone());
    if let Some(Origin::Line(span) | Origin::Derived(span, _)) = cap {
        draft.origin("attempt_timeout", Origin::Derived(span, how));
    }
    let to = at(node, filter.to);
    let whole = to
        .and_then(|it| field(it, "timeout"))
        .or_else(|| field(node, "timeout"));
    let whole = reading.proto_duration(whole, "a duration such as 1s");
    draft.deadline(whole);
    let methods = if filter.has_effects {
        Methods::Any
    } else {
        Methods::of(["GET"])
    };
    if !filter.has_effects {
        let why = "what is asked for again has no effect of its own, and counts as a GET here";
        draft.lose("methods", why, None);
    }
    match filter.repeats {
        Some(words) => {
            draft.policy.retry_on = Words::read(words).retry_on(methods).into();
            if let Some((key, _)) = entry(retry, "retry_on") {
                let sentence = format!(
                    "{} does not read `retry_on`: it repeats {words}",
                    filter.title
                );
                reading.find(key.span, code::KEY_NOT_READ, sentence, "leave it out");
            }
        }
        None if !retry_on(reading, &mut draft, key, retry, Some(methods)) => return,
        None => {}
    }
    let name = to
        .and_then(|it| field(it, filter.cluster))
        .and_then(Node::text);
    let found = name.and_then(|it| clusters.get(it));
    let (file, cluster) =
        found.map_or((reading.document.file, None), |(file, it)| (file, Some(it)));
    reading.in_file(file, &mut draft, key.span, |reading, draft| {
        cluster::budget(reading, draft, cluster, "DEFAULT");
    });
    let name = name.unwrap_or("?");
    let title = format!("{} to {name}", filter.title);
    // What helps here is no setting of a route.
    draft.remedies = REMEDIES;
    reading.map(draft, title, vec![name.to_owned()], key.span);
}

/// Connections of `tcp_proxy`, which are made again at once where no `backoff_options` are set.
fn of_connections<'a>(reading: &mut Reading<'a>, clusters: Clusters<'a>, node: &Node) {
    let Some((key, most)) = entry(node, "max_connect_attempts") else {
        return;
    };
    let told = whole(reading, Some(most), "a number of attempts");
    if matches!(told, Told::Is(0, _)) {
        let sentence = format!("{} refuses 0 `max_connect_attempts`", reading.who());
        reading.find(
            key.span,
            code::REFUSED,
            sentence,
            "write 1, or leave it out",
        );
        return;
    }
    let policy = Policy::fixed(Duration::ZERO)
        .jitter(Jitter::None)
        .attempts(1);
    let policy = policy.hint(HintMode::Ignore).budget(Budget::None);
    let mut draft = Draft::of(
        policy,
        &["attempts", "base", "jitter", "attempt_timeout", "retry_on"],
    );
    draft.set("attempts", told, |policy, it| policy.attempts = it);
    waits(reading, &mut draft, node);
    draft.policy.retry_on = connecting().into();
    let name = field(node, "cluster").and_then(Node::text);
    let found = name.and_then(|it| clusters.get(it));
    draft.policy.attempt_timeout = Some(CONNECT_TIMEOUT);
    if let Some((file, cluster)) = found {
        reading.in_file(file, &mut draft, key.span, |reading, draft| {
            let time = field(cluster, "connect_timeout");
            draft.attempt_timeout(reading.proto_duration(time, "a duration such as 1s"));
        });
    } else {
        let sentence = "the cluster is in none of the files, so that its `connect_timeout` is not known; Envoy's default of 5 s stands in";
        let remedy = "name the file of its clusters as well";
        reading.find(key.span, code::NOT_SEEN, sentence, remedy);
    }
    draft.lose(
        "tcp_proxy",
        "a connection that was made is not made again",
        None,
    );
    if draft.policy.attempts <= 1 {
        return;
    }
    let name = name.unwrap_or("?");
    draft.remedies = OF_CONNECTIONS;
    let title = format!("connections to {name}");
    reading.map(draft, title, vec![name.to_owned()], key.span);
}

/// What helps against a lint of a `tcp_proxy`, by its code.
const OF_CONNECTIONS: &[(&str, &str)] = &[
    ("no-budget", FEWER),
    ("no-deadline", SHORTER),
    ("no-total-time", SHORTER),
    ("retries-at-once", "set `backoff_options`"),
    ("hints-ignored", FEWER),
];
const FEWER: &str = "lower `max_connect_attempts`: `tcp_proxy` has no budget of retries";
const SHORTER: &str = "lower `max_connect_attempts`, or `connect_timeout` of the cluster";

fn waits(reading: &mut Reading<'_>, draft: &mut Draft, node: &Node) {
    let Some((key, options)) = entry(node, "backoff_options") else {
        return;
    };
    let form = "a duration such as 0.5s";
    let base = reading.proto_duration(field(options, "base_interval"), form);
    let cap = reading.proto_duration(field(options, "max_interval"), form);
    draft.policy.backoff = becalm::Backoff::Exponential;
    draft.policy.multiplier = 2.0;
    draft.policy.jitter = Jitter::Full;
    draft.origin(
        "jitter",
        Origin::Derived(key.span, "waits are drawn".into()),
    );
    super::base_alone(draft, &base, "base_interval");
    draft.set("cap", cap, |policy, it| policy.cap = it);
}

/// Tells of redirects that Envoy follows itself: each is a request more, with the retries of the route that it leads to.
pub fn redirects(reading: &mut Reading<'_>, action: &Node) {
    let Some((key, policy)) = entry(action, "internal_redirect_policy") else {
        return;
    };
    let most = whole(
        reading,
        field(policy, "max_internal_redirects"),
        "a number of redirects",
    );
    let most = most.known().unwrap_or(1);
    again(reading, key.span, most);
}

fn again(reading: &mut Reading<'_>, span: Span, most: u32) {
    if most == 0 {
        return;
    }
    let sentence = format!(
        "a redirect of the server is followed here, {most} times at most: each is another request, with the retries of the route that it leads to, which no policy here counts"
    );
    let remedy = "leave it out, so that the client follows the redirect";
    reading.note(span, code::PASSED_ON_AGAIN, sentence, remedy);
}
