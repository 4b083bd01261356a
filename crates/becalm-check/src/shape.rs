//! Which keys of retries have a value where their system reads a mapping? `retries: 3`.

use std::collections::HashSet;

use crate::code;
use crate::document::{Node, Span};
use crate::finding::Finding;
use crate::system::System;
use crate::systems::is_called;
use crate::template::is_placeholder;

/// Keys whose value is a mapping.
const TABLES: [(&str, &[&str]); 6] = [
    ("istio", &["retries"]),
    (
        "envoy-gateway",
        &["retry", "retryOn", "perRetry", "backOff", "retryBudget"],
    ),
    ("gateway-api", &["retry"]),
    ("linkerd", &["retryBudget"]),
    ("spring-cloud-gateway", &["backoff"]),
    ("resilience4j", &["retry"]),
];

/// Tells of each of them that a reader asked for.
pub fn of_known(
    file: &str,
    tree: &Node,
    systems: &[&System],
    told: &HashSet<Span>,
    found: &mut Vec<Finding>,
) {
    for (key, value) in tree.walk().flat_map(Node::entries) {
        let is_asked = key.asked.get() == Some(true);
        let is_value = !value.is_table() && !value.is_null();
        let is_filled_in = value.text().is_some_and(is_placeholder);
        if !is_asked || !is_value || is_filled_in || told.contains(&value.span) {
            continue;
        }
        let own = TABLES
            .iter()
            .filter(|(name, _)| systems.iter().any(|it| it.name == *name));
        let own = own.filter(|(_, keys)| keys.iter().any(|it| is_called(key, it)));
        let Some((system, _)) = own.into_iter().next() else {
            continue;
        };
        let what = value
            .text()
            .map_or_else(|| "a list".to_owned(), |it| format!("`{it}`"));
        let sentence = format!(
            "{what} stands in `{}`, where {system} reads a mapping",
            key.name
        );
        let is_spring = ["spring-cloud-gateway", "resilience4j"].contains(system);
        let code = if is_spring {
            code::NOT_UNDERSTOOD
        } else {
            code::REFUSED
        };
        let remedy = "write its fields below it";
        found.push(Finding::new(file, value.span, code, sentence, remedy));
    }
}
