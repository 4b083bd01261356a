//! What does a gRPC service config say about retrying?
//!
//! The JSON form of `ServiceConfig` (grpc/grpc-proto, `service_config.proto`; gRFC A6), as two clients of gRPC read
//! it, which were run: C-core 1.85.1 (C++, Python, Ruby, PHP), and grpc-js 1.14.7 as `grpc@js-1.14`; and as two read
//! it whose source was read as of August 2026, before 1.85: grpc-go as `grpc@go`, grpc-java as `grpc@java`. Of these
//! older versions are run, grpc-go 1.33.3 and grpc-java 1.41.3. A bad `retryPolicy` is refused by grpc-go from 1.70.0 on, and
//! ignored up to 1.69.4 (`convertRetryPolicy` of `service_config.go` at these tags; grpc/grpc-go#7905). It repeats without
//! `GRPC_GO_RETRY=on` from 1.42.0 on (`internal/envconfig/envconfig.go`).

mod fields;
mod hedging;
mod resolved;
mod retrying;
mod timeouts;

use std::collections::HashSet;

use becalm::{Budget, Policy};
use serde::de::IgnoredAny;

use crate::code;
use crate::document::{Document, Key, Node, Span};
use crate::evidence::Evidence;
use crate::mapping::{Draft, Origin};
use crate::reading::Reading;
use crate::scalars::Scalars;
use crate::system::{Follows, Form, Schema, System};
use crate::template::is_placeholder;
use fields::{Client, field, is_list, is_number, is_quoted, number, spelled};
use resolved::{choices, servers};

pub(super) const GRPC: System = System {
    name: "grpc",
    title: "gRPC",
    versions: &["core-1.85", "js-1.14", "go", "java"],
    evidence: Evidence::Run,
    form: Form::Tree,
    remedies: REMEDIES,
    fewer: Some("lower `maxAttempts`"),
    elsewhere: &[],
    follows: Follows::Attempts,
    schema: Schema {
        scalars: Scalars::Json,
        ..Schema::OPEN
    },
};

/// What helps against a lint, by its code.
const REMEDIES: &[(&str, &str)] = &[
    ("no-budget", "add `retryThrottling` to the config"),
    ("no-deadline", "set `timeout` of the method"),
    ("no-growth", "set a `backoffMultiplier` of 1.5 or 2"),
    ("retries-at-once", "set a longer `initialBackoff`"),
    (
        "repeats-non-idempotent",
        "name methods that are not idempotent in an entry of their own, whose `retryableStatusCodes` are \"UNAVAILABLE\" or none",
    ),
    (
        "repeats-what-may-be-done",
        "leave all but \"UNAVAILABLE\" and \"RESOURCE_EXHAUSTED\" out of `retryableStatusCodes`",
    ),
    (
        "waits-exceed-deadline",
        "lower `maxAttempts` or `maxBackoff`, or raise `timeout`",
    ),
    ("long-waits", "lower `maxBackoff`"),
    ("hedge-eager", "set a longer `hedgingDelay`"),
    (
        "hedge-without-budget",
        "add `retryThrottling` to the config",
    ),
    ("large-budget", "lower `tokenRatio` of `retryThrottling`"),
    (
        "budget-never-grants",
        "raise `tokenRatio` or `maxTokens` of `retryThrottling`",
    ),
    (
        "budget-runs-out",
        "raise `tokenRatio` or `maxTokens` of `retryThrottling`",
    ),
];

pub(super) fn recognises(document: &Document<'_>) -> bool {
    document.tree.is_some_and(|tree| {
        let is_xds = servers(tree)
            .iter()
            .any(|it| it.get("server_uri").is_some());
        is_config(tree) || choices(tree).next().is_some() || is_xds
    })
}

fn is_config(node: &Node) -> bool {
    let marks = ["methodConfig", "retryThrottling", "loadBalancingConfig"];
    let mut entries = node.entries().iter();
    entries.any(|(key, _)| marks.iter().any(|mark| key.name.eq_ignore_ascii_case(mark)))
}

pub(super) fn read(reading: &mut Reading<'_>) {
    let Some(tree) = reading.document.tree else {
        return;
    };
    reading.misread = code::REFUSED;
    is_json(reading);
    let own = reading.version;
    if tree.is_table() {
        config_of(reading, tree, own);
    }
    resolved::of_xds(reading, tree);
    for (choice, version) in resolved::taken(reading, tree) {
        config_of(reading, choice, version);
    }
    reading.version = own;
}

