//! Which keys that look like retries did no reader ask for?
//!
//! A key in a place where a system does not read it, a name that is not its own, and the retries of systems that are not read look
//! the same to a reader: nothing asks for them.

use std::collections::HashSet;

use crate::code;
use crate::document::{Key, Node, Span};
use crate::finding::Finding;
use crate::hints::looks_like_retries;
use crate::system::System;
use crate::systems::is_called;

/// What a system does with a field that it does not have.
const CLOSED: [(&str, &str); 5] = [
    ("envoy", "Envoy refuses the file"),
    ("istio", DROPPED),
    ("envoy-gateway", DROPPED),
    ("gateway-api", DROPPED),
    ("linkerd", DROPPED),
];

const DROPPED: &str = "kubectl refuses the resource, or the field is dropped without a word";

/// Where a system reads a key.
const HOMES: [(&str, &str, &str); 14] = [
    (
        "istio",
        "retries",
        "move it beside `route`, into the item of `spec.http`",
    ),
    (
        "istio",
        "attempts",
        "write it in `retries` of an item of `spec.http`",
    ),
    (
        "istio",
        "retryOn",
        "write it in `retries` of an item of `spec.http`",
    ),
    (
        "istio",
        "perTryTimeout",
        "write it in `retries` of an item of `spec.http`",
    ),
    (
        "envoy",
        "retry_policy",
        "move it into `route` of a route, or into a virtual host",
    ),
    (
        "envoy",
        "hedge_policy",
        "move it into `route` of a route, or into a virtual host",
    ),
    ("envoy", "num_retries", "move it into a `retry_policy`"),
    ("envoy", "retry_on", "move it into a `retry_policy`"),
    (
        "gateway-api",
        "retry",
        "move it into an item of `spec.rules`",
    ),
    (
        "gateway-api",
        "attempts",
        "move it into `retry` of an item of `spec.rules`",
    ),
    ("envoy-gateway", "retry", "move it into `spec`"),
    ("envoy-gateway", "numRetries", "move it into `spec.retry`"),
    (
        "linkerd",
        "isRetryable",
        "move it into an item of `spec.routes`",
    ),
    ("linkerd", "retryBudget", "move it into `spec`"),
];

/// What a system has in this place, of the mapping of this name, and what says nothing of retries where no route asks for it.
const OWN: [(&str, &str); 11] = [
    ("", "failAfterMaxAttempts"),
    ("", "consumeResultBeforeRetryAttempt"),
    ("circuitBreaker", "maxParallelRetries"),
    ("http", "maxRetries"),
    ("thresholds", "max_retries"),
    ("thresholds", "maxRetries"),
    ("thresholds", "retry_budget"),
    ("thresholds", "retryBudget"),
    ("virtual_hosts", "include_request_attempt_count"),
    ("virtual_hosts", "include_attempt_count_in_response"),
    ("virtual_hosts", "include_is_timeout_retry_header"),
];

/// Of Envoy's messages, those that hold none of the fields of a route.
const NO_ROUTES: [&str; 8] = [
    "clusters",
    "listeners",
    "endpoints",
    "lb_endpoints",
    "match",
    "filter_chains",
    "routes",
    "static_resources",
];

/// A document of systems that are read: what stands there and none of them asked for.
pub fn of_known(
    file: &str,
    tree: &Node,
    systems: &[&System],
    told: &HashSet<Span>,
    found: &mut Vec<Finding>,
) {
    let mut keys = Vec::new();
    gather(tree, told, &mut Vec::new(), &mut keys);
    let closed = systems
        .iter()
        .find_map(|it| CLOSED.iter().find(|(name, _)| *name == it.name));
    let mut others = Vec::new();
    for (path, key) in keys {
        match closed {
            Some((system, does)) if is_theirs(system, &path) => {
                let home = HOMES
                    .iter()
                    .find(|(it, name, _)| it == system && *name == key.name);
                let sentence = format!(
                    "`{}` stands where {system} has no such field: {does}",
                    key.name
                );
                let remedy = home.map_or(
                    "leave it out, or move it to where the system reads it",
                    |(_, _, home)| home,
                );
                found.push(Finding::new(
                    file,
                    key.span,
                    code::NO_SUCH_FIELD,
                    sentence,
                    remedy,
                ));
            }
            _ => others.push((path, key)),
        }
    }
    if let [(path, first), rest @ ..] = &others[..] {
        let titles: Vec<_> = systems.iter().map(|it| it.title).collect();
        let place = [&path[..], &[&*first.name]].concat().join(".");
        let sentence = format!(
            "`{place}`{}: settings of retries, as it looks, that {} does not read",
            more(rest),
            titles.join(" or ")
        );
        found.push(not_read(file, first.span, sentence));
    }
}

