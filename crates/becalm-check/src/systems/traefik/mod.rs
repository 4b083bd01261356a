//! What does Traefik's dynamic configuration say about retrying?
//!
//! Read in traefik/traefik 3.7.9 (`pkg/middlewares/retry/retry.go`, `pkg/config/dynamic/middlewares.go`,
//! `pkg/provider/kubernetes/crd`, `pkg/server/service/transport.go`), 3.6.0, and in traefik/paerser 0.2.2, which reads files and
//! labels: names in any case, and nothing of a file or of a container's labels where one name is unknown. It was not run.
//!
//! The middleware `retry` counts attempts, not retries. It repeats a request that did not reach its server, whatever its method; since
//! 3.7 also those that are answered with a status that is listed, but for POST, PATCH and LOCK. It has no budget. The middleware
//! `buffering` repeats by an expression, whatever the method.

mod buffering;
mod durations;
mod failover;
mod labels;
mod retry;
mod routers;

use crate::code;
use crate::document::{Document, Key, Node};
use crate::evidence::Evidence;
use crate::hints::looks_like_retries;
use crate::list::list;
use crate::meant::{did_you_mean, slip_of};
use crate::reading::{Later, Reading};
use crate::system::{Follows, Form, Refuses, Remedies, Schema, System};
use crate::systems::kubernetes::is_of;

pub(super) const TRAEFIK: System = System {
    name: "traefik",
    title: "Traefik",
    versions: &["3.7", "3.6"],
    evidence: Evidence::Read,
    form: Form::Tree,
    remedies: REMEDIES,
    fewer: Some("lower `attempts`"),
    elsewhere: &["no-budget"],
    follows: Follows::Attempts,
    schema: Schema {
        is_toml: true,
        refuses: Some(Refuses {
            place: |path| {
                let is_own = path.first().is_some_and(|it| ["http", "spec"].contains(it));
                is_own && !path.contains(&"plugin")
            },
            how: "Traefik refuses the file, or kubectl the resource",
        }),
        homes: &[
            ("retry", "move it into a middleware, by a name of its own"),
            ("attempts", "move it into `retry` of a middleware"),
        ],
        own: &[
            ("passiveHealthCheck", "maxFailedAttempts"),
            // Of the access log: whether requests that were repeated are kept.
            ("filters", "retryAttempts"),
            // Of Compose, beside the labels: checks of health.
            ("healthcheck", "retries"),
        ],
        tables: &["retry"],
        kinds: &[
            "middlewares.traefik.io",
            "ingressroutes.traefik.io",
            "traefikservices.traefik.io",
        ],
        ..Schema::OPEN
    },
};

/// What helps against a lint, by its code.
const REMEDIES: Remedies = &[
    ("retries-at-once", "set `initialInterval: 100ms`"),
    ("no-growth", "set `initialInterval: 100ms`"),
    (
        "repeats-non-idempotent",
        "leave `retryNonIdempotentMethod` out",
    ),
    ("no-deadline", "set `timeout: 10s`, as of Traefik 3.7"),
    (
        "waits-exceed-deadline",
        "lower `attempts` or `initialInterval`: Traefik gives up at `timeout`, and after 15 minutes at the latest",
    ),
    (
        "attempt-timeout-fills-deadline",
        "lower `responseHeaderTimeout`, or raise `timeout`",
    ),
    ("long-waits", "lower `initialInterval`"),
];

/// How a configuration is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    File,
    Labels,
    Resource,
}

impl Source {
    /// What follows from a field that is unknown.
    const fn refusal(self) -> &'static str {
        match self {
            Self::File => "Traefik refuses the file",
            Self::Labels => "Traefik takes none of the labels of this container",
            Self::Resource => {
                "kubectl refuses the resource, or the field is dropped without a word"
            }
        }
    }

    /// A field, by its name: in a resource as it is written, elsewhere in any case.
    fn entry<'n>(self, node: &'n Node, name: &str) -> Option<(&'n Key, &'n Node)> {
        let is_it = |key: &Key| match self {
            Self::Resource => key.name == name,
            _ => key.name.eq_ignore_ascii_case(name),
        };
        let (key, node) = node.entries().iter().rfind(|(key, _)| is_it(key))?;
        key.asked.set(true);
        Some((key, node))
    }

    fn get<'n>(self, node: &'n Node, name: &str) -> Option<&'n Node> {
        self.entry(node, name).map(|(_, node)| node)
    }

    /// Tells of fields that the schema lacks; `is_told` selects them.
    fn check(
        self,
        reading: &mut Reading<'_>,
        node: &Node,
        what: &str,
        fields: &[&str],
        is_told: impl Fn(&str) -> bool,
    ) {
        for (key, _) in node.entries() {
            let is_known = fields.iter().any(|it| match self {
                Self::Resource => *it == key.name,
                _ => it.eq_ignore_ascii_case(&key.name),
            });
            if is_known || !is_told(&key.name) {
                continue;
            }
            let remedy = Later(|| did_you_mean(&key.name, "the fields", fields));
            let sentence = format!(
                "{} has no field `{}` in {what}: {}",
                reading.who(),
                key.name,
                self.refusal()
            );
            reading.find(key.span, code::NO_SUCH_FIELD, sentence, remedy);
        }
    }
}

