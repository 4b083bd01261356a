//! What does a `MeshRetry` of Kuma say about retrying, or a `Retry` of older versions?
//!
//! Read in kumahq/kuma 2.14.3 (`pkg/plugins/policies/meshretry`, `api/mesh/v1alpha1/retry.proto`, `pkg/xds/envoy/routes/v3`) and of August
//! 2026. It was not run; what it makes is Envoy's.
//!
//! Of `http.retryOn` words replace the default; methods and statuses do not: with statuses alone what is repeated by default is repeated
//! as well. The time-out of a request is set by a `MeshTimeout`, and how many retries run at once by a `MeshCircuitBreaker`.

use std::collections::BTreeSet;
use std::time::Duration;

use becalm::Budget;
use becalm::retry_on::Methods;

use super::envoy::{KEYS, Words, base_alone, policy};
use super::kubernetes::{REFUSES, check, is_of, name_of};
use super::methods::{connecting, listed};
use super::nginx;
use crate::code;
use crate::document::{Document, Key, Node};
use crate::evidence::Evidence;
use crate::list::list;
use crate::mapping::{Draft, Origin};
use crate::meant::did_you_mean;
use crate::reading::{Later, Reading};
use crate::system::{Follows, Form, Refuses, Remedies, Schema, System};
use crate::template::is_placeholder;
use crate::told::Told;

pub(super) const KUMA: System = System {
    name: "kuma",
    title: "Kuma",
    versions: &["2.14"],
    evidence: Evidence::Read,
    form: Form::Tree,
    remedies: REMEDIES,
    fewer: Some("lower `numRetries`"),
    elsewhere: &[
        "no-budget",
        "concurrency-alone",
        "no-deadline",
        "no-total-time",
    ],
    follows: Follows::Attempts,
    schema: Schema {
        refuses: Some(Refuses {
            place: |path| path.first().is_some_and(|it| ["spec", "conf"].contains(it)),
            how: REFUSES.how,
        }),
        homes: &[
            ("numRetries", "move it into `http` or `grpc` of a `default`"),
            ("retryOn", "move it into `http` or `grpc` of a `default`"),
            ("maxConnectAttempt", "move it into `tcp` of a `default`"),
        ],
        // Of a MeshCircuitBreaker.
        own: &[("connectionLimits", "maxRetries")],
        tables: &["backOff", "rateLimitedBackOff"],
        kinds: &["meshretries.kuma.io", "meshtimeouts.kuma.io"],
        ..Schema::OPEN
    },
};

/// What helps against a lint, by its code.
const REMEDIES: Remedies = &[
    (
        "repeats-non-idempotent",
        "name the methods: `HttpMethodGet` in `retryOn` of `http`, or `retriableMethods` of a `Retry`",
    ),
    ("repeats-what-may-be-done", ALL_BUT),
    (
        "no-deadline",
        "set `http.requestTimeout` in a MeshTimeout where none has it: it bounds all attempts together, of connections `connectionTimeout` each",
    ),
    (
        "attempt-timeout-fills-deadline",
        "lower `perTryTimeout` or `numRetries`, or raise the MeshTimeout",
    ),
    ("long-waits", "set a lower `backOff.maxInterval`"),
];

/// In `tcp`, which has nothing but a number.
const OF_TCP: Remedies = &[
    (
        "no-budget",
        "Kuma has no budget of connections; lower the number in `tcp`",
    ),
    (
        "retries-at-once",
        "Kuma has no wait before a connection; lower the number in `tcp`",
    ),
];

/// In `grpc`.
const OF_GRPC: Remedies = &[("repeats-non-idempotent", ALL_BUT)];

const ALL_BUT: &str = "leave all but Unavailable and ResourceExhausted (of a `Retry`: unavailable and resource_exhausted) out of `retryOn` of `grpc`";

const PROTOCOLS: &[&str] = list!("tcp http grpc");
const TCP: &[&str] = &["maxConnectAttempt:number"];
const HTTP: &[&str] = list!(
    "numRetries:number perTryTimeout:time backOff rateLimitedBackOff retryOn \
     retriableResponseHeaders retriableRequestHeaders hostSelection hostSelectionMaxAttempts:number"
);
const GRPC: &[&str] =
    list!("numRetries:number perTryTimeout:time backOff rateLimitedBackOff retryOn");
const BACK_OFF: &[&str] = list!("baseInterval:time maxInterval:time");
const LIMITED: &[&str] = list!("resetHeaders maxInterval:time");

/// Of the older `Retry`, whose types protobuf has: it takes a number in quotes.
const OLD_TCP: &[&str] = &["maxConnectAttempts"];
const OLD_HTTP: &[&str] =
    list!("numRetries perTryTimeout backOff retriableStatusCodes retriableMethods retryOn");
