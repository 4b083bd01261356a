//! What do the annotations of ingress-nginx say about the next server?
//!
//! `internal/ingress/annotations/proxy` and `rootfs/etc/nginx/lua/balancer.lua` of kubernetes/ingress-nginx: the balancer asks for one more try
//! each time (`set_more_tries(1)`), so that `proxy-next-upstream-tries` alone bounds the attempts, not the number of servers.

use std::time::Duration;

use super::{kubernetes, nginx};
use crate::code;
use crate::document::{Document, Key, Node};
use crate::evidence::Evidence;
use crate::list::list;
use crate::mapping::{Draft, Origin};
use crate::meant::did_you_mean;
use crate::reading::Reading;
use crate::system::{Follows, Form, Remedies, Schema, System};
use crate::told::Told;

pub(super) const INGRESS_NGINX: System = System {
    name: "ingress-nginx",
    title: "ingress-nginx",
    versions: &["1.13"],
    evidence: Evidence::Read,
    form: Form::Tree,
    remedies: REMEDIES,
    fewer: Some("lower `proxy-next-upstream-tries`"),
    elsewhere: &[],
    follows: Follows::Attempts,
    schema: Schema {
        kinds: &["ingresses.networking.k8s.io"],
        ..Schema::OPEN
    },
};

/// What helps against a lint, by its code.
const REMEDIES: Remedies = &[
    (
        "repeats-non-idempotent",
        "leave `non_idempotent` out of `proxy-next-upstream`",
    ),
    (
        "repeats-what-may-be-done",
        "leave `timeout` and `http_504` out of `proxy-next-upstream`",
    ),
    ("no-deadline", "set `proxy-next-upstream-timeout: \"10\"`"),
    (
        "unlimited-without-budget",
        "set `proxy-next-upstream-tries: \"2\"`",
    ),
    ("no-bound", "set `proxy-next-upstream-tries: \"2\"`"),
    (
        "attempt-timeout-fills-deadline",
        "set a shorter `proxy-read-timeout`",
    ),
];

const PREFIX: &str = "nginx.ingress.kubernetes.io/";
const NEXT: &str = "proxy-next-upstream";
const TRIES: &str = "proxy-next-upstream-tries";
const TIMEOUT: &str = "proxy-next-upstream-timeout";
const READ: &str = "proxy-read-timeout";

const KEYS: &[&str] = list!("attempts base jitter budget attempt_timeout deadline retry_on");

pub(super) fn recognises(document: &Document<'_>) -> bool {
    let mut all = annotations(document);
    all.any(|(name, _, _)| name.starts_with(NEXT))
}

/// Those of an ingress, by their names without the prefix.
fn annotations<'a>(
    document: &Document<'a>,
) -> impl Iterator<Item = (&'a str, &'a Key, &'a Node)> + use<'a> {
    let is_ingress = document.says(&["kind"], "Ingress");
    kubernetes::annotations(document, PREFIX).filter(move |_| is_ingress)
}

pub(super) fn read(reading: &mut Reading<'_>) {
    let document = reading.document;
    reading.misread = code::REFUSED;
    let mut span = document.start();
    for (name, key, _) in annotations(&document).filter(|(name, _, _)| name.starts_with(NEXT)) {
        key.asked.set(true);
        span = if span == document.start() {
            key.span
        } else {
            span
        };
        if ![NEXT, TRIES, TIMEOUT].contains(&name) {
            let sentence = format!("ingress-nginx has no annotation `{name}`");
            let remedy = did_you_mean(name, "the annotations", &[NEXT, TRIES, TIMEOUT]);
            reading.find(key.span, code::KEY_NOT_READ, sentence, remedy);
        }
    }
    let value = |wanted: &str| {
        annotations(&document)
            .find(|(name, _, _)| *name == wanted)
            .map(|(_, _, node)| node)
    };
    let Some(words) = nginx::next_upstream(reading, value(NEXT)) else {
        return; // off
    };
    let mut draft = Draft::of(nginx::at_once(3), KEYS);
    match reading.whole(value(TRIES), "a number of attempts") {
        Told::Is(0, span) => {
            draft.policy.attempts = becalm::Policy::UNLIMITED;
            draft.origin(
                "attempts",
                Origin::Derived(
                    span,
                    "0 is without a bound: the balancer asks for one more try each time".into(),
                ),
            );
        }
        told => draft.set("attempts", told, |policy, it| policy.attempts = it),
    }
    let seconds = |told: Told<u32>| told.map(|it| Duration::from_secs(it.into()));
    let total = reading.whole(value(TIMEOUT), "a number of seconds");
    draft.deadline(seconds(total));
    draft.policy.attempt_timeout = Some(Duration::from_secs(60));
    let each = reading.whole(value(READ), "a number of seconds");
    draft.attempt_timeout(seconds(each));
    draft.policy.retry_on = words.into();
    if let Some(node) = value(NEXT) {
        draft.origin("retry_on", Origin::Line(node.span));
    }
    draft.lose(
        READ,
        "it is the longest time between two reads of an answer, not of an attempt",
        None,
    );
    draft.lose(
        "upstream",
        "each attempt goes to an endpoint that the balancer chooses, perhaps the same",
        None,
    );
    draft.lose(
        "ConfigMap",
        "the controller's own settings stand in for annotations that are not there",
        None,
    );
    if draft.policy.attempts <= 1 {
        return;
    }
    let name = document
        .at(&["metadata", "name"])
        .and_then(Node::text)
        .unwrap_or("?");
    let backends = document.tree.into_iter().flat_map(Node::walk);
    let services = backends.filter_map(|it| {
        let backend = it.get("backend").or_else(|| it.get("defaultBackend"));
        backend?.at(&["service", "name"]).and_then(Node::text)
    });
    let mut names: Vec<String> = services.map(ToOwned::to_owned).collect();
    names.dedup();
    reading.map(draft, format!("Ingress {name}"), names, span);
}