/// A document of no system that is read; whether there is anything that looks like retries.
pub fn of_unknown(file: &str, tree: &Node, found: &mut Vec<Finding>) -> bool {
    let mut keys = Vec::new();
    gather(tree, &HashSet::new(), &mut Vec::new(), &mut keys);
    let [(path, first), rest @ ..] = &keys[..] else {
        return false;
    };
    let place = [&path[..], &[&*first.name]].concat().join(".");
    let sentence = format!(
        "`{place}`{}: settings of retries, as it looks, of {}, which is not read",
        more(rest),
        whose(tree)
    );
    found.push(not_read(file, first.span, sentence));
    true
}

/// A text of no system that is read.
pub fn of_text(file: &str, text: &str, found: &mut Vec<Finding>) -> bool {
    let is_comment = |line: &str| line.trim_start().starts_with(['#', ';', '!', '/']);
    let words = |line: &str| {
        let line = line.get(..200).unwrap_or(line).to_owned();
        let mut words = line.split(|c: char| c.is_whitespace() || "={};".contains(c));
        words
            .find(|it| looks_like_retries(it))
            .map(ToOwned::to_owned)
    };
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !is_comment(line));
    let all: Vec<_> = lines
        .filter_map(|(at, line)| Some((at + 1, words(line)?)))
        .collect();
    let Some((line, word)) = all.first() else {
        return false;
    };
    let more = match all.len() {
        1 => String::new(),
        many => format!(" and {} more", many - 1),
    };
    let sentence =
        format!("`{word}`{more}: settings of retries, as it looks, of a system that is not read");
    found.push(not_read(file, Span::new(*line, 1, 0), sentence));
    true
}

fn not_read(file: &str, span: Span, sentence: String) -> Finding {
    let remedy = "look at it by hand; `becalm check` says nothing about it";
    Finding::new(file, span, code::RETRIES_NOT_READ, sentence, remedy)
}

fn more(rest: &[(Vec<&str>, &Key)]) -> String {
    match rest {
        [] => String::new(),
        [(_, one)] => format!(" and `{}` in line {}", one.name, one.span.line),
        [(_, one), ..] => format!(
            ", `{}` in line {} and {} more",
            one.name,
            one.span.line,
            rest.len() - 1
        ),
    }
}

/// Keys with their paths. What stands in one of them is not told again.
fn gather<'n>(
    node: &'n Node,
    told: &HashSet<Span>,
    path: &mut Vec<&'n str>,
    keys: &mut Vec<(Vec<&'n str>, &'n Key)>,
) {
    for item in node.items() {
        gather(item, told, path, keys);
    }
    for (key, value) in node.entries() {
        if told.contains(&key.span) {
            continue;
        }
        let parent = path.last().copied().unwrap_or_default();
        let is_own = OWN.iter().any(|(place, name)| {
            (place.is_empty() || *place == parent)
                && (key.name == *name || place.is_empty() && is_called(key, name))
        });
        if key.asked.get() == Some(false) && !is_own && !told.contains(&value.span) {
            keys.push((path.clone(), key));
            continue;
        }
        path.push(&key.name);
        gather(value, told, path, keys);
        path.pop();
    }
}

/// Whether a field in this place is one of the system's own messages, which it would refuse.
fn is_theirs(system: &str, path: &[&str]) -> bool {
    match system {
        "envoy" => path.last().is_some_and(|it| NO_ROUTES.contains(it)),
        _ => path.first() == Some(&"spec"),
    }
}

/// Of which system a document is, as far as it says so.
fn whose(tree: &Node) -> String {
    let text = |key: &str| tree.get(key).and_then(Node::text);
    let has = |path: &[&str]| tree.at(path).is_some();
    let known = [
        (
            has(&["http", "middlewares"]) || has(&["http", "routers"]),
            "Traefik",
        ),
        (has(&["_format_version"]), "Kong"),
        (has(&["services"]) && has(&["version"]), "Compose"),
        (has(&["spring"]), "Spring"),
        (has(&["jobs"]) && has(&["on"]), "GitHub Actions"),
        (has(&["groups"]), "Prometheus"),
    ];
    if let (Some(kind), Some((group, _))) = (
        text("kind"),
        text("apiVersion").and_then(|it| it.split_once('/')),
    ) {
        let article = if kind.starts_with(['A', 'E', 'I', 'O']) {
            "an"
        } else {
            "a"
        };
        return format!("{article} {kind} of {group}");
    }
    if let Some(kind) = text("kind").filter(|_| has(&["apiVersion"])) {
        return format!("a {kind}");
    }
    let known = known.iter().find(|(is, _)| *is);
    known.map_or_else(
        || "a system that is not known".into(),
        |(_, name)| (*name).into(),
    )
}
