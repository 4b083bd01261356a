//! Which keys that look like retries did no reader ask for?
//!
//! A key in a place where a system does not read it, a name that is not its own, and the retries of systems that are not read look
//! the same to a reader: nothing asks for them.

use crate::chart::is_values;
use crate::checked::Checked;
use crate::code;
use crate::document::{Node, Span, documents};
use crate::finding::Finding;
use crate::hints::{looks_like_retries, word_of_text};
use crate::list::list;
use crate::names::{checks_health, is_name};
use crate::system::System;
use crate::systems::is_called;

/// A document of systems that are read: what stands there and none of them asked for.
pub fn of_known(
    file: &str,
    tree: &Node,
    systems: &[&System],
    told: &dyn Fn(Span) -> bool,
    found: &mut Checked,
) {
    let mut left = Gathered::default();
    gather(tree, told, &mut Path::default(), &mut left);
    left.tell(file, found);
    let Gathered { keys, .. } = left;
    let closed = systems
        .iter()
        .find_map(|it| Some((it, it.schema.refuses.as_ref()?)));
    let mut others = Vec::new();
    for key in keys {
        match closed {
            Some((system, refuses)) if (refuses.place)(&key.path) => {
                let homes = system.schema.homes;
                let home = homes.iter().find(|(name, _)| *name == key.name);
                let sentence = format!(
                    "`{}` stands where {} has no such field: {}",
                    key.name, system.name, refuses.how
                );
                let remedy = home.map_or(
                    "leave it out, or move it to where the system reads it",
                    |(_, home)| home,
                );
                found.push(Finding::new(
                    file,
                    key.span,
                    code::NO_SUCH_FIELD,
                    sentence,
                    remedy,
                ));
            }
            _ => others.push(key),
        }
    }
    if let [first, rest @ ..] = &others[..] {
        let titles: Vec<_> = systems.iter().map(|it| it.title).collect();
        let place = first.place();
        let sentence = format!(
            "`{place}`{}: settings of retries, as it looks, where nothing of {} is read",
            more(rest),
            titles.join(" or ")
        );
        found.push(not_read(file, first.span, sentence));
    }
}

/// A document of no system that is read; whether there is anything that looks like retries.
pub fn of_unknown(
    file: &str,
    tree: &Node,
    told: &dyn Fn(Span) -> bool,
    found: &mut Checked,
) -> bool {
    let mut left = Gathered {
        is_unknown: true,
        ..Gathered::default()
    };
    gather(tree, told, &mut Path::default(), &mut left);
    let is_any = left.tell(file, found);
    let [first, rest @ ..] = &left.keys[..] else {
        return is_any;
    };
    let place = first.place();
    let sentence = format!(
        "`{place}`{}: settings of retries, as it looks, of {}, which is not read",
        more(rest),
        whose(file, tree, first)
    );
    found.push(not_read(file, first.span, sentence));
    true
}

/// A text of no system that is read.
pub fn of_text(file: &str, text: &str, found: &mut Vec<Finding>) -> bool {
    let is_comment = |line: &str| line.trim_start().starts_with(['#', ';', '!', '/']);
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !is_comment(line));
    let all: Vec<_> = lines
        .filter_map(|(at, line)| Some((at + 1, word(line)?)))
        .collect();
    let Some((line, (word, column))) = all.first() else {
        return false;
    };
    let more = match all.len() {
        1 => String::new(),
        many => format!(" and {} more", many - 1),
    };
    let sentence =
        format!("`{word}`{more}: settings of retries, as it looks, of a system that is not read");
    let span = Span::new(*line, *column, word.chars().count());
    found.push(not_read(file, span, sentence));
    true
}

/// The first word of a line that looks like retries, and its column.
fn word(line: &str) -> Option<(&str, usize)> {
    let line = line.get(..200).unwrap_or(line);
    let mut words = line.split(|c: char| c.is_whitespace() || "={};".contains(c));
    // nginx tries files; a daemon is stopped by one signal after the other.
    let stops = line.contains("start-stop-daemon");
    let is_none = |it: &str| it == "try_files" || stops && it == "--retry";
    let word = words.find(|it| !is_none(it) && looks_like_retries(it))?;
    let before = word.as_ptr() as usize - line.as_ptr() as usize;
    Some((word, line[..before].chars().count() + 1))
}

