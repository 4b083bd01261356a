//! What does Kong repeat, by its declarative configuration and by annotations?
//!
//! Read in Kong/kong 3.9.3 (`kong/db/schema/entities/services.lua`, `kong/init.lua`, `kong/runloop/handler.lua`,
//! `kong/templates/nginx_kong.lua`) and in Kong/kubernetes-ingress-controller 3.5.13 (`internal/dataplane/kongstate/service.go`). It was
//! not run; what it passes on is nginx's, which was.
//!
//! Kong asks nginx for `retries` more tries, at once, of what `proxy_next_upstream` names by default: what fails or times out, but for
//! POST, LOCK and PATCH that were sent. Where nothing is said these are 5. There is no budget and no bound on all together.

use std::time::Duration;

use super::kubernetes::{Annotations, is_built_in, is_of};
use super::methods::connecting;
use super::nginx;
use crate::code;
use crate::document::{Document, Key, Node};
use crate::evidence::Evidence;
use crate::hints::looks_like_retries;
use crate::list::list;
use crate::mapping::{Draft, Origin};
use crate::meant::{did_you_mean, slip_of};
use crate::reading::{Later, Reading};
use crate::scalars::is_number;
use crate::system::{Follows, Form, Refuses, Remedies, Schema, System};
use crate::told::Told;

pub(super) const KONG: System = System {
    name: "kong",
    title: "Kong",
    versions: &["3.9"],
    evidence: Evidence::Read,
    form: Form::Tree,
    remedies: REMEDIES,
    fewer: Some("lower `retries`"),
    elsewhere: &[
        "no-budget",
        "no-deadline",
        "no-total-time",
        "retries-at-once",
    ],
    follows: Follows::Attempts,
    schema: Schema {
        refuses: Some(Refuses {
            place: |path| {
                let parts = ["services", "routes", "upstreams", "proxy", "spec"];
                let is_own = path.first().is_some_and(|it| parts.contains(it));
                // A plugin has settings of its own.
                is_own && !path.contains(&"config")
            },
            how: "Kong refuses the file, or kubectl the resource",
        }),
        homes: &[("retries", "move it into an item of `services`")],
        // Of plugins that limit rates: what they tell clients.
        own: &[("config", "retry_after_jitter_max")],
        kinds: &[
            "kongingresses.configuration.konghq.com",
            "kongservices.configuration.konghq.com",
        ],
        ..Schema::OPEN
    },
};

/// What helps against a lint, by its code.
const REMEDIES: Remedies = &[(
    "no-deadline",
    "lower `retries` or `read_timeout`: a service has no bound on all attempts together, kong.conf may",
)];

const SERVICE: &[&str] = list!(
    "id name retries protocol host port path url connect_timeout write_timeout read_timeout tags \
     client_certificate tls_verify tls_verify_depth ca_certificates enabled routes plugins \
     created_at updated_at controlPlaneRef"
);

const PREFIX: &str = "konghq.com/";
const ANNOTATIONS: &[&str] = list!("retries connect-timeout read-timeout write-timeout");

const KEYS: &[&str] = list!("attempts base jitter budget attempt_timeout retry_on");

/// Where nothing is said.
const RETRIES: u32 = 5;
const TIMEOUT: Duration = Duration::from_secs(60);

/// More than this Kong refuses.
const MOST: u32 = 32_767;

pub(super) fn recognises(document: &Document<'_>) -> bool {
    document.at(&["_format_version"]).is_some()
        || kind(document).is_some()
        || Annotations::of(document, PREFIX, ANNOTATIONS)
            .first()
            .is_some()
}

/// Resources of Kong that are read.
fn kind<'a>(document: &Document<'a>) -> Option<&'a str> {
    let kind = document.at(&["kind"]).and_then(Node::text)?;
    let is_read = ["KongIngress", "KongService", "KongUpstreamPolicy"].contains(&kind);
    (is_read && is_of(document, "configuration.konghq.com")).then_some(kind)
}

pub(super) fn read(reading: &mut Reading<'_>) {
    let document = reading.document;
    reading.misread = code::REFUSED;
    if let Some(kind) = kind(&document) {
        match kind {
            "KongIngress" => of_kong_ingress(reading),
            "KongService" => {
                if let Some(spec) = document.at(&["spec"]) {
                    of_entry(reading, spec, None);
                }
            }
            // It has targets and checks of health, and no retries.
            _ => {}
        }
    } else if document.at(&["apiVersion"]).is_some() {
        of_annotations(reading);
    } else {
        of_file(reading);
    }
}