/// Parts of `http`.
const HTTP: &[&str] = list!("routers services middlewares models serversTransports");

/// Middlewares whose names may be misspelt so that retries are lost with them.
const MIDDLEWARES: &[&str] =
    list!("retry circuitBreaker inFlightReq rateLimit buffering chain errors");

const GROUPS: [&str; 2] = ["traefik.io", "traefik.containo.us"];

fn is_resource(document: &Document<'_>) -> bool {
    GROUPS.iter().any(|it| is_of(document, it))
}

pub(super) fn recognises(document: &Document<'_>) -> bool {
    if is_resource(document) {
        return true;
    }
    let Some(tree) = document.tree else {
        return false;
    };
    let http = Source::File.get(tree, "http");
    let has = |name: &&str| http.is_some_and(|it| Source::File.get(it, name).is_some());
    ["routers", "middlewares", "serversTransports"]
        .iter()
        .any(has)
        || labels::has_any(tree)
}

pub(super) fn read(reading: &mut Reading<'_>) {
    let document = reading.document;
    reading.misread = code::REFUSED;
    let Some(tree) = document.tree else {
        return;
    };
    if is_resource(&document) {
        of_resource(reading);
        return;
    }
    for labels in labels::trees(reading, tree) {
        let before = reading.mark();
        of_tree(reading, &labels, Source::Labels);
        labels::unread(reading, &labels, before);
    }
    of_tree(reading, tree, Source::File);
}

fn of_resource(reading: &mut Reading<'_>) {
    let document = reading.document;
    let Some(spec) = document.at(&["spec"]) else {
        return;
    };
    if !document.says(&["kind"], "Middleware") {
        failover::read(reading, spec, Source::Resource);
        return;
    }
    let name = document.at(&["metadata", "name"]).and_then(Node::text);
    let routers = routers::Routers::default();
    let name = name.unwrap_or("?");
    of_middleware(reading, name, spec, Source::Resource, &routers);
}

fn of_tree(reading: &mut Reading<'_>, tree: &Node, source: Source) {
    // Names are the user's own.
    for kind in ["http", "tcp", "udp"] {
        let parts = source.get(tree, kind).map_or(&[][..], Node::entries);
        let named = parts.iter().flat_map(|(_, it)| it.entries());
        for (name, _) in named.filter(|(_, it)| it.is_table()) {
            name.asked.set(true);
        }
    }
    let Some(http) = source.get(tree, "http") else {
        return;
    };
    if source == Source::File && passed_over(reading, tree) {
        let keys = http.walk().flat_map(Node::entries);
        keys.for_each(|(key, _)| key.asked.set(true));
        return;
    }
    source.check(reading, http, "`http`", HTTP, |_| true);
    let routers = routers::Routers::of(http, source);
    let middlewares = source.get(http, "middlewares");
    for (name, body) in middlewares.map_or(&[][..], Node::entries) {
        of_middleware(reading, &name.name, body, source, &routers);
    }
    let services = source.get(http, "services");
    for (_, service) in services.map_or(&[][..], Node::entries) {
        failover::read(reading, service, source);
    }
}

/// Whether the file is a static configuration that does not name itself as the file of the dynamic one: of a file Traefik takes the
/// sections that the configuration has which it reads, and passes over others (`Decode` of `file/file.go` of paerser).
fn passed_over(reading: &mut Reading<'_>, tree: &Node) -> bool {
    let source = Source::File;
    let has = |name: &&&str| source.get(tree, name).is_some();
    let Some(section) = ["entryPoints", "providers", "certificatesResolvers"]
        .iter()
        .find(has)
    else {
        return false;
    };
    let base = |it: &str| it.rsplit(['/', '\\']).next().unwrap_or(it).to_owned();
    let provider = source
        .get(tree, "providers")
        .and_then(|it| source.get(it, "file"));
    let named = |name| source.get(provider?, name)?.text();
    let is_own = named("filename").is_some_and(|it| base(it) == base(reading.document.file));
    if is_own || named("directory").is_some() {
        return false;
    }
    let Some((key, _)) = source.entry(tree, "http") else {
        return false;
    };
    let sentence = format!(
        "Traefik passes over `http` beside `{section}`: a static configuration has no middlewares"
    );
    let remedy =
        "move `http` to the file that `providers.file.filename` names, or name this file there";
    reading.find(key.span, code::KEY_NOT_READ, sentence, remedy);
    true
}

fn of_middleware(
    reading: &mut Reading<'_>,
    name: &str,
    body: &Node,
    source: Source,
    routers: &routers::Routers<'_>,
) {
    source.check(reading, body, "a middleware", MIDDLEWARES, |it| {
        slip_of(it, MIDDLEWARES).is_some() || looks_like_retries(it)
    });
    if let Some((key, retry)) = source.entry(body, "retry") {
        let around = routers.around(name);
        retry::read(reading, name, (key, retry), source, &around);
    }
    if let Some(buffer) = source.get(body, "buffering") {
        let around = routers.around(name);
        buffering::read(reading, name, buffer, source, &around);
    }
}
