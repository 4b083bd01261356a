//! What does a `Resiliency` of Dapr say about retrying?
//!
//! Read in dapr/dapr 1.18.3 (`pkg/apis/resiliency/v1alpha1/types.go`, `pkg/resiliency/resiliency.go`, `policy.go`, `retry.go`), and in
//! `retry/retry.go` and `config/decode.go` of dapr/kit of May 2026. It was not run.
//!
//! A target names a policy of retries, a time-out, which each attempt has to itself, and a breaker, which ends the retries while it is
//! open. Each failure is repeated, whatever the method, and each answer from 400 on, unless `matching` lists less. Without
//! `maxRetries` there is no end with `constant`, and one after 15 minutes with `exponential`, whose first wait is always 500 ms.

mod files;
mod matching;
mod policies;
mod targets;

use crate::code;
use crate::document::{Document, Key, Node};
use crate::evidence::Evidence;
use crate::list::list;
use crate::meant::slip_of;
use crate::reading::Reading;
use crate::system::{Follows, Form, Remedies, Schema, System};
use crate::systems::kubernetes::{REFUSES, check, is_of};
pub(super) use files::Files;
use policies::Policies;
use targets::Target;

pub(super) const DAPR: System = System {
    name: "dapr",
    title: "Dapr",
    versions: &["1.18"],
    evidence: Evidence::Read,
    form: Form::Tree,
    remedies: REMEDIES,
    fewer: Some("lower `maxRetries`"),
    elsewhere: &["no-budget", "breaker-no-jitter"],
    follows: Follows::Attempts,
    schema: Schema {
        refuses: Some(REFUSES),
        homes: &[
            ("retries", "move it into `spec.policies`"),
            (
                "maxRetries",
                "move it into a policy of `spec.policies.retries`",
            ),
            ("retry", "move it into a target of `spec.targets`"),
        ],
        tables: &["retries"],
        kinds: &["resiliencies.dapr.io"],
        ..Schema::OPEN
    },
};

/// What helps against a lint, by its code.
const REMEDIES: Remedies = &[
    ("no-bound", "set `maxRetries: 3`"),
    ("unlimited-without-budget", "set `maxRetries: 3`"),
    ("retries-at-once", "set `duration: 1s`"),
    (
        "no-jitter",
        "set `policy: exponential`, whose waits are drawn",
    ),
    (
        "no-growth",
        "set `policy: exponential`, or lower `maxRetries`",
    ),
    (
        "repeats-non-idempotent",
        "leave `retry` out of a target that is called by POST: a target has one policy for all methods",
    ),
    (
        "waits-exceed-deadline",
        "lower `maxRetries` or `maxInterval`: with `exponential` all ends after 15 minutes",
    ),
    (
        "breaker-opened-by-one-call",
        "raise the number in `trip` above that of the attempts, or lower `maxRetries`",
    ),
    ("breaker-hair-trigger", "raise the number in `trip`"),
    (
        "breaker-blind-to-hangs",
        "name a `timeout` in the target as well",
    ),
    (
        "long-waits",
        "lower `maxInterval`, or `duration` of a constant policy",
    ),
    (
        "attempt-timeout-fills-deadline",
        "lower the `timeout` of the target: with `exponential` all ends after 15 minutes",
    ),
    (
        "breaker-open-long",
        "lower `timeout` of the circuit breaker",
    ),
    (
        "breaker-probes-often",
        "raise `timeout` of the circuit breaker, or lower its `maxRequests`",
    ),
];

const POLICIES: &[&str] = list!("timeouts retries circuitBreakers");

pub(super) fn recognises(document: &Document<'_>) -> bool {
    is_of(document, "dapr.io") && document.says(&["kind"], "Resiliency")
}

pub(super) fn read<'a>(reading: &mut Reading<'a>, files: &Files<'a>) {
    let document = reading.document;
    reading.misread = code::REFUSED;
    let Some(spec) = document.at(&["spec"]) else {
        return;
    };
    check(reading, Some(spec), "`spec`", &["policies", "targets"]);
    let own = spec.get("policies");
    check(reading, own, "`policies`", POLICIES);
    for kind in POLICIES {
        for (name, policy) in entries(own.and_then(|it| it.get(kind))) {
            name.asked.set(policy.is_table() || *kind == "timeouts");
        }
    }
    let mut policies = Policies::of(reading, own);
    // The retries that targets name, and that are not here.
    let mut missing = Vec::new();
    let retries = own.and_then(|it| it.get("retries"));
    for target in targets::all(reading, spec.get("targets")) {
        let name = target.retry.and_then(|(_, it)| it.text());
        missing.extend(name.filter(|it| !policies.has(it)));
        policies.map(reading, &target, files);
    }
    for (name, _) in entries(retries) {
        if let Some(target) = Target::of_name(&name.name) {
            policies.map_by_name(reading, &target, &name.name);
        } else if !files.is_used(&name.name) {
            unused(reading, name, &missing);
        }
    }
}

fn unused(reading: &mut Reading<'_>, name: &Key, missing: &[&str]) {
    let sentence = format!(
        "no target names the retries `{}`: they repeat nothing",
        name.name
    );
    let remedy = slip_of(&name.name, missing).map_or_else(
        || "name it in `retry` of a target, or leave it out".to_owned(),
        |meant| format!("a target names `{meant}`: write both alike"),
    );
    reading.find(name.span, code::NEVER_RETRIES, sentence, remedy);
}

fn entries(node: Option<&Node>) -> &[(Key, Node)] {
    node.map_or(&[][..], Node::entries)
}
