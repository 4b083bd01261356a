//! Which labels of containers are Traefik's, and what tree are they?
//!
//! `traefik.http.middlewares.again.retry.attempts=4`, of services of Compose and Swarm, of `dockerLabels` of ECS, of `Labels` that
//! Docker prints, of `tags` of Consul and Nomad, and wherever else one begins with `traefik.`.

use std::collections::HashSet;

use super::Source;
use crate::code;
use crate::document::{Asked, Key, Node, Span, Value};
use crate::hints::{is_one_off, looks_like_retries};
use crate::list::list;
use crate::meant::nearest;
use crate::reading::{Later, Mark, Reading};

struct Label<'n> {
    name: &'n str,
    value: &'n str,
    /// Of the name, and of the value.
    spans: (Span, Span),
    /// Of a mapping.
    key: Option<&'n Key>,
}

/// What stands in place of `labels` in other files than those of Compose.
const ELSEWHERE: &[&str] = list!("dockerLabels Labels tags Tags");

/// What may follow `traefik.`.
const ROOTS: &[&str] =
    list!("http tcp udp tls enable docker swarm consulcatalog nomad ecs tags weight");

/// Parts of a name; no label has more.
const DEEPEST: usize = 32;

pub fn has_any(tree: &Node) -> bool {
    let is_own = |it: &Label<'_>| {
        let is_about = looks_like_retries(it.name) || it.name.contains(".middlewares.");
        is_about && it.name.split('.').next().is_some_and(is_traefik)
    };
    sets(tree).iter().flatten().any(is_own)
}

fn is_traefik(word: &str) -> bool {
    word.eq_ignore_ascii_case("traefik") || is_one_off(word, "traefik")
}

/// The labels of each container as a tree, without `traefik`. Tells of those that Traefik passes over.
pub fn trees(reading: &mut Reading<'_>, tree: &Node) -> Vec<Node> {
    let mut trees = Vec::new();
    for mut labels in sets(tree) {
        let mut entries = Vec::new();
        // What begins the same way stands together then.
        labels.sort_by_cached_key(|it| it.name.to_ascii_lowercase());
        for label in &labels {
            let mut parts = label.name.splitn(DEEPEST, '.');
            let Some(first) = parts.next().filter(|it| is_traefik(it)) else {
                continue;
            };
            if let Some(key) = label.key {
                key.asked.set(true);
            }
            let parts: Vec<&str> = parts.collect();
            let root = parts.first().copied().unwrap_or_default();
            let is_root = ROOTS.iter().any(|it| it.eq_ignore_ascii_case(root));
            if first.eq_ignore_ascii_case("traefik") && is_root {
                put(&mut entries, &parts, label);
            } else if looks_like_retries(label.name) {
                let sentence = format!(
                    "`{}` is no label of Traefik, which passes it over",
                    label.name
                );
                let remedy = Later(|| {
                    let meant = nearest(root, ROOTS.iter().copied()).filter(|_| !is_root);
                    format!("begin it with `traefik.{}.`", meant.unwrap_or("http"))
                });
                reading.find(label.spans.0, code::KEY_NOT_READ, sentence, remedy);
            }
        }
        if let Some((first, _)) = entries.first() {
            let span = first.span;
            let value = Value::Table(entries);
            trees.push(Node { span, value });
        }
    }
    trees
}

/// Puts a label where its name says, next to those that were put before.
fn put(entries: &mut Vec<(Key, Node)>, parts: &[&str], label: &Label<'_>) {
    let [first, rest @ ..] = parts else {
        return;
    };
    let is_same = |(key, _): &&mut (Key, Node)| key.name.eq_ignore_ascii_case(first);
    if entries.last_mut().as_ref().is_none_or(|it| !is_same(it)) {
        let mut key = Key::new(label.spans.0, *first);
        if looks_like_retries(first) {
            key.asked = Asked::watched();
        }
        let value = Value::Table(Vec::new());
        let span = label.spans.1;
        entries.push((key, Node { span, value }));
    }
    let Some((_, node)) = entries.last_mut() else {
        return;
    };
    match (&mut node.value, rest) {
        (Value::Table(inner), [_, ..]) => put(inner, rest, label),
        (value, []) => {
            *value = Value::Scalar {
                text: label.value.to_owned(),
                quoted: true,
            };
            node.span = label.spans.1;
        }
        // Something stands below a value: neither is read.
        (Value::Scalar { .. } | Value::List(_), _) => {}
    }
}