fn of_file(reading: &mut Reading<'_>) {
    let document = reading.document;
    let defaults = document.at(&["_info", "defaults", "service"]);
    if let Some(defaults) = defaults {
        check(reading, defaults);
    }
    let services = document.at(&["services"]).map_or(&[][..], Node::items);
    let of_routes = document.at(&["routes"]).map_or(&[][..], Node::items);
    for plugin in document.at(&["plugins"]).map_or(&[][..], Node::items) {
        plugin.get("name");
    }
    if let Some(tree) = document.tree {
        misplaced(reading, tree, "at its top");
    }
    for upstream in document.at(&["upstreams"]).map_or(&[][..], Node::items) {
        misplaced(reading, upstream, "in an upstream");
        for target in upstream.list(&["targets"]) {
            misplaced(reading, target, "in a target");
        }
    }
    let routes = services.iter().flat_map(|it| it.list(&["routes"]));
    for route in routes.chain(of_routes) {
        misplaced(reading, route, "in a route");
    }
    let within = of_routes.iter().filter_map(|it| it.get("service"));
    for service in services.iter().chain(within.filter(|it| it.is_table())) {
        of_entry(reading, service, defaults);
    }
}

/// Tells of times of a service that stand elsewhere. Its `retries` are told by what they look like.
fn misplaced(reading: &mut Reading<'_>, node: &Node, place: &str) {
    let is_time =
        |key: &Key| ["connect_timeout", "write_timeout", "read_timeout"].contains(&&*key.name);
    for (key, _) in node.entries().iter().filter(|(key, _)| is_time(key)) {
        let sentence = format!(
            "{} has no field `{}` {place}, and refuses the file",
            reading.who(),
            key.name
        );
        let remedy = "move it into an item of `services`";
        reading.find(key.span, code::NO_SUCH_FIELD, sentence, remedy);
    }
}

/// Tells of fields that a service does not have, as far as they may be about retries.
fn check(reading: &mut Reading<'_>, service: &Node) {
    for (key, _) in service.entries() {
        // Later versions have more, such as `tls_sans`.
        let is_about =
            looks_like_retries(&key.name) || key.name.to_ascii_lowercase().contains("timeout");
        let is_told = is_about || slip_of(&key.name, SERVICE).is_some();
        if is_told && !SERVICE.contains(&&*key.name) {
            let sentence = format!(
                "{} has no field `{}` in a service, and refuses the file",
                reading.who(),
                key.name
            );
            let remedy = Later(|| did_you_mean(&key.name, "the fields", SERVICE));
            reading.find(key.span, code::NO_SUCH_FIELD, sentence, remedy);
        }
    }
}

/// A service of the file, or of a resource.
fn of_entry(reading: &mut Reading<'_>, service: &Node, defaults: Option<&Node>) {
    check(reading, service);
    let field = |name: &str| {
        let own = service.get(name).filter(|it| !it.is_null());
        own.or_else(|| defaults.and_then(|it| it.get(name)))
    };
    let text = |name: &str| service.get(name).and_then(Node::text);
    let name = text("name")
        .or_else(|| text("host"))
        .or_else(|| text("url"));
    let host = text("host").or_else(|| host(text("url")?));
    let names = [text("name"), host].into_iter().flatten();
    let service = Service {
        title: format!("service {}", name.unwrap_or("?")),
        names: names.map(ToOwned::to_owned).collect(),
        retries: field("retries"),
        read: field("read_timeout"),
        others: [field("connect_timeout"), field("write_timeout")],
        is_stream: text("protocol").is_some_and(|it| STREAMS.contains(&it)),
        span: service
            .entry("retries")
            .map_or(service.span, |(key, _)| key.span),
    };
    of_service(reading, service);
}

/// Protocols of connections: connecting alone is repeated.
const STREAMS: &[&str] = list!("tcp tls udp tls_passthrough");

/// `http://orders:80/path` to `orders`.
fn host(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    rest.split(['/', ':', '?']).next()
}

struct Service<'n> {
    title: String,
    names: Vec<String>,
    retries: Option<&'n Node>,
    read: Option<&'n Node>,
    /// Its other times, which no policy holds.
    others: [Option<&'n Node>; 2],
    is_stream: bool,
    span: crate::document::Span,
}