/// Reads a config as the client of this version does.
fn config_of(reading: &mut Reading<'_>, it: &Node, version: &'static str) {
    reading.version = version;
    reading.evidence = match Client::of(version) {
        Client::Go | Client::Java => Evidence::Read,
        Client::Core | Client::Js => GRPC.evidence,
    };
    config(reading, it);
}

/// Clients read JSON alone, of which comments and a comma at the end are no part.
fn is_json(reading: &mut Reading<'_>) {
    let text = reading.document.text;
    if !text.trim_start().starts_with(['{', '[', '/']) {
        return; // YAML, of which something else makes JSON
    }
    if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
        let span = Span::new(error.line().max(1), error.column().max(1), 0);
        let sentence = format!("{} refuses what is no JSON: {error}", reading.who());
        let remedy = "leave out comments and commas at the end";
        reading.find(span, code::REFUSED, sentence, remedy);
    }
}

fn config(reading: &mut Reading<'_>, config: &Node) {
    let throttling = throttling(reading, config);
    let Some(methods) = field(reading, config, "methodConfig") else {
        return;
    };
    if Client::of(reading.version) != Client::Js && !is_list(methods) {
        let sentence = "`methodConfig` is no list, and the config is refused: all calls fail";
        let remedy = "write a list of entries";
        reading.find(methods.span, code::REFUSED, sentence, remedy);
    }
    let mut named = HashSet::new();
    for method in methods.items() {
        if !method.is_table() && !method.is_null() {
            let sentence = "an entry of `methodConfig` is no object, and the config is refused: all calls fail";
            let remedy = "write an object with `name` and the settings of these methods";
            reading.find(method.span, code::REFUSED, sentence, remedy);
            continue;
        }
        of_methods(reading, method, throttling.as_ref(), &mut named);
    }
}

fn of_methods(
    reading: &mut Reading<'_>,
    method: &Node,
    throttling: Option<&(Budget, Origin)>,
    named: &mut HashSet<(String, String)>,
) {
    let client = Client::of(reading.version);
    if let Some(waits) = field(reading, method, "waitForReady") {
        let is_flag = |text: &str| matches!(text, "true" | "false");
        reading.told(Some(waits), "true or false, without quotes", |text| {
            (is_flag(text) && !is_quoted(waits)).then_some(())
        });
    }
    let methods_named = names_of(reading, method, named);
    let Some((span, mut draft)) = drafted(reading, method, client) else {
        return;
    };
    let waits = method.entry("waitForReady").map(|(_, waits)| waits);
    if let Some(waits) = waits.filter(|waits| waits.text() == Some("true")) {
        let why =
            "a call that finds no connection waits for one; by a policy it fails and is repeated";
        draft.lose("waitForReady", why, Some(waits.span));
    }
    if methods_named.is_empty() {
        let sentence = "an entry without a name is for no method, and nothing is retried by it";
        let remedy = "name the services, or write `\"name\": [{}]` for all of them";
        reading.find(span, code::NEVER_RETRIES, sentence, remedy);
        return;
    }
    timeouts::total(reading, &mut draft, method);
    budget(&mut draft, throttling);
    let why = "a server's `grpc-retry-pushback-ms` takes the place of the wait, and a negative one ends the call";
    draft.lose("pushback", why, None);
    if matches!(client, Client::Go | Client::Java) {
        let why = "a stream that the server refuses is begun once more at once, which `maxAttempts` does not count";
        draft.lose("refused streams", why, None);
    }
    let shown: Vec<_> = methods_named
        .iter()
        .map(|(service, method)| shown(service, method))
        .collect();
    let mut services: Vec<_> = methods_named
        .into_iter()
        .map(|(service, _)| service)
        .collect();
    services.retain(|it| !it.is_empty());
    services.dedup();
    let name = format!("methods {}", shown.join(", "));
    reading.map(draft, name, services, span);
}

/// What its retries or hedges come to, and where they are configured.
fn drafted(reading: &mut Reading<'_>, method: &Node, client: Client) -> Option<(Span, Draft)> {
    let retry = spelled(reading, method, "retryPolicy");
    let hedging = spelled(reading, method, "hedgingPolicy");
    match (retry, hedging) {
        (Some(_), Some((key, _))) if client.hedges() => {
            let sentence = format!(
                "`hedgingPolicy` stands beside `retryPolicy`, which {} refuses: a method is retried or hedged",
                reading.who()
            );
            reading.find(key.span, code::REFUSED, sentence, "leave out one of them");
            None
        }
        (None, Some((key, hedging))) if client.hedges() => {
            Some((key.span, hedging::draft(reading, hedging)?))
        }
        (retry, hedging) => {
            if let Some((key, _)) = hedging {
                let who = reading.who();
                let sentence = format!("{who} does not hedge: `hedgingPolicy` is not read");
                let remedy = "set a `retryPolicy`";
                reading.find(key.span, code::KEY_NOT_READ, sentence, remedy);
            }
            let (key, retry) = retry?;
            Some((key.span, retrying::draft(reading, retry, key.span)?))
        }
    }
}

