//! What does a route take from elsewhere, where it says nothing itself?
//!
//! `mergeHTTPRoute` of `pilot/pkg/model/virtualservice.go`: a delegate's route takes `timeout` and `retries` of the root's.
//! `translateRoute` of `pilot/pkg/networking/core/route/route.go`: a route without `retries` takes those of the mesh.

use std::collections::HashSet;

use super::super::kubernetes::{is_beside, is_older, named, namespace};
use super::files::Files;
use super::given::{Root, is_of_sidecars};
use crate::code;
use crate::document::{Document, Node};
use crate::reading::Reading;

/// The routes of the files that delegate to this document.
pub fn roots<'a>(document: &Document<'a>, files: &Files<'a>) -> Vec<Root<'a>> {
    let name = document.at(&["metadata", "name"]).and_then(Node::text);
    let (Some(own), Some(name)) = (document.tree, name) else {
        return Vec::new();
    };
    let delegates = |it: &Root<'_>| {
        let delegate = it.route.get("delegate");
        delegate.is_some_and(|delegate| is_named(own, delegate, it.service))
    };
    let all = files.roots(document.file, namespace(own), name);
    all.filter(delegates).collect()
}

/// Tells of a route that delegates to what is in none of the files.
pub fn to_unseen(reading: &mut Reading<'_>, route: &Node, files: &Files<'_>) {
    let Some((key, delegate)) = route.entry("delegate") else {
        return;
    };
    let document = reading.document;
    let Some(own) = document.tree else {
        return;
    };
    let name = delegate.get("name").and_then(Node::text);
    let within = delegate.get("namespace").and_then(Node::text);
    let within = within.or_else(|| namespace(own));
    let mut meant = files.delegates(within, name.unwrap_or_default());
    if meant.any(|it| is_named(it, delegate, own)) {
        return;
    }
    let attempts = route.at(&["retries", "attempts"]).and_then(Node::text);
    let timeout = route.get("timeout").and_then(Node::text);
    let handed = match (attempts, timeout) {
        (None, None) => {
            let name = name.unwrap_or("?");
            let sentence = format!(
                "the delegate {name} is in none of the files: what its routes repeat is not known here"
            );
            let remedy = "name the file of the delegate as well";
            reading.find(key.span, code::NOT_SEEN, sentence, remedy);
            return;
        }
        (Some(attempts), None) => format!("`attempts: {attempts}`"),
        (None, Some(timeout)) => format!("`timeout: {timeout}`"),
        (Some(attempts), Some(timeout)) => {
            format!("`attempts: {attempts}` and `timeout: {timeout}`")
        }
    };
    let name = name.unwrap_or("?");
    let sentence = format!(
        "the delegate {name} is in none of the files; its routes take {handed} from here where they say nothing themselves"
    );
    let remedy = "name the file of the delegate as well";
    reading.find(key.span, code::NOT_SEEN, sentence, remedy);
}

/// Whether another `VirtualService` of the files holds in place of this one: in a sidecar one alone is about a host, the one that was
/// created first (`initVirtualServices` of `pilot/pkg/model/push_context.go` sorts them so).
pub fn overridden(reading: &mut Reading<'_>, spec: &Node, files: &Files<'_>) -> bool {
    let document = reading.document;
    let Some((key, hosts)) = spec.entry("hosts") else {
        return false;
    };
    let Some(own) = document.tree.filter(|it| is_of_sidecars(it)) else {
        return false;
    };
    let texts: HashSet<_> = hosts.items().iter().map(Node::text).collect();
    let is_rival = |it: &Node| {
        let others = it.list(&["spec", "hosts"]);
        !std::ptr::eq(it, own)
            && is_beside(it, own)
            && others.len() == hosts.items().len()
            && others.iter().all(|it| texts.contains(&it.text()))
    };
    let within = namespace(own);
    let mut all =
        (hosts.items().iter()).flat_map(|it| files.of_sidecars(document.file, within, it));
    let Some(rival) = all.find(|it| is_rival(it)) else {
        return false;
    };
    let holds = is_older(own, rival);
    if holds == Some(true) {
        return false;
    }
    let why = match holds {
        Some(_) => "which was created first, and this one is not read",
        None => "if that was created first, which the files do not say",
    };
    let sentence = format!(
        "in sidecars {} holds for the same hosts in place of this one, {why}",
        named(rival)
    );
    reading.find(key.span, code::OVERRIDDEN, sentence, "keep one of them");
    holds.is_some()
}

/// Whether a `delegate` of this root is this resource. Without a namespace it is one of the root's.
fn is_named(resource: &Node, delegate: &Node, root: &Node) -> bool {
    let name = delegate.get("name").and_then(Node::text);
    let within = delegate.get("namespace").and_then(Node::text);
    let within = within.or_else(|| namespace(root));
    let differ = matches!((within, namespace(resource)), (Some(a), Some(b)) if a != b);
    let own = resource.at(&["metadata", "name"]).and_then(Node::text);
    name.is_some() && name == own && !differ
}