const OLD_GRPC: &[&str] = list!("numRetries perTryTimeout backOff retryOn");

/// What a policy has no word for.
const OTHERS: &[(&str, &str)] = &[
    (
        "retriableResponseHeaders",
        "answers are repeated by their headers",
    ),
    (
        "retriableRequestHeaders",
        "requests are repeated by their headers",
    ),
    ("hostSelection", "attempts go to other hosts"),
    (
        "hostSelectionMaxAttempts",
        "how often another host is looked for",
    ),
];

/// Words of `retryOn`, and Envoy's.
const HTTP_WORDS: &[(&str, &str)] = &[
    ("5xx", "5xx"),
    ("GatewayError", "gateway-error"),
    ("Reset", "reset"),
    ("Retriable4xx", "retriable-4xx"),
    ("ConnectFailure", "connect-failure"),
    ("EnvoyRatelimited", "envoy-ratelimited"),
    ("RefusedStream", "refused-stream"),
    ("Http3PostConnectFailure", "http3-post-connect-failure"),
];
const GRPC_WORDS: &[(&str, &str)] = &[
    ("Canceled", "cancelled"),
    ("DeadlineExceeded", "deadline-exceeded"),
    ("Internal", "internal"),
    ("ResourceExhausted", "resource-exhausted"),
    ("Unavailable", "unavailable"),
];
const METHOD: &str = "HttpMethod";

const HTTP_DEFAULT: &str = "gateway-error,connect-failure,refused-stream";
const GRPC_DEFAULT: &str =
    "cancelled,connect-failure,gateway-error,refused-stream,reset,resource-exhausted,unavailable";

/// Of Envoy, where nothing is said.
const AT_ONCE: u32 = 3;

/// The kind of a resource: of Kubernetes, or of a universal deployment.
fn kind<'a>(document: &Document<'a>) -> Option<&'a str> {
    let of_kubernetes = is_of(document, "kuma.io").then(|| document.at(&["kind"]));
    let node = of_kubernetes.flatten().or_else(|| document.at(&["type"]));
    let kind = node.and_then(Node::text);
    kind.filter(|it| ["MeshRetry", "Retry"].contains(it))
}

pub(super) fn recognises(document: &Document<'_>) -> bool {
    match kind(document) {
        Some("MeshRetry") => true,
        // A word that others may have as well.
        Some(_) => is_of(document, "kuma.io") || document.at(&["destinations"]).is_some(),
        None => false,
    }
}

pub(super) fn read(reading: &mut Reading<'_>) {
    let document = reading.document;
    reading.misread = code::REFUSED;
    let Some(tree) = document.tree else { return };
    let spec = tree.get("spec").unwrap_or(tree);
    if kind(&document) == Some("Retry") {
        let names = spec.list(&["destinations"]).iter();
        let names = names.filter_map(|it| it.at(&["match", "kuma.io/service"])?.text());
        let names: Vec<_> = names
            .filter(|it| *it != "*")
            .map(ToOwned::to_owned)
            .collect();
        if let Some(conf) = spec.get("conf") {
            of_conf(reading, conf, &names, true);
        }
        return;
    }
    for to in spec.list(&["to"]) {
        let name = to.at(&["targetRef", "name"]).and_then(Node::text);
        let names: Vec<_> = name.map(ToOwned::to_owned).into_iter().collect();
        if let Some(conf) = to.get("default") {
            of_conf(reading, conf, &names, false);
        }
    }
}

fn of_conf(reading: &mut Reading<'_>, conf: &Node, names: &[String], is_old: bool) {
    check(reading, Some(conf), "`default`", PROTOCOLS);
    let to = names.first().map_or("all services", |it| &**it);
    let fields = |new: &'static [&'static str], old| if is_old { old } else { new };
    if let Some((key, tcp)) = conf.entry("tcp") {
        let fields = fields(TCP, OLD_TCP);
        check(reading, Some(tcp), "`tcp`", fields);
        of_tcp(reading, (key, tcp.get(name_of(fields[0]))), to, names);
    }
    if let Some((key, http)) = conf.entry("http") {
        check(reading, Some(http), "`http`", fields(HTTP, OLD_HTTP));
        let repeated = if is_old {
            old_http(reading, http)
        } else {
            of_http(reading, http)
        };
        of_requests(reading, (key, http), repeated, to, names);
    }
    if let Some((key, grpc)) = conf.entry("grpc") {
        check(reading, Some(grpc), "`grpc`", fields(GRPC, OLD_GRPC));
        let repeated = of_grpc(reading, grpc, is_old);
        of_requests(reading, (key, grpc), repeated, to, names);
    }
}

