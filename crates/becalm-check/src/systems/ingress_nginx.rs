//! What do the annotations of ingress-nginx, and the settings of its controller, say about the next server?
//!
//! `internal/ingress/annotations/proxy`, `internal/ingress/controller/{config,template}` and `rootfs/etc/nginx/lua/balancer.lua` of
//! kubernetes/ingress-nginx: the balancer asks for one more try each time (`set_more_tries(1)`), so that `proxy-next-upstream-tries`
//! alone bounds the attempts, not the number of servers.
//! The settings stand in a `ConfigMap`, or below `controller.config` of its chart's values; they hold for each Ingress that says nothing
//! itself, and `retry-non-idempotent` for all.

use std::time::Duration;

use becalm::Policy;
use becalm::retry_on::{Methods, RetryOn};

use super::kubernetes::{Annotations, is_a, is_built_in, texts_alone};
use super::methods::connecting;
use super::nginx;
use crate::code;
use crate::document::{Document, Key, Node, Span, Together, Value};
use crate::evidence::Evidence;
use crate::hints::looks_like_retries;
use crate::list::list;
use crate::mapping::{Draft, Origin};
use crate::meant::{did_you_mean, did_you_mean_words, slip_of};
use crate::reading::Reading;
use crate::room::Connecting;
use crate::system::{Follows, Form, Remedies, Schema, System};
use crate::template::is_placeholder;
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
        "leave `non_idempotent` out of `proxy-next-upstream`, and `retry-non-idempotent` out of the ConfigMap",
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
const CONNECT: &str = "proxy-connect-timeout";
const ANNOTATIONS: &[&str] = &[NEXT, TRIES, TIMEOUT];

/// Of the controller alone.
const ALL_METHODS: &str = "retry-non-idempotent";
const STREAM: &str = "proxy-stream-next-upstream";
const STREAM_TRIES: &str = "proxy-stream-next-upstream-tries";
const STREAM_TIMEOUT: &str = "proxy-stream-next-upstream-timeout";
const SETTINGS: &[&str] = &[
    NEXT,
    TRIES,
    TIMEOUT,
    ALL_METHODS,
    STREAM,
    STREAM_TRIES,
    STREAM_TIMEOUT,
    READ,
    CONNECT,
];

const KEYS: &[&str] = list!("attempts base jitter budget attempt_timeout deadline retry_on");

/// The settings of the controller, and their file; of several, which of them holds is not known, and so none does.
#[derive(Debug, Clone, Copy, Default)]
pub struct Controller<'a>(Option<(&'a str, &'a Node)>);

impl<'a> Controller<'a> {
    pub fn of(files: &[Together<'a>]) -> Self {
        let all = files
            .iter()
            .flat_map(|it| it.trees.iter().map(|tree| (it.file, tree)));
        let mut all = all.filter_map(|(file, tree)| Some((file, settings(tree)?)));
        Self(all.next().filter(|_| all.next().is_none()))
    }

    fn get(&self, name: &str) -> Option<&'a Node> {
        self.0?.1.get(name)
    }
}

pub(super) fn recognises(document: &Document<'_>) -> bool {
    let is_ingress = is_built_in(document, "Ingress");
    is_ingress && annotations(document).first().is_some()
        || document.tree.is_some_and(|it| settings(it).is_some())
}

fn annotations<'a>(document: &Document<'a>) -> Annotations<'a, 'static> {
    Annotations::of(document, PREFIX, ANNOTATIONS)
}

/// Of a `ConfigMap`, or of the values of the chart, perhaps as that of another one.
fn settings(tree: &Node) -> Option<&Node> {
    let data = if is_a(tree, "ConfigMap", &[""]) {
        tree.get("data")
    } else {
        let within = tree.get("ingress-nginx").unwrap_or(tree);
        within.at(&["controller", "config"])
    };
    let is_about = |it: &Key| {
        let name = &*it.name;
        name.starts_with(NEXT) || name.starts_with(STREAM) || name == ALL_METHODS
    };
    data.filter(|it| it.entries().iter().any(|(key, _)| is_about(key)))
}

