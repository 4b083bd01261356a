//! What do Linkerd's resources say about retrying?
//!
//! Read in linkerd/linkerd2 and linkerd/linkerd2-proxy as of August 2026 (2.20): a `ServiceProfile`, and the
//! annotations `retry.linkerd.io` and `timeout.linkerd.io` of services and routes.

mod annotations;
mod conditions;
mod profile;

use super::kubernetes::REFUSES;
use super::resources::{Resources, is_profile};
use crate::document::Document;
use crate::evidence::Evidence;
use crate::reading::Reading;
use crate::system::{Follows, Form, Schema, System};

pub(super) const LINKERD: System = System {
    name: "linkerd",
    title: "Linkerd",
    versions: &["2.20"],
    evidence: Evidence::Read,
    form: Form::Tree,
    remedies: REMEDIES,
    fewer: Some("lower `retry.linkerd.io/limit`, or leave `isRetryable` out"),
    elsewhere: &["no-budget", "retries-at-once", "no-growth"],
    follows: Follows::Attempts,
    schema: Schema {
        refuses: Some(REFUSES),
        homes: &[
            ("isRetryable", "move it into an item of `spec.routes`"),
            ("retryBudget", "move it into `spec`"),
        ],
        tables: &["retryBudget"],
        kinds: &[
            "serviceprofiles.linkerd.io",
            "services",
            "egressnetworks.policy.linkerd.io",
            "httproutes.policy.linkerd.io",
            "grpcroutes.gateway.networking.k8s.io",
        ],
        ..Schema::OPEN
    },
};

/// What helps against a lint, by its code.
const REMEDIES: &[(&str, &str)] = &[
    (
        "no-bound",
        "set `timeout` of the route, which nothing else bounds",
    ),
    (
        "no-deadline",
        "set `timeout.linkerd.io/request`, or in a ServiceProfile `timeout` of the route",
    ),
    (
        "no-budget",
        "lower `retry.linkerd.io/limit`: the annotations have no budget, and a ServiceProfile, which has one, overrides them",
    ),
    (
        "retries-at-once",
        "annotate the service with `retry.linkerd.io/http` in place of the profile, which waits 25 to 250 ms",
    ),
    (
        "no-growth",
        "annotate the service with `retry.linkerd.io/http` in place of the profile, whose waits grow",
    ),
    (
        "hints-ignored",
        "lower `retry.linkerd.io/limit`, or `retryRatio` of a ServiceProfile: Linkerd heeds no Retry-After",
    ),
    (
        "large-budget",
        "set a `retryRatio` of 0.1 to 0.2, and a lower `minRetriesPerSecond` in a large fleet",
    ),
    (
        "repeats-non-idempotent",
        "give POST and PATCH a route of their own, without retries",
    ),
    (
        "repeats-what-may-be-done",
        "give what is not idempotent a route of its own, without retries, or one that repeats 503 or `unavailable` alone",
    ),
    (
        "attempt-timeout-fills-deadline",
        "lower `retry.linkerd.io/timeout`, or raise `timeout.linkerd.io/request`",
    ),
    (
        "waits-exceed-deadline",
        "lower `retry.linkerd.io/limit`, or raise the time-out of the route",
    ),
    (
        "budget-never-grants",
        "raise `retryRatio` or `minRetriesPerSecond`",
    ),
    (
        "budget-runs-out",
        "raise `retryRatio` or `minRetriesPerSecond`",
    ),
];

pub(super) fn recognises(document: &Document<'_>) -> bool {
    is_profile(document.tree) || annotations::all(document).next().is_some()
}

pub(super) fn read(reading: &mut Reading<'_>, resources: &Resources<'_>) {
    if is_profile(reading.document.tree) {
        profile::read(reading);
    }
    annotations::read(reading, resources);
}
