//! Of which requests does a route of Envoy repeat the attempts?

use std::collections::BTreeSet;

use becalm::retry_on::Methods;

use super::super::methods::{NOT_READ, alternatives, listed, others};
use super::fields::{at, field, items};
use crate::document::{Node, Span};
use crate::mapping::Draft;

/// Of which requests are repeated: those with the method that the route matches, where one of
/// `retriable_request_headers` is enough. `None` where they name other methods.
pub fn methods(draft: &mut Draft, route: &Node, retry: &Node) -> Option<Methods> {
    let mut limit: Option<BTreeSet<String>> = None;
    let mut narrow = |names: BTreeSet<String>| {
        limit = Some(match limit.take() {
            Some(before) => before.intersection(&names).cloned().collect(),
            None => names,
        });
    };
    for header in field(route, "match").map_or(&[][..], |it| items(it, "headers")) {
        match of_header(header) {
            Header::Other => {}
            Header::Methods(names) => narrow(names),
            Header::Unknown(span) => draft.lose(":method", NOT_READ, Some(span)),
        }
    }
    let repeated = items(retry, "retriable_request_headers").iter();
    // One that is about something else may hold for every method.
    let repeated: Option<Vec<_>> = repeated
        .map(|it| match of_header(it) {
            Header::Methods(names) => Some(names),
            Header::Other | Header::Unknown(_) => None,
        })
        .collect();
    if let Some(repeated) = repeated.filter(|it| !it.is_empty()) {
        narrow(repeated.into_iter().flatten().collect());
    }
    match limit {
        None => Some(Methods::Any),
        Some(limit) if limit.is_empty() => None,
        Some(limit) => Some(listed(limit)),
    }
}

/// What a matcher of a header says of methods.
enum Header {
    /// It is about another header.
    Other,
    Methods(BTreeSet<String>),
    /// It limits the methods in a way that is not read.
    Unknown(Span),
}

fn of_header(header: &Node) -> Header {
    if field(header, "name").and_then(Node::text) != Some(":method") {
        return Header::Other;
    }
    let says = |path: &[&str]| at(header, path).and_then(Node::text);
    let is_true = |path: &[&str]| says(path) == Some("true");
    let exact = says(&["exact_match"]).or_else(|| says(&["string_match", "exact"]));
    let regex = says(&["safe_regex_match", "regex"])
        .or_else(|| says(&["string_match", "safe_regex", "regex"]));
    let limit = exact.map(|it| BTreeSet::from([it.to_owned()]));
    let limit = limit.or_else(|| alternatives(regex?));
    match limit.filter(|_| !is_true(&["string_match", "ignore_case"])) {
        Some(names) if is_true(&["invert_match"]) => Header::Methods(others(&names)),
        Some(names) => Header::Methods(names),
        None => Header::Unknown(header.span),
    }
}