pub(super) fn read<'a>(reading: &mut Reading<'a>, controller: Controller<'a>) {
    let document = reading.document;
    let Some(tree) = document.tree else { return };
    if let Some(own) = settings(tree) {
        of_controller(reading, own);
    } else {
        reading.misread = code::REFUSED;
        of_ingress(reading, controller);
    }
}

fn of_ingress<'a>(reading: &mut Reading<'a>, controller: Controller<'a>) {
    let document = reading.document;
    let own = annotations(&document);
    own.check(reading, |_| "Ingress");
    let span = own.first().map_or_else(|| document.start(), |it| it.span);
    let mut draft = draft();
    let [read, connect] = times(reading);
    let tries = whole_alone(reading, own.get(TRIES));
    let timeout = whole_alone(reading, own.get(TIMEOUT));
    let words = words_alone(reading, own.get(NEXT));
    let mut lists = None;
    if let Some((file, settings)) = controller.0 {
        let misread = std::mem::replace(&mut reading.misread, code::NOT_UNDERSTOOD);
        reading.in_file(file, &mut draft, span, |reading, draft| {
            bounds(reading, draft, |name| settings.get(name));
            if words.is_none() {
                lists = repeated(reading, draft, settings.get(NEXT));
            }
        });
        reading.misread = misread;
    }
    bounds(reading, &mut draft, |name| match name {
        READ => read,
        TRIES => tries,
        _ => timeout,
    });
    if words.is_some() || controller.0.is_none() {
        lists = repeated(reading, &mut draft, words);
    }
    let Some(mut lists) = lists else {
        return; // off
    };
    if let (Some((file, _)), Some(node)) = (controller.0, controller.get(ALL_METHODS)) {
        reading.in_file(file, &mut draft, span, |reading, draft| {
            lists = all_methods(reading, draft, lists.clone(), Some(node));
        });
    }
    if controller.0.is_none() {
        let why = "the controller's own settings stand in for annotations that are not there";
        draft.lose("ConfigMap", why, None);
    }
    let name = document.at(&["metadata", "name"]).and_then(Node::text);
    let backends = document.tree.into_iter().flat_map(Node::walk);
    let services = backends.filter_map(|it| {
        let backend = it.get("backend").or_else(|| it.get("defaultBackend"));
        backend?.at(&["service", "name"]).and_then(Node::text)
    });
    let mut names: Vec<String> = services.map(ToOwned::to_owned).collect();
    names.dedup();
    let title = format!("Ingress {}", name.unwrap_or("?"));
    draft.policy.retry_on = lists.into();
    match (connect, controller.0) {
        (None, Some((file, settings))) => {
            let connect = settings.get(CONNECT);
            reading.in_file(file, &mut draft, span, |reading, draft| {
                room_to_connect(reading, draft, connect, span);
            });
        }
        _ => room_to_connect(reading, &draft, connect, span),
    }
    map(reading, draft, title, names, span);
}

/// Annotations of time that are read beside those of retries: of an Ingress with those alone nothing is said.
fn times<'a>(reading: &mut Reading<'a>) -> [Option<&'a Node>; 2] {
    const KNOWN: [&str; 2] = [READ, CONNECT];
    let all = reading.document.at(&["metadata", "annotations"]);
    for (key, node) in all.map_or(&[][..], Node::entries) {
        let Some(name) = key.name.strip_prefix(PREFIX) else {
            continue;
        };
        if let Some(meant) = slip_of(name, &KNOWN) {
            let sentence = format!("ingress-nginx has no annotation `{}`", key.name);
            let remedy = format!("did you mean `{PREFIX}{meant}`?");
            reading.find(key.span, code::KEY_NOT_READ, sentence, remedy);
        } else if KNOWN.contains(&name) {
            texts_alone(reading, node, "an annotation");
        }
    }
    KNOWN.map(|name| {
        let node = all.and_then(|it| it.get(&format!("{PREFIX}{name}")));
        whole_alone(reading, node)
    })
}