fn of_tcp(
    reading: &mut Reading<'_>,
    (key, most): (&Key, Option<&Node>),
    to: &str,
    names: &[String],
) {
    let told = reading.told(most, "a number of attempts above 0", |it| {
        it.parse().ok().filter(|it: &u32| *it > 0)
    });
    let mut draft = Draft::of(nginx::at_once(1), KEYS);
    draft.set("attempts", told, |policy, it| policy.attempts = it);
    if draft.policy.attempts <= 1 {
        return;
    }
    draft.remedies = OF_TCP;
    draft.policy.retry_on = connecting().into();
    let why = "each is bounded by a MeshTimeout, which is another resource".to_owned();
    draft.origin("deadline", Origin::NotExpressible(why));
    let title = format!("connections to {to}");
    reading.map(draft, title, names.to_vec(), key.span);
}

/// What is repeated, for which methods, and whether the file says so.
struct Repeated<'n> {
    words: Words,
    methods: Methods,
    said: Option<&'n Node>,
}

fn of_http<'n>(reading: &mut Reading<'_>, http: &'n Node) -> Repeated<'n> {
    let said = http.get("retryOn").filter(|it| !it.is_null());
    let items = items(reading, said);
    let mut words = Vec::new();
    let mut statuses = Vec::new();
    let mut methods = BTreeSet::new();
    for (item, span) in items {
        let known = HTTP_WORDS.iter().find(|(it, _)| *it == item);
        let method = item.strip_prefix(METHOD).map(str::to_ascii_uppercase);
        let status = item.parse().ok().filter(|it| (100..600).contains(it));
        match (known, status, method) {
            (Some((_, word)), ..) => words.push(*word),
            (None, Some(status), _) => statuses.push((status, span)),
            (None, None, Some(method)) if listed([&*method].into()) != Methods::Any => {
                methods.insert(method);
            }
            _ => {
                let known: Vec<_> = HTTP_WORDS.iter().map(|(it, _)| *it).collect();
                let sentence = format!("{} refuses `{item}` in `retryOn`", reading.who());
                let remedy = Later(|| did_you_mean(&item, "the words", &known));
                reading.find(span, code::REFUSED, sentence, remedy);
            }
        }
    }
    let is_default = words.is_empty();
    let text = if is_default {
        HTTP_DEFAULT.to_owned()
    } else {
        words.join(",")
    };
    if let Some((status, span)) = statuses.first().filter(|_| is_default) {
        let sentence = format!(
            "with statuses alone Kuma repeats {HTTP_DEFAULT} beside {status}: more than is listed"
        );
        let remedy = "add a word, such as ConnectFailure, which takes the place of these";
        reading.find(*span, code::STATUSES_WIDER, sentence, remedy);
    }
    let mut words = Words::read(&text);
    words.and_statuses(statuses.into_iter().map(|(status, _)| status));
    if http.get("retriableRequestHeaders").is_some() {
        methods.clear();
    }
    Repeated {
        words,
        methods: any_or(methods),
        said,
    }
}

/// These methods, or all where none is named.
fn any_or(methods: BTreeSet<String>) -> Methods {
    if methods.is_empty() {
        Methods::Any
    } else {
        listed(methods)
    }
}

fn old_http<'n>(reading: &mut Reading<'_>, http: &'n Node) -> Repeated<'n> {
    let said = http.get("retryOn").filter(|it| !it.is_null());
    let mut all: Vec<String> = items(reading, said)
        .into_iter()
        .map(|(it, _)| it.trim_start_matches("all_").replace('_', "-"))
        .collect();
    let statuses: Vec<u16> = items(reading, http.get("retriableStatusCodes"))
        .into_iter()
        .filter_map(|(it, _)| it.parse().ok())
        .collect();
    if all.is_empty() {
        all.push(HTTP_DEFAULT.to_owned());
    }
    let mut words = Words::read(&all.join(","));
    unknown(reading, &words, said);
    words.and_statuses(statuses);
    let methods = items(reading, http.get("retriableMethods"));
    Repeated {
        words,
        methods: any_or(methods.into_iter().map(|(it, _)| it).collect()),
        said,
    }
}

fn of_grpc<'n>(reading: &mut Reading<'_>, grpc: &'n Node, is_old: bool) -> Repeated<'n> {
    let said = grpc.get("retryOn").filter(|it| !it.is_null());
    let mut words = Vec::new();
    for (item, span) in items(reading, said) {
        let known = GRPC_WORDS.iter().find(|(it, _)| *it == item);
        match known {
            Some((_, word)) => words.push((*word).to_owned()),
            None if is_old => words.push(item.replace('_', "-")),
            None => {
                let known: Vec<_> = GRPC_WORDS.iter().map(|(it, _)| *it).collect();
                let sentence = format!("{} refuses `{item}` in `retryOn`", reading.who());
                let remedy = Later(|| did_you_mean(&item, "the words", &known));
                reading.find(span, code::REFUSED, sentence, remedy);
            }
        }
    }
    let text = if words.is_empty() {
        GRPC_DEFAULT.to_owned()
    } else {
        words.join(",")
    };
    let words = Words::read(&text);
    unknown(reading, &words, said);
    Repeated {
        words,
        methods: Methods::Any,
        said,
    }
}