fn shown(service: &str, method: &str) -> String {
    let or_all = |name: &str| if name.is_empty() { "*" } else { name }.to_owned();
    format!("/{}/{}", or_all(service), or_all(method))
}

fn names_of(
    reading: &mut Reading<'_>,
    method: &Node,
    named: &mut HashSet<(String, String)>,
) -> Vec<(String, String)> {
    let Some(list) = field(reading, method, "name") else {
        if Client::of(reading.version) == Client::Js {
            let sentence = "grpc-js refuses an entry without `name`";
            let remedy = "write `\"name\": [{}]` for all methods";
            reading.find(method.span, code::REFUSED, sentence, remedy);
        }
        return Vec::new();
    };
    let mut own_names = Vec::new();
    for name in list.items() {
        let part = |key| {
            name.get(key)
                .and_then(Node::text)
                .unwrap_or_default()
                .to_owned()
        };
        let own = (part("service"), part("method"));
        if own.0.is_empty() && !own.1.is_empty() {
            let sentence = "a method without its service is refused, and the whole config with it";
            let remedy = "add the `service`";
            reading.find(name.span, code::REFUSED, sentence, remedy);
        } else if !named.insert(own.clone()) {
            let sentence = format!(
                "{} is configured twice, which is refused, and the whole config with it",
                shown(&own.0, &own.1)
            );
            let remedy = "keep one of the entries";
            reading.find(name.span, code::REFUSED, sentence, remedy);
        }
        own_names.push(own);
    }
    own_names
}

/// One for all methods of a server.
fn throttling(reading: &mut Reading<'_>, config: &Node) -> Option<(Budget, Origin)> {
    let (key, throttling) = spelled(reading, config, "retryThrottling")?;
    let mut filled = ["maxTokens", "tokenRatio"].into_iter().filter_map(|it| {
        let node = throttling.entries().iter().find(|(key, _)| key.name == it);
        let node = node.map(|(_, node)| node)?;
        Some((node.span, node.text().filter(|it| is_placeholder(it))?))
    });
    let filled = filled.next();
    let bounds = tokens(reading, key, throttling);
    match filled {
        Some((span, text)) => Some((Budget::None, Origin::Unknown(span, text.to_owned()))),
        None => Some((bounds?, Origin::Line(key.span))),
    }
}

fn tokens(reading: &mut Reading<'_>, key: &Key, throttling: &Node) -> Option<Budget> {
    let client = Client::of(reading.version);
    let (tokens, _) = number(
        reading,
        throttling,
        "maxTokens",
        key.span,
        move |tokens, node| match client {
            Client::Core => tokens >= 1.0 && tokens.fract() == 0.0,
            Client::Java => tokens > 0.0,
            Client::Js | Client::Go => tokens > 0.0 && tokens <= 1000.0 && is_number(node),
        },
    )?;
    // Decimals beyond the third are cut off.
    let (ratio, _) = number(
        reading,
        throttling,
        "tokenRatio",
        key.span,
        move |ratio, node| match client {
            Client::Core => ratio >= 0.001,
            Client::Java => ratio > 0.0,
            Client::Js | Client::Go => ratio > 0.0 && is_number(node),
        },
    )?;
    if tokens > 1000.0 {
        let sentence =
            format!("grpc-java takes {tokens} `maxTokens`; other clients refuse more than 1000");
        reading.note(
            key.span,
            code::NOT_UNDERSTOOD,
            sentence,
            "write 1000 or less",
        );
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 1 to 1000"
    )]
    let most = tokens.clamp(1.0, 1000.0) as u32;
    let ratio = (ratio * 1000.0).floor() / 1000.0;
    Some(Budget::grpc(most, ratio.clamp(0.001, 1000.0)))
}

fn budget(draft: &mut Draft, throttling: Option<&(Budget, Origin)>) {
    if let Some((budget, origin)) = throttling {
        draft.policy.budget = *budget;
        draft.origin("budget", origin.clone());
    }
}

/// What a policy of gRPC has before its file says anything: no retry without a `retryPolicy`.
fn bare() -> Policy {
    becalm::preset::Preset::by_name("grpc")
        .map_or_else(|_| Policy::default(), becalm::preset::Preset::policy)
        .budget(Budget::None)
}