/// Whether there is time to connect to all that are tried.
fn room_to_connect(reading: &mut Reading<'_>, draft: &Draft, node: Option<&Node>, at: Span) {
    let told = reading.whole(node, "a number of seconds");
    let Told::Is(seconds, span) = told else {
        return;
    };
    let time = Duration::from_secs(u64::from(seconds));
    let connecting = Connecting {
        name: CONNECT,
        time: Told::Is(time, span),
        default: time,
        remedy: "lower `proxy-connect-timeout`, or raise `proxy-next-upstream-timeout`",
    };
    reading.room_to_connect(draft, &connecting, at);
}

/// A number, as `ValidateInt` of `annotations/parser/validators.go` has it.
fn whole_alone<'n>(reading: &mut Reading<'_>, node: Option<&'n Node>) -> Option<&'n Node> {
    taken(reading, node, |text| {
        let is_whole = text.parse::<i64>().is_ok();
        (!is_whole).then(|| "write a whole number".to_owned())
    })
}

/// Words, as `validUpstreamAnnotation` of `annotations/proxy/main.go` has them.
fn words_alone<'n>(reading: &mut Reading<'_>, node: Option<&'n Node>) -> Option<&'n Node> {
    taken(reading, node, |text| {
        let wrong = text.split_whitespace().find(|it| !WORDS.contains(it));
        wrong.map(|it| did_you_mean_words(it, WORDS)).or_else(|| {
            // Each word may have one blank behind it, the last one too.
            let text = text.strip_suffix([' ', '\t']).unwrap_or(text);
            let is_one_line = text.split([' ', '\t']).all(|it| WORDS.contains(&it));
            (!is_one_line).then(|| "write the words with one space between them".to_owned())
        })
    })
}

/// The words of an annotation; nginx itself has `updating`, too.
const WORDS: &[&str] = list!(
    "error timeout invalid_header http_500 http_502 http_503 http_504 http_403 http_404 http_429 \
     non_idempotent off"
);

/// The value of an annotation that the controller takes. Of another it warns in its log, and goes on as if it were not there.
fn taken<'n>(
    reading: &mut Reading<'_>,
    node: Option<&'n Node>,
    wrong: impl Fn(&str) -> Option<String>,
) -> Option<&'n Node> {
    let node = node?;
    let known = node.text().filter(|it| !is_placeholder(it));
    let Some((text, remedy)) = known.and_then(|it| Some((it, wrong(it)?))) else {
        return Some(node);
    };
    let sentence = format!(
        "ingress-nginx does not take `{text}` for this annotation, and uses what its ConfigMap says, or its default"
    );
    reading.find(node.span, code::NOT_UNDERSTOOD, sentence, remedy);
    None
}

fn of_controller(reading: &mut Reading<'_>, own: &Node) {
    let is_map = is_built_in(&reading.document, "ConfigMap");
    let mut span = own.span;
    let is_about =
        |key: &Key| looks_like_retries(&key.name) || slip_of(&key.name, SETTINGS).is_some();
    for (key, node) in own.entries().iter().rev().filter(|(key, _)| is_about(key)) {
        key.asked.set(true);
        span = key.span;
        if !SETTINGS.contains(&&*key.name) {
            let sentence = format!(
                "the controller of ingress-nginx has no setting `{}`",
                key.name
            );
            let remedy = did_you_mean(&key.name, "the settings", SETTINGS);
            reading.find(key.span, code::KEY_NOT_READ, sentence, remedy);
        }
        if is_map {
            texts_alone(reading, node, "data of a ConfigMap");
        }
    }
    of_streams(reading, own);
    let is_own = |name: &&str| own.get(name).is_some();
    if ![NEXT, TRIES, TIMEOUT, ALL_METHODS].iter().any(is_own) {
        return;
    }
    let mut draft = draft();
    bounds(reading, &mut draft, |name| own.get(name));
    let Some(lists) = repeated(reading, &mut draft, own.get(NEXT)) else {
        return; // off
    };
    let lists = all_methods(reading, &mut draft, lists, own.get(ALL_METHODS));
    let title = "each Ingress without annotations of its own".to_owned();
    draft.policy.retry_on = lists.into();
    room_to_connect(reading, &draft, own.get(CONNECT), span);
    map(reading, draft, title, Vec::new(), span);
}

