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

/// How many roots that say different things are read for one delegate, and how many hosts of those that say the same are told.
const MOST: usize = 16;

/// Roots that hand the same to their delegate.
pub struct Roots<'a> {
    /// The first of them.
    pub root: Root<'a>,
    /// What they hand over.
    said: String,
    /// The hosts of the first ones.
    pub hosts: Vec<&'a str>,
}

/// The routes of the files that delegate to this document, by what they hand over.
pub fn roots<'a>(reading: &mut Reading<'a>, files: &Files<'a>) -> Vec<Roots<'a>> {
    let mut all: Vec<Roots<'a>> = Vec::new();
    let mut others = 0;
    for root in each(&reading.document, files) {
        let said = said(root);
        let hosts = root.service.list(&["spec", "hosts"]).iter();
        let hosts = hosts.filter_map(Node::text);
        if let Some(same) = all.iter_mut().find(|it| it.said == said) {
            let room = MOST.saturating_sub(same.hosts.len());
            same.hosts.extend(hosts.take(room));
        } else if all.len() < MOST {
            let hosts = hosts.take(MOST).collect();
            all.push(Roots { root, said, hosts });
        } else {
            others += 1;
        }
    }
    if others > 0 {
        let sentence = format!(
            "{others} more routes delegate to these, and what they hand over is not read: of those that hand over other things the first {MOST} are"
        );
        let remedy = "check their files by themselves";
        reading.find(reading.document.start(), code::NOT_SEEN, sentence, remedy);
    }
    all
}

/// The texts of all that a delegate may take from a root.
fn said(root: Root<'_>) -> String {
    let mut said = String::new();
    for name in ["timeout", "retries", "match"] {
        for node in root.route.get(name).into_iter().flat_map(Node::walk) {
            said.push_str(node.text().unwrap_or("\n"));
            node.entries().iter().for_each(|(key, _)| {
                said.push('\t');
                said.push_str(&key.name);
            });
            said.push('\n');
        }
        said.push_str("\n\n");
    }
    said
}

fn each<'a>(document: &Document<'a>, files: &Files<'a>) -> Vec<Root<'a>> {
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
    let attempts = attempts.map(|it| format!("`attempts: {it}`"));
    let timeout = timeout.map(|it| format!("`timeout: {it}`"));
    let handed: Vec<_> = attempts.into_iter().chain(timeout).collect();
    let what = match &*handed.join(" and ") {
        "" => ": what its routes repeat is not known here".to_owned(),
        it => format!("; its routes take {it} from here where they say nothing themselves"),
    };
    let name = name.unwrap_or("?");
    let sentence = format!("the delegate {name} is in none of the files{what}");
    let remedy = "name the file of the delegate as well";
    reading.find(key.span, code::NOT_SEEN, sentence, remedy);
}

/// Tells of the retries of an item that sends no request on: it redirects, answers itself, or says nothing of the kind, which
/// `validateHTTPRoute` of `pkg/config/validation` refuses.
pub fn to_nothing(reading: &mut Reading<'_>, route: &Node) {
    let retries = route.entry("retries").filter(|(_, it)| it.is_table());
    let Some((key, _)) = retries.filter(|_| route.get("delegate").is_none()) else {
        return;
    };
    let sentence = "an item of `spec.http` without `route` sends no request on, so that its `retries` are never made";
    let remedy =
        "write them beside `route`: a patch of kustomize takes the place of the whole list";
    reading.find(key.span, code::NEVER_RETRIES, sentence, remedy);
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