fn not_read(file: &str, span: Span, sentence: String) -> Finding {
    let remedy = "look at it by hand; `becalm check` says nothing about it";
    Finding::new(file, span, code::RETRIES_NOT_READ, sentence, remedy)
}

fn more(rest: &[Left<'_>]) -> String {
    match rest {
        [] => String::new(),
        [one] => format!(" and `{}` in line {}", one.name, one.span.line),
        [one, ..] => format!(
            ", `{}` in line {} and {} more",
            one.name,
            one.span.line,
            rest.len() - 1
        ),
    }
}

/// A key that nothing asked for.
struct Left<'n> {
    path: Vec<&'n str>,
    name: &'n str,
    span: Span,
}

impl Left<'_> {
    fn place(&self) -> String {
        [&self.path[..], &[self.name]].concat().join(".")
    }
}

/// What looks like retries, and nothing asked for.
#[derive(Default)]
struct Gathered<'n> {
    /// Whether no system that is read is in the document.
    is_unknown: bool,
    /// Whether it is a patch within a document.
    is_patch: bool,
    keys: Vec<Left<'n>>,
    /// Headers that have Envoy repeat a request.
    headers: Vec<Left<'n>>,
    /// Texts with the settings of a system, each with the first of its words.
    texts: Vec<(Left<'n>, &'n str)>,
}

impl Gathered<'_> {
    /// Tells of headers and texts; whether there are any.
    fn tell(&self, file: &str, found: &mut Checked) -> bool {
        if let [first, rest @ ..] = &self.headers[..] {
            let sentence = format!(
                "by the header `{}`{} Envoy repeats requests, whatever the retries of the route say: no policy here counts it",
                first.name,
                more(rest)
            );
            let remedy = "leave the header out, and write the retries where the route has them";
            found.push(Finding::new(
                file,
                first.span,
                code::RETRIES_NOT_READ,
                sentence,
                remedy,
            ));
        }
        for (left, word) in &self.texts {
            let sentence = format!(
                "`{}` holds `{word}`: settings of retries in a text, which is not read",
                left.place()
            );
            found.push(not_read(file, left.span, sentence));
        }
        !self.headers.is_empty() || !self.texts.is_empty()
    }
}

/// Headers by which a request says to Envoy how often it is repeated. Run with 1.40.0: those that a route adds do as well, and
/// its `num_retries` gives way.
const HEADERS: &[&str] = list!(
    "x-envoy-retry-on x-envoy-retry-grpc-on x-envoy-max-retries x-envoy-retriable-status-codes \
     x-envoy-retriable-header-names x-envoy-hedge-on-per-try-timeout"
);

/// The keys on the way to a node.
#[derive(Default)]
struct Path<'n> {
    names: Vec<&'n str>,
    spans: Vec<Span>,
    /// Whether the next node is an item of a list.
    is_item: bool,
}