fn of_kong_ingress(reading: &mut Reading<'_>) {
    let document = reading.document;
    let Some(tree) = document.tree else { return };
    let Some((key, proxy)) = tree.entry("proxy").filter(|(_, it)| it.is_table()) else {
        return;
    };
    let sentence =
        "`proxy` of a KongIngress is refused since the Ingress Controller 3.0; older ones read it";
    let remedy = "write `konghq.com/retries` and its kin in the annotations of the Service";
    reading.find(key.span, code::KEY_NOT_READ, sentence, remedy);
    let name = document.at(&["metadata", "name"]).and_then(Node::text);
    let service = Service {
        title: format!("KongIngress {}", name.unwrap_or("?")),
        names: Vec::new(),
        retries: proxy.get("retries"),
        read: proxy.get("read_timeout"),
        others: ["connect_timeout", "write_timeout"].map(|it| proxy.get(it)),
        is_stream: false,
        span: proxy.entry("retries").map_or(key.span, |(key, _)| key.span),
    };
    of_service(reading, service);
}

fn of_annotations(reading: &mut Reading<'_>) {
    let document = reading.document;
    let own = Annotations::of(&document, PREFIX, ANNOTATIONS);
    own.check(reading, |_| "Service");
    if !is_built_in(&document, "Service") {
        return;
    }
    // What is no number is passed over.
    reading.misread = code::NOT_UNDERSTOOD;
    let span = own.first().map_or_else(|| document.start(), |it| it.span);
    let name = document.at(&["metadata", "name"]).and_then(Node::text);
    let service = Service {
        title: format!("service {}", name.unwrap_or("?")),
        names: name.map(ToOwned::to_owned).into_iter().collect(),
        retries: own.get("retries"),
        read: own.get("read-timeout"),
        others: ["connect-timeout", "write-timeout"].map(|it| own.get(it)),
        is_stream: false,
        span,
    };
    of_service(reading, service);
}

/// `nonzero_timeout` of `services.lua`: up to 2^31 - 2.
fn time(reading: &mut Reading<'_>, node: Option<&Node>) -> Told<Duration> {
    let most = u64::from(i32::MAX.unsigned_abs()) - 1;
    let is_large = |it: &str| it.parse().is_ok_and(|it: u64| it > most);
    let form = if node.and_then(Node::text).is_some_and(is_large) {
        "a number of milliseconds up to 2147483646"
    } else {
        "a number of milliseconds above 0"
    };
    let told = reading.told(node, form, |it| {
        it.parse().ok().filter(|it| (1..=most).contains(it))
    });
    told.map(Duration::from_millis)
}

fn of_service(reading: &mut Reading<'_>, service: Service<'_>) {
    for other in service.others {
        time(reading, other);
    }
    if let Some(node) = service.retries.filter(|it| is_number(it)) {
        let said = node.text().unwrap_or_default();
        if said.trim_start_matches(['+', '-']).starts_with("0o") {
            let sentence =
                format!("`{said}` is a number to decK, and a text to Kong, which refuses it");
            let remedy = "write the number in decimal digits";
            reading.find(node.span, code::NOT_KNOWN, sentence, remedy);
        }
    }
    let retries = reading.told(service.retries, "a number of retries up to 32767", |it| {
        it.parse().ok().filter(|it| *it <= MOST)
    });
    let mut draft = Draft::of(nginx::at_once(RETRIES + 1), KEYS);
    match retries {
        Told::Is(0, _) => return, // switched off
        Told::Is(retries, span) => {
            draft.retries(retries, span);
        }
        Told::Absent => {
            let sentence = format!(
                "{}: Kong repeats up to {RETRIES} times though nothing is written",
                service.title
            );
            let remedy = "set `retries: 0` to turn it off, or `retries: 1`";
            reading.find(service.span, code::REPEATS_BY_DEFAULT, sentence, remedy);
        }
        told @ Told::Unknown(..) => draft.set("attempts", told, |_, _| {}),
    }
    let read = time(reading, service.read);
    draft.policy.attempt_timeout = Some(TIMEOUT);
    draft.attempt_timeout(read);
    let lists = if service.is_stream {
        Some(connecting())
    } else {
        nginx::next_upstream(reading, None)
    };
    let Some(lists) = lists else { return };
    draft.policy.retry_on = lists.into();
    draft.origin("retry_on", Origin::Default);
    let why = "it is the longest time between two reads of an answer, not of an attempt";
    draft.lose("read_timeout", why, None);
    let why = "each attempt goes to a target that the balancer chooses, perhaps the same";
    draft.lose("upstream", why, None);
    let why = "`nginx_proxy_proxy_next_upstream` of kong.conf may repeat more";
    draft.lose("kong.conf", why, None);
    reading.map(draft, service.title, service.names, service.span);
}
