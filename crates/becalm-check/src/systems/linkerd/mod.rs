//! What do Linkerd's resources say about retrying?
//!
//! Read in linkerd/linkerd2 and linkerd/linkerd2-proxy as of August 2026 (2.20): a `ServiceProfile`, and the
//! annotations `retry.linkerd.io` and `timeout.linkerd.io` of services and routes.

mod annotations;
mod conditions;
mod profile;

use crate::document::{Document, Node};
use crate::reading::Reading;
use crate::system::{Evidence, Form, System};

pub(super) const LINKERD: System = System {
    name: "linkerd",
    title: "Linkerd",
    versions: &["2.20"],
    evidence: Evidence::Read,
    form: Form::Tree,
    recognises,
    read,
};

fn recognises(document: &Document<'_>) -> bool {
    is_profile(document.tree) || annotations::all(document).next().is_some()
}

fn read(reading: &mut Reading<'_>) {
    if is_profile(reading.document.tree) {
        profile::read(reading);
    }
    annotations::read(reading);
}

/// Whether it is a `ServiceProfile`.
fn is_profile(tree: Option<&Node>) -> bool {
    let says = |key: &str| tree?.get(key)?.text();
    let version = says("apiVersion").unwrap_or_default();
    version.starts_with("linkerd.io/") && says("kind") == Some("ServiceProfile")
}