impl<'n> Path<'n> {
    fn last(&self) -> &'n str {
        self.names.last().copied().unwrap_or_default()
    }

    /// What stands here, if nothing is told of it or of a key around it: it is asked for what is found alone, which most files
    /// have none of.
    fn left(&self, (name, span): (&'n str, Span), told: &dyn Fn(Span) -> bool) -> Option<Left<'n>> {
        let is_told = told(span) || self.spans.iter().any(|it| told(*it));
        (!is_told).then(|| Left {
            path: self.names.clone(),
            name,
            span,
        })
    }
}

/// Keys with their paths. What stands in one of them is not told again.
fn gather<'n>(
    node: &'n Node,
    told: &dyn Fn(Span) -> bool,
    path: &mut Path<'n>,
    left: &mut Gathered<'n>,
) {
    let is_item = std::mem::take(&mut path.is_item);
    if is_schema(node) {
        return;
    }
    // A match has the same form, in a list of headers.
    if let Some(header) = header(node).filter(|_| path.last() != "headers") {
        left.headers.extend(path.left(header, told));
        return;
    }
    if let Some((text, span)) = patched(node) {
        let here = path.left(("path", span), told);
        left.texts.extend(here.map(|it| (it, text)));
        return;
    }
    for item in node.items() {
        let parent = path.last();
        let unknown = || {
            assigned(item, parent, left.is_unknown)
                .or_else(|| called(item, parent, left.is_unknown))
        };
        if let Some(here) = named(item, parent).or_else(unknown) {
            left.keys.extend(path.left(here, told));
        }
        if parent == "patchesStrategicMerge" && !left.is_patch {
            let named = item.text().and_then(word_of_patch).and_then(|word| {
                let mut here = path.left((parent, item.span), told)?;
                here.path.pop();
                Some((here, word))
            });
            left.texts.extend(named);
        }
        path.is_item = true;
        gather(item, told, path, left);
    }
    let is_of_headers = matches!(
        path.names[..],
        [.., "headers", "request" | "response", "set" | "add"] | [.., "match", "headers"]
    );
    for (key, value) in node.entries() {
        if key.name == "openAPIV3Schema" || left.is_unknown && checks_health(&key.name) {
            continue;
        }
        let here = || path.left((&key.name, key.span), told);
        if is_of_headers {
            // Names of the user's own.
            if HEADERS.contains(&&*key.name) && value.text().is_some() {
                left.headers.extend(here());
            }
            continue;
        }
        if let Some(word) = value.text().and_then(word_of_text)
            && !told(value.span)
        {
            left.texts.extend(here().map(|it| (it, word)));
            continue;
        }
        let parent = path.last();
        let is_patch = key.name == "patch" && PATCHES.contains(&parent) && !left.is_patch;
        if is_patch && let Some(word) = value.text().and_then(word_of_patch) {
            left.texts.extend(here().map(|it| (it, word)));
            continue;
        }
        let is_own = || {
            let mut own = System::all().flat_map(|it| it.schema.own);
            own.any(|(place, name)| {
                (place.is_empty() || *place == parent)
                    && (key.name == *name || place.is_empty() && is_called(key, name))
            })
        };
        let is_name = || is_name(&key.name, value, &path.names, is_item);
        if key.asked.get() == Some(false) && !is_own() && !told(value.span) && !is_name() {
            left.keys.extend(here());
            continue;
        }
        path.names.push(&key.name);
        path.spans.push(key.span);
        gather(value, told, path, left);
        path.names.pop();
        path.spans.pop();
    }
}

/// Whether it says which keys others may have: JSON Schema, as of a `CustomResourceDefinition`, or `OpenAPI`.
fn is_schema(node: &Node) -> bool {
    let has = |name: &str| node.get(name).is_some_and(Node::is_table);
    let is_object = node.get("type").and_then(Node::text) == Some("object");
    let is_text = |name: &str| node.get(name).and_then(Node::text).is_some();
    is_object && has("properties")
        || is_text("$schema") && has("definitions")
        || (is_text("openapi") || is_text("swagger")) && has("paths")
}

/// A setting by its name in a list: of a component of Dapr, or of the environment of a container.
fn named<'n>(item: &'n Node, parent: &str) -> Option<(&'n str, Span)> {
    item.get("value")
        .filter(|_| ["metadata", "env"].contains(&parent))?;
    let name = item.get("name")?;
    let text = name.text().filter(|it| looks_like_retries(it))?;
    Some((text, name.span))
}

/// A variable of a list: `RETRIES=3`, of a service of Compose or of a generator of kustomize; and labels for Traefik where it reads none.
fn assigned<'n>(item: &'n Node, parent: &str, is_unknown: bool) -> Option<(&'n str, Span)> {
    let (name, _) = item.text()?.split_once('=')?;
    let is_list = ["environment", "literals"].contains(&parent);
    let is_label = || is_unknown && name.starts_with("traefik.");
    ((is_list || is_label()) && looks_like_retries(name)).then_some((name, item.span))
}

/// A filter of a list, as a route of Skipper has it: `retry()`.
fn called<'n>(item: &'n Node, parent: &str, is_unknown: bool) -> Option<(&'n str, Span)> {
    let (name, rest) = item.text()?.trim().split_once('(')?;
    let is_call = is_unknown && parent == "filters" && rest.ends_with(')');
    (is_call && looks_like_retries(name)).then_some((name, item.span))
}