/// Connections of `tcp-services` and `udp-services`.
fn of_streams(reading: &mut Reading<'_>, own: &Node) {
    let first = [STREAM, STREAM_TRIES, STREAM_TIMEOUT]
        .iter()
        .find_map(|it| own.entry(it));
    let Some((key, _)) = first else { return };
    if reading.flag(own.get(STREAM), "true or false").known() == Some(false) {
        return;
    }
    let mut draft = draft();
    tries(reading, &mut draft, own.get(STREAM_TRIES));
    draft.policy.deadline = Some(Duration::from_secs(600));
    let time = own.get(STREAM_TIMEOUT);
    let time = reading.told(time, "a time as nginx writes it, such as 10s", nginx::time);
    draft.deadline(time);
    let title = "TCP and UDP services".to_owned();
    draft.policy.retry_on = connecting().into();
    map(reading, draft, title, Vec::new(), key.span);
}

fn draft() -> Draft {
    let mut draft = Draft::of(nginx::at_once(3), KEYS);
    draft.policy.attempt_timeout = Some(Duration::from_secs(60));
    draft
}

fn tries(reading: &mut Reading<'_>, draft: &mut Draft, node: Option<&Node>) {
    match reading.whole(node, "a number of attempts") {
        Told::Is(0, span) => {
            draft.policy.attempts = Policy::UNLIMITED;
            let how = "0 is without a bound: the balancer asks for one more try each time".into();
            draft.origin("attempts", Origin::Derived(span, how));
        }
        told => draft.set("attempts", told, |policy, it| policy.attempts = it),
    }
}

/// Takes what one place says of how often, and for how long.
fn bounds<'n>(
    reading: &mut Reading<'_>,
    draft: &mut Draft,
    value: impl Fn(&str) -> Option<&'n Node>,
) {
    tries(reading, draft, value(TRIES));
    let seconds = |told: Told<u32>| told.map(|it| Duration::from_secs(it.into()));
    let total = reading.whole(value(TIMEOUT), "a number of seconds");
    draft.deadline(seconds(total));
    let each = reading.whole(value(READ), "a number of seconds");
    draft.attempt_timeout(seconds(each));
}

/// What is repeated; `None` of `off`.
fn repeated(reading: &mut Reading<'_>, draft: &mut Draft, words: Option<&Node>) -> Option<RetryOn> {
    let form = "words such as `error timeout`";
    let told = reading.told(words, form, |it| {
        (!is_placeholder(it)).then(|| it.to_owned())
    });
    let filled = match told {
        Told::Is(text, span) => {
            draft.origin("retry_on", Origin::Line(span));
            let value = Value::Scalar { text, quoted: true };
            Some(Node { span, value })
        }
        told => {
            draft.set("retry_on", told, |_, _| {});
            None
        }
    };
    nginx::next_upstream(reading, filled.as_ref())
}

/// All methods, where the controller is told so.
fn all_methods(
    reading: &mut Reading<'_>,
    draft: &mut Draft,
    lists: RetryOn,
    node: Option<&Node>,
) -> RetryOn {
    match reading.flag(node, "true or false") {
        Told::Is(true, span) => {
            draft.origin("retry_on", Origin::Line(span));
            lists.methods(Methods::Any)
        }
        _ => lists,
    }
}

fn map(reading: &mut Reading<'_>, mut draft: Draft, title: String, names: Vec<String>, span: Span) {
    let why = "it is the longest time between two reads of an answer, not of an attempt";
    draft.lose(READ, why, None);
    let why = "each attempt goes to an endpoint that the balancer chooses, perhaps the same";
    draft.lose("upstream", why, None);
    if draft.policy.attempts > 1 {
        reading.map(draft, title, names, span);
    }
}
