//! What does an Envoy configuration say about retrying?
//!
//! Bootstrap files, files of routes and clusters (RDS, CDS, LDS), and the admin page's dumps of them:
//! wherever a table of virtual hosts or a cluster stands.

mod cluster;
mod fields;
mod files;
mod itself;
mod methods;
mod numbers;
mod place;
mod retry_policy;
pub(super) mod timeouts;
mod words;

use std::collections::HashMap;

use crate::code;
use crate::document::{Document, Node};
use crate::evidence::Evidence;
use crate::list::list;
use crate::reading::Reading;
use crate::scalars::Scalars;
use crate::system::{Follows, Form, Refuses, Schema, System};
use fields::{ROUTE, ROUTE_ACTION, VIRTUAL_HOST, entry, field, items};
use files::is_cluster;
use place::{Place, routes};

pub(super) use cluster::{at_most, share_of};
pub(super) use files::Files;
pub(super) use retry_policy::{KEYS, base_alone, of_patch, policy};
pub(super) use words::Words;

pub(super) const ENVOY: System = System {
    name: "envoy",
    title: "Envoy",
    versions: &["1.40"],
    evidence: Evidence::Run,
    form: Form::Tree,
    remedies: REMEDIES,
    fewer: Some("lower `num_retries`"),
    elsewhere: &[],
    follows: Follows::Attempts,
    schema: Schema {
        scalars: Scalars::Cpp,
        refuses: Some(Refuses {
            place: |path| path.last().is_some_and(|it| NO_ROUTES.contains(it)),
            how: "Envoy refuses the file",
        }),
        homes: &[
            (
                "retry_policy",
                "move it into `route` of a route, or into a virtual host",
            ),
            (
                "hedge_policy",
                "move it into `route` of a route, or into a virtual host",
            ),
            ("num_retries", "move it into a `retry_policy`"),
            ("retry_on", "move it into a `retry_policy`"),
        ],
        own: &[
            ("thresholds", "max_retries"),
            ("thresholds", "maxRetries"),
            ("thresholds", "retry_budget"),
            ("thresholds", "retryBudget"),
            ("http_health_check", "retriable_statuses"),
            ("httpHealthCheck", "retriableStatuses"),
            ("virtual_hosts", "include_request_attempt_count"),
            ("virtual_hosts", "include_attempt_count_in_response"),
            ("virtual_hosts", "include_is_timeout_retry_header"),
        ],
        tables: list!(
            "retry_policy retry_back_off rate_limited_retry_back_off retry_budget hedge_policy"
        ),
        ..Schema::OPEN
    },
};

/// Messages that hold none of the fields of a route.
const NO_ROUTES: &[&str] =
    list!("clusters listeners endpoints lb_endpoints match filter_chains routes static_resources");

/// What helps against a lint, by its code.
const REMEDIES: &[(&str, &str)] = &[
    (
        "no-budget",
        "set `circuit_breakers.thresholds.retry_budget` of the cluster",
    ),
    (
        "concurrency-alone",
        "set `num_retries: 1`, and a budget where the clients are: Envoy has none that looks at traffic",
    ),
    ("no-deadline", "set the route's `timeout`"),
    (
        "hints-ignored",
        "set `rate_limited_retry_back_off` with the header `Retry-After`",
    ),
    (
        "attempt-timeout-fills-deadline",
        "lower `per_try_timeout` or `num_retries`, or raise the route's `timeout`",
    ),
    (
        "waits-exceed-deadline",
        "lower `num_retries` or `base_interval`, or raise the route's `timeout`",
    ),
    (
        "repeats-non-idempotent",
        "give POST and PATCH a route of their own, whose `retry_on` is \"connect-failure,refused-stream\"",
    ),
    (
        "repeats-what-may-be-done",
        "set `retry_on` to \"connect-failure,refused-stream,unavailable,retriable-status-codes\" with the status 503",
    ),
    (
        "long-waits",
        "lower `max_interval` or `base_interval` of `retry_back_off`",
    ),
    (
        "large-budget",
        "lower `budget_percent` of the `retry_budget`, or `max_retries` where there is none",
    ),
    (
        "budget-never-grants",
        "raise `budget_percent` or `min_retry_concurrency` of the `retry_budget`, or `max_retries` where there is none",
    ),
    (
        "budget-runs-out",
        "raise `budget_percent` or `min_retry_concurrency` of the `retry_budget`, or `max_retries` where there is none",
    ),
];

pub(super) fn recognises(document: &Document<'_>) -> bool {
    let Some(tree) = document.tree else {
        return false;
    };
    let tops =
        list!("static_resources dynamic_resources virtual_hosts scoped_route_configurations");
    let is_envoy = |node: &Node| {
        let url = node.get("@type").and_then(Node::text);
        url.is_some_and(|it| it.starts_with(TYPES))
    };
    // By the type of a filter: a listener by itself has none.
    let is_listener = |node: &Node| {
        let mut filters = ["filter_chains", "filters"].iter();
        filters.any(|it| field(node, it).is_some()) && node.walk().any(is_envoy)
    };
    let is_own = |node: &Node| is_envoy(node) || is_listener(node);
    let is_one = |node: &Node| tops.iter().any(|top| field(node, top).is_some()) || is_own(node);
    let is_wrapped = |node: &Node| field(node, "resource").is_some_and(is_own);
    let has_types = |node: &Node| {
        let mut keys = node.entries().iter().map(|(key, _)| key);
        keys.any(|it| it.name.starts_with(TYPES))
    };
    // `istioctl proxy-config routes -o json` and `istioctl proxy-config clusters -o json` print lists.
    let listed = tree.items();
    is_one(tree)
        || listed.iter().any(is_one)
        || !listed.is_empty() && listed.iter().all(is_cluster)
        || ["resources", "configs", "listeners"]
            .iter()
            .any(|list| items(tree, list).iter().any(|it| is_own(it) || is_wrapped(it)))
        || tree.entries().iter().any(|(_, it)| has_types(it))
        // What the documentation shows of a filter.
        || field(tree, "route_config").is_some_and(|it| field(it, "virtual_hosts").is_some())
        // A CiliumEnvoyConfig.
        || tree.list(&["spec", "resources"]).iter().any(is_envoy)
}