/// What a patch of JSON (RFC 6902) sets: by its path, or within its value.
fn patched(node: &Node) -> Option<(&str, Span)> {
    let path = node.get("op").and(node.get("path"))?;
    let values = node.get("value").into_iter().flat_map(Node::walk);
    let within = values.flat_map(Node::entries).map(|(key, _)| &*key.name);
    let mut all = path.text().into_iter().chain(within);
    Some((all.find(|it| looks_like_retries(it))?, path.span))
}

/// Lists of patches, of kustomize and of what holds its own.
const PATCHES: &[&str] = list!("patches patchesJson6902");

/// The first setting of retries in a text that is a patch: a part of a resource, or of JSON (RFC 6902).
fn word_of_patch(text: &str) -> Option<&str> {
    let read = documents(text);
    let mut left = Gathered {
        is_unknown: true,
        is_patch: true,
        ..Gathered::default()
    };
    for tree in &read.documents {
        gather(tree, &|_| false, &mut Path::default(), &mut left);
    }
    let keys = left.keys.iter().chain(&left.headers).map(|it| it.name);
    let first = keys.chain(left.texts.iter().map(|(_, word)| *word)).next();
    let part = first.and_then(|it| it.split('/').find(|it| looks_like_retries(it)));
    let here = part.and_then(|it| text.get(text.find(it)?..)?.get(..it.len()));
    let is_broken = read.unread.iter().any(|it| it.holds_retries);
    here.or_else(|| {
        text.lines()
            .find_map(|it| is_broken.then(|| word(it))?)
            .map(|(it, _)| it)
    })
}

/// A header that is added to requests: `{name: x-envoy-max-retries, value: "3"}`, with `key` in Envoy's files.
fn header(node: &Node) -> Option<(&str, Span)> {
    node.get("value")?.text()?;
    let name = node.get("key").or_else(|| node.get("name"))?;
    let text = name.text().filter(|it| HEADERS.contains(it))?;
    Some((text, name.span))
}

/// Of which system a document is, as far as it says so.
fn whose(file: &str, tree: &Node, first: &Left<'_>) -> String {
    let text = |key: &str| tree.get(key).and_then(Node::text);
    let has = |path: &[&str]| tree.at(path).is_some();
    let is_container = |(_, it): &(_, Node)| it.get("image").or_else(|| it.get("build")).is_some();
    let services = tree.get("services").map_or(&[][..], Node::entries);
    let is_compose = has(&["version"]) && has(&["services"]) || services.iter().any(is_container);
    let is_of_kong = |it: &Node| {
        let has = |name: &str| it.get(name).is_some();
        has("retries") && (has("host") || has("url")) && (has("protocol") || has("routes"))
    };
    let is_of_polly = |it: &Node| it.get("MaxRetryAttempts").is_some();
    let known = [
        (is_values(file), "the `values.yaml` of a Helm chart"),
        (tree.walk().any(is_of_polly), "Polly"),
        (is_compose, "Compose"),
        (has(&["spring"]), "Spring"),
        (
            has(&["entryPoints"]) && has(&["providers"]),
            "Traefik's static configuration",
        ),
        (has(&["jobs"]) && has(&["on"]), "GitHub Actions"),
        (has(&["groups"]), "Prometheus"),
        (
            tree.list(&["services"]).iter().any(is_of_kong),
            "a file of Kong without `_format_version`",
        ),
    ];
    if let Some(resource) = resource(tree) {
        return resource;
    }
    if let Some(kind) = text("kind").filter(|_| has(&["apiVersion"])) {
        return format!("a {kind}");
    }
    if let Some((_, name)) = known.iter().find(|(is, _)| *is) {
        return (*name).into();
    }
    // Of several in a list of this name.
    let listed = first.path.first().and_then(|it| tree.get(it));
    let mut listed = listed.map_or(&[][..], Node::items).iter();
    listed.find_map(resource).map_or_else(
        || "a system that is not known".into(),
        |it| format!("a list with {it}"),
    )
}

/// The kind of a resource of a group: `a MeshRetry of kuma.io`.
fn resource(node: &Node) -> Option<String> {
    let text = |key: &str| node.get(key).and_then(Node::text);
    let kind = text("kind")?;
    let (group, _) = text("apiVersion")?.split_once('/')?;
    let article = if kind.starts_with(['A', 'E', 'I', 'O']) {
        "an"
    } else {
        "a"
    };
    Some(format!("{article} {kind} of {group}"))
}