/// Of the older `Retry`.
fn unknown(reading: &mut Reading<'_>, words: &Words, said: Option<&Node>) {
    for (word, said) in words.unknown.iter().zip(std::iter::repeat(said)) {
        if let Some(said) = said {
            let word = word.replace('-', "_");
            let sentence = format!("{} refuses `{word}` in `retryOn`", reading.who());
            let remedy = Words::meant(&word.replace('_', "-")).replace('-', "_");
            reading.find(said.span, code::REFUSED, sentence, remedy);
        }
    }
}

/// The texts of a list.
fn items(reading: &mut Reading<'_>, node: Option<&Node>) -> Vec<(String, crate::document::Span)> {
    let Some(node) = node else { return Vec::new() };
    if node.is_table() || node.text().is_some_and(|it| !is_placeholder(it)) {
        let sentence = format!("{} reads a list here", reading.who());
        reading.find(node.span, code::REFUSED, sentence, "write a list");
    }
    let mut items = Vec::new();
    for item in node.items() {
        let told = reading.told(Some(item), "a word", |it| {
            (!is_placeholder(it)).then(|| it.to_owned())
        });
        items.extend(told.known().map(|it| (it, item.span)));
    }
    items
}

fn of_requests(
    reading: &mut Reading<'_>,
    (key, given): (&Key, &Node),
    repeated: Repeated<'_>,
    to: &str,
    names: &[String],
) {
    let policy = policy()
        .attempts(2)
        .budget(Budget::concurrency(0.0, AT_ONCE));
    let mut draft = Draft::of(policy.deadline(None), KEYS);
    draft.remedies = if key.name == "grpc" { OF_GRPC } else { &[] };
    let why = "set by a MeshTimeout, which is another resource".to_owned();
    draft.origin("deadline", Origin::NotExpressible(why));
    match reading.whole(given.get("numRetries"), "a number of retries") {
        Told::Is(0, _) => return, // switched off
        Told::Is(retries, span) => {
            draft.retries(retries, span);
        }
        Told::Absent => {
            let how = "a single retry where no number is written";
            draft.origin("attempts", Origin::Derived(key.span, how.into()));
        }
        told @ Told::Unknown(..) => draft.set("attempts", told, |_, _| {}),
    }
    let form = "a duration such as 1s";
    let each = reading.go_duration(given.get("perTryTimeout"), form);
    draft.attempt_timeout(each);
    if let Some((_, back_off)) = given.entry("backOff") {
        check(reading, Some(back_off), "`backOff`", BACK_OFF);
        let base = reading.go_duration(back_off.get("baseInterval"), form);
        let cap = reading.go_duration(back_off.get("maxInterval"), form);
        if let (Told::Is(base, span), Told::Is(cap, _)) = (&base, &cap)
            && cap < base
        {
            let sentence = "Envoy refuses a maxInterval below the baseInterval";
            let remedy = "raise the maxInterval, or leave it out";
            reading.find(*span, code::REFUSED, sentence, remedy);
            return;
        }
        let millisecond = Duration::from_millis(1);
        base_alone(
            &mut draft,
            &base.map(|it| it.max(millisecond)),
            "baseInterval",
        );
        draft.set("cap", cap, |policy, it| policy.cap = it.max(millisecond));
    }
    if let Some((key, limited)) = given.entry("rateLimitedBackOff") {
        check(reading, Some(limited), "`rateLimitedBackOff`", LIMITED);
        let why = "Envoy waits for as long as a header of the answer says, where it has one";
        draft.lose("rateLimitedBackOff", why, Some(key.span));
    }
    for (word, why) in &repeated.words.lost {
        draft.lose(*word, *why, repeated.said.map(|it| it.span));
    }
    for (name, why) in OTHERS {
        if let Some((key, _)) = given.entry(name) {
            draft.lose(*name, *why, Some(key.span));
        }
    }
    let why = "a MeshCircuitBreaker may allow more retries at once";
    draft.lose("MeshCircuitBreaker", why, None);
    draft.policy.retry_on = repeated.words.retry_on(repeated.methods).into();
    if let Some(said) = repeated.said {
        draft.origin("retry_on", Origin::Line(said.span));
    }
    let title = format!("{} to {to}", key.name);
    reading.map(draft, title, names.to_vec(), key.span);
}