/// How the names of Envoy's types begin.
const TYPES: &str = "type.googleapis.com/envoy.";

pub(super) fn read<'a>(reading: &mut Reading<'a>, files: &'a Files<'a>) {
    let Some(tree) = reading.document.tree else {
        return;
    };
    reading.misread = code::REFUSED;
    for span in reading.document.merges {
        let sentence = format!(
            "{} reads `<<` as a field of that name, and refuses the file",
            reading.who()
        );
        let remedy = "repeat what is merged; an alias alone (`*name`) is read";
        reading.find(*span, code::NO_SUCH_FIELD, sentence, remedy);
    }
    for cluster in tree.walk().filter(|it| is_cluster(it)) {
        cluster::check(reading, cluster);
    }
    fetched(reading, tree, files);
    let clusters = files.clusters(reading.document);
    itself::read(reading, clusters, tree);
    // Those with a table of their own.
    let managers: HashMap<*const Node, &Node> = (tree.walk())
        .filter_map(|it| Some((std::ptr::from_ref(field(it, "route_config")?), it)))
        .collect();
    for table in tree.walk().filter(|it| it.is_table()) {
        let manager = managers.get(&std::ptr::from_ref(table)).copied();
        for host in items(table, "virtual_hosts") {
            fields::check(reading, host, &VIRTUAL_HOST);
            of_extension(reading, host);
            never_reached(reading, host);
            for route in routes(host) {
                fields::check(reading, route, &ROUTE);
                if let Some(action) = field(route, "route") {
                    fields::check(reading, action, &ROUTE_ACTION);
                    of_extension(reading, action);
                    itself::redirects(reading, action);
                    let place = Place {
                        host,
                        route,
                        action,
                        manager,
                    };
                    retry_policy::of_route(reading, clusters, place);
                }
            }
        }
    }
    for cluster in tree.walk().filter(|it| is_cluster(it)) {
        let name = field(cluster, "name").and_then(Node::text);
        let is_reached = files.is_reached(reading.document.file, cluster);
        if let Some(name) = name.filter(|_| !is_reached) {
            retry_policy::of_cluster(reading, clusters, name, cluster);
        }
    }
}

/// Finds what a patch of Envoy's configuration should not have: a route, a virtual host or a cluster by itself.
pub(super) fn check_patch(reading: &mut Reading<'_>, applies_to: &str, value: &Node) {
    match applies_to {
        "HTTP_ROUTE" => {
            fields::check(reading, value, &ROUTE);
            if let Some(action) = field(value, "route") {
                fields::check(reading, action, &ROUTE_ACTION);
            }
        }
        "VIRTUAL_HOST" => fields::check(reading, value, &VIRTUAL_HOST),
        "CLUSTER" => cluster::check(reading, value),
        _ => {}
    }
}

/// Tells of what Envoy fetches while it runs, and no file has.
fn fetched(reading: &mut Reading<'_>, tree: &Node, files: &Files<'_>) {
    for table in tree.walk().filter(|it| it.is_table()) {
        for name in FETCHED {
            let Some((key, node)) = entry(table, name).filter(|(_, it)| it.is_table()) else {
                continue;
            };
            let of_routes = field(node, "route_config_name").and_then(Node::text);
            if !of_routes.is_some_and(|it| files.has_table(it)) {
                let sentence = format!(
                    "what comes of `{name}` is not known here: it may repeat requests, or bound how many are repeated"
                );
                let remedy = "check what the admin interface prints at `/config_dump`";
                reading.find(key.span, code::NOT_SEEN, sentence, remedy);
            }
        }
    }
}

/// Where listeners, routes, clusters and filters come from a server or a file.
const FETCHED: &[&str] = list!("lds_config rds scoped_rds config_discovery");

/// Tells of a policy of a virtual host that each of its routes has another one for.
fn never_reached(reading: &mut Reading<'_>, host: &Node) {
    let Some((key, _)) = entry(host, "retry_policy") else {
        return;
    };
    let actions: Vec<_> = routes(host).filter_map(|it| field(it, "route")).collect();
    let has_own = |it: &&Node| entry(it, "retry_policy").is_some();
    if !actions.is_empty() && actions.iter().all(has_own) {
        let sentence = "each route of the virtual host has a retry policy of its own, which holds in place of this one";
        reading.find(key.span, code::OVERRIDDEN, sentence, "keep one of them");
    }
}

fn of_extension(reading: &mut Reading<'_>, node: &Node) {
    if let Some((key, _)) = entry(node, "retry_policy_typed_config") {
        let sentence = "what an extension of Envoy repeats is said in its code";
        reading.find(key.span, code::NOT_SEEN, sentence, "");
    }
}