/// Tells of parts of labels that look like retries, and that nothing asked for. What was found before these labels is of others.
pub fn unread(reading: &mut Reading<'_>, labels: &Node, before: Mark) {
    let told: HashSet<Span> = reading.since(before).map(|(_, span)| span).collect();
    let mut left = vec![labels];
    while let Some(node) = left.pop() {
        for (key, value) in node.entries() {
            let is_own = key.name.eq_ignore_ascii_case("maxFailedAttempts");
            if key.asked.get() == Some(false) && !is_own && !told.contains(&key.span) {
                let sentence = format!(
                    "`{}` stands in a label where Traefik has no such field: {}",
                    key.name,
                    Source::Labels.refusal()
                );
                let remedy = "write `traefik.http.middlewares.NAME.retry.attempts`";
                reading.find(key.span, code::NO_SUCH_FIELD, sentence, remedy);
            } else if !key.name.eq_ignore_ascii_case("plugin") {
                // The settings of a plugin are its own.
                left.push(value);
            }
        }
    }
}

/// The labels of each container.
fn sets(tree: &Node) -> Vec<Vec<Label<'_>>> {
    if tree.get("apiVersion").is_some() {
        return Vec::new(); // of Kubernetes
    }
    let mut sets = Vec::new();
    let services = tree.get("services").filter(|it| it.is_table());
    for (_, service) in services.map_or(&[][..], Node::entries) {
        sets.extend(service.get("labels").map(labels));
        sets.extend(service.at(&["deploy", "labels"]).map(labels));
    }
    // What a service takes by an alias stands beside it as well.
    let all = sets.iter().flatten();
    let mut read: HashSet<Span> = all.map(|it: &Label<'_>| it.spans.0).collect();
    let mut others = Vec::new();
    others.extend(has_own(tree).then_some(tree));
    for node in tree.walk() {
        let is_set = |(key, node): &&(Key, Node)| {
            ELSEWHERE.contains(&&*key.name) && services.is_none() || has_own(node)
        };
        others.extend(node.entries().iter().filter(is_set).map(|(_, it)| it));
        others.extend(node.items().iter().filter(|it| has_own(it)));
    }
    for labels in others.into_iter().map(labels) {
        let is_read = labels.iter().any(|it| read.contains(&it.spans.0));
        if !is_read {
            read.extend(labels.iter().map(|it| it.spans.0));
            sets.push(labels);
        }
    }
    sets
}

/// Whether one of these is Traefik's, whatever they are called.
fn has_own(node: &Node) -> bool {
    let is_own = |it: &str| {
        let begin = it.get(..OWN.len());
        begin.is_some_and(|it| it.eq_ignore_ascii_case(OWN))
    };
    let mut items = node.items().iter().filter_map(Node::text);
    items.any(is_own) || node.entries().iter().any(|(key, _)| is_own(&key.name))
}

const OWN: &str = "traefik.";

/// `name=value` of a list, or the entries of a mapping.
fn labels(node: &Node) -> Vec<Label<'_>> {
    let listed = node.items().iter().filter_map(|item| {
        let (name, value) = item.text()?.split_once('=')?;
        Some(Label {
            name,
            value,
            spans: (item.span, item.span),
            key: None,
        })
    });
    let entries = node.entries().iter().map(|(key, value)| Label {
        name: &key.name,
        value: value.text().unwrap_or_default(),
        spans: (key.span, value.span),
        key: Some(key),
    });
    listed.chain(entries).collect()
}
