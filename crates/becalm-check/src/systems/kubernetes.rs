//! How do Kubernetes' resources name what they are, and whom they are about?

use crate::code;
use crate::document::{Document, Key, Node, Value};
use crate::hints::looks_like_retries;
use crate::meant::{did_you_mean, slip_of};
use crate::reading::{Later, Reading};
use crate::scalars::{self, is_flag, is_number};
use crate::system::Refuses;

/// What the server does with a field that the schema of a resource does not have.
pub const REFUSES: Refuses = Refuses {
    place: |path| path.first() == Some(&"spec"),
    how: "kubectl refuses the resource, or the field is dropped without a word",
};

/// Whether a document is a list of resources, as `kubectl get` prints it.
pub fn is_list(tree: &Node) -> bool {
    let kind = tree.get("kind").and_then(Node::text);
    let is_filled = || tree.get("items").is_some_and(|it| !it.items().is_empty());
    kind.is_some_and(|it| it.ends_with("List")) && is_filled()
}

/// The resources of a document: of a list its items.
pub fn resources(tree: Node) -> Vec<Node> {
    if !is_list(&tree) {
        return vec![of_user(tree)];
    }
    let Value::Table(entries) = tree.value else {
        return Vec::new();
    };
    let items = entries.into_iter().rfind(|(key, _)| key.name == "items");
    match items.map(|(_, node)| node.value) {
        Some(Value::List(items)) => items.into_iter().map(of_user).collect(),
        _ => Vec::new(),
    }
}

/// A resource without what the server and kubectl note of it: the same settings once more.
fn of_user(mut resource: Node) -> Node {
    let without = |node: &mut Node, name: &str| {
        if let Value::Table(entries) = &mut node.value {
            entries.retain(|(key, _)| key.name != name);
        }
    };
    let within =
        |node: &'_ Node, name: &str| node.entries().iter().position(|(key, _)| key.name == name);
    let Some(at) = within(&resource, "metadata") else {
        return resource;
    };
    let Value::Table(entries) = &mut resource.value else {
        return resource;
    };
    let metadata = &mut entries[at].1;
    without(metadata, "managedFields");
    let at = within(metadata, "annotations");
    if let (Some(at), Value::Table(entries)) = (at, &mut metadata.value) {
        without(
            &mut entries[at].1,
            "kubectl.kubernetes.io/last-applied-configuration",
        );
    }
    resource
}

/// Whether a document is a resource of this group, of any version: `networking.istio.io`.
pub fn is_of(document: &Document<'_>, group: &str) -> bool {
    let version = document.at(&["apiVersion"]).and_then(Node::text);
    version.is_some_and(|it| it.split_once('/').is_some_and(|(it, _)| it == group))
}

/// Whether a resource is of this kind, of one of these groups in any version; the core group is "". Groups have kinds of the same name:
/// Knative has a `Service` and an `Ingress` of its own.
pub fn is_a(resource: &Node, kind: &str, groups: &[&str]) -> bool {
    let text = |key| resource.get(key).and_then(Node::text);
    let is_in = |it: &str| groups.contains(&it.split_once('/').map_or("", |(group, _)| group));
    text("kind") == Some(kind) && text("apiVersion").is_none_or(is_in)
}

/// The groups of the `Ingress` of Kubernetes, today and up to 1.21.
pub const INGRESS: &[&str] = &["networking.k8s.io", "extensions"];

/// Whether it is of a kind that Kubernetes has itself.
pub fn is_built_in(document: &Document<'_>, kind: &str) -> bool {
    let groups = if kind == "Ingress" { INGRESS } else { &[""] };
    document.tree.is_some_and(|it| is_a(it, kind, groups))
}

/// The kind of a resource, with its group where Kubernetes has a kind of this name itself.
pub fn kind_of(document: &Document<'_>) -> String {
    let text = |key| document.at(&[key]).and_then(Node::text);
    let kind = text("kind").unwrap_or("?");
    let group = text("apiVersion").and_then(|it| it.split_once('/'));
    match group {
        Some((group, _))
            if ["Service", "Ingress"].contains(&kind) && !is_built_in(document, kind) =>
        {
            format!("{kind} of {group}")
        }
        _ => kind.to_owned(),
    }
}

/// Whether two names of a service are the same, one of them perhaps in full:
/// `orders` and `orders.shop.svc.cluster.local`.
pub fn is_same(one: &str, other: &str) -> bool {
    let begins = |long: &str, short: &str| {
        long.strip_prefix(short)
            .is_some_and(|rest| rest.is_empty() || (rest.starts_with('.') && !short.contains('.')))
    };
    begins(one, other) || begins(other, one)
}

/// `Gateway eg`, or `HTTPRoute shop/orders`.
pub fn named(resource: &Node) -> String {
    let text = |path: &[&str]| resource.at(path).and_then(Node::text);
    let name = text(&["metadata", "name"]).unwrap_or("?");
    let name = match namespace(resource) {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_owned(),
    };
    format!("{} {name}", text(&["kind"]).unwrap_or("?"))
}

/// The annotations of a resource with this prefix, by their names without it.
pub fn annotations<'a>(
    document: &Document<'a>,
    prefix: &'static str,
) -> impl Iterator<Item = (&'a str, &'a Key, &'a Node)> + use<'a> {
    let all = document.at(&["metadata", "annotations"]);
    let all = all.map_or(&[][..], Node::entries).iter();
    all.filter_map(move |(key, node)| Some((key.name.strip_prefix(prefix)?, key, node)))
}

/// The annotations with a prefix that are some of these, or look like retries.
pub struct Annotations<'a, 'k> {
    all: Vec<(&'a str, &'a Key, &'a Node)>,
    known: &'k [&'k str],
}

impl<'a, 'k> Annotations<'a, 'k> {
    pub fn of(document: &Document<'a>, prefix: &'static str, known: &'k [&'k str]) -> Self {
        let is_about = |name: &str| {
            known.contains(&name) || looks_like_retries(name) || slip_of(name, known).is_some()
        };
        let all = annotations(document, prefix).filter(|(name, _, _)| is_about(name));
        Self {
            all: all.collect(),
            known,
        }
    }

    pub fn first(&self) -> Option<&'a Key> {
        self.all.first().map(|(_, key, _)| *key)
    }

    pub fn entry(&self, name: &str) -> Option<(&'a Key, &'a Node)> {
        let found = self.all.iter().find(|(it, _, _)| *it == name);
        found.map(|(_, key, node)| (*key, *node))
    }

    pub fn get(&self, name: &str) -> Option<&'a Node> {
        self.entry(name).map(|(_, node)| node)
    }

    /// Tells of those that the system does not have, or not on this kind of resource (`owner` names the kind that it reads), and of
    /// numbers and flags, which Kubernetes refuses.
    pub fn check(&self, reading: &mut Reading<'_>, owner: impl Fn(&str) -> &'static str) {
        let title = reading.system.title;
        let kind = kind_of(&reading.document);
        for (name, key, node) in &self.all {
            key.asked.set(true);
            let owner = owner(name);
            if !self.known.contains(name) {
                let sentence = format!("{title} has no annotation `{}`", key.name);
                let remedy = Later(|| did_you_mean(name, "the annotations", self.known));
                reading.find(key.span, code::KEY_NOT_READ, sentence, remedy);
            } else if kind != owner {
                let name = &key.name;
                let sentence = format!("{title} does not read `{name}` where the kind is {kind}");
                let remedy = format!("annotate the {owner}");
                reading.find(key.span, code::KEY_NOT_READ, sentence, remedy);
            }
            texts_alone(reading, node, "an annotation");
        }
    }
}

/// Tells of a number or a flag where Kubernetes takes texts alone.
pub fn texts_alone(reading: &mut Reading<'_>, node: &Node, what: &str) {
    let given = kind_of_scalar(node);
    if let Some(given) = given {
        let text = node.text().unwrap_or_default();
        let sentence = format!("Kubernetes refuses {what} that is {given}: `{text}`");
        let remedy = format!("write a text in quotes: `\"{text}\"`, if the value is right");
        reading.refuse_type(node.span, sentence, remedy);
    }
}

/// The namespace of a resource, where its file says it.
pub fn namespace(resource: &Node) -> Option<&str> {
    resource.at(&["metadata", "namespace"])?.text()
}

/// Whether two resources may be of one namespace.
pub fn is_beside(one: &Node, other: &Node) -> bool {
    !matches!((namespace(one), namespace(other)), (Some(a), Some(b)) if a != b)
}

/// Which of two resources that say the same thing holds: the one that was created first. `None` where the files do not say it.
pub fn is_older(one: &Node, other: &Node) -> Option<bool> {
    let created = |it: &Node| {
        let created = it.at(&["metadata", "creationTimestamp"])?.text()?;
        Some((created.to_owned(), named(it)))
    };
    Some(created(one)? < created(other)?)
}

/// Finds keys that the schema of a resource does not have, and values of another type. A field is its name, with its type where that is
/// checked: `count:number`, `codes:number` of a list of them, `isRetryable:flag`, `timeout:time`, `retryOn:text`.
pub fn check(reading: &mut Reading<'_>, node: Option<&Node>, what: &str, fields: &[&str]) {
    check_names(reading, node, what, fields);
    check_types(reading, node, fields);
}

/// Finds values of another type than the fields have.
pub fn check_types(reading: &mut Reading<'_>, node: Option<&Node>, fields: &[&str]) {
    for (key, node) in node.map_or(&[][..], Node::entries) {
        let found = fields.iter().filter_map(|it| it.split_once(':'));
        let Some((name, wanted)) = found.into_iter().find(|(name, _)| *name == key.name) else {
            continue;
        };
        key.asked.set(true);
        for node in std::slice::from_ref(node).iter().chain(node.items()) {
            of_type(reading, name, node, wanted);
        }
    }
}

/// The name of a field, without its type.
pub fn name_of(field: &str) -> &str {
    field.split_once(':').map_or(field, |(name, _)| name)
}

/// What the parser of Kubernetes makes of a scalar, where that is no text.
fn kind_of_scalar(node: &Node) -> Option<&'static str> {
    if is_number(node) {
        return Some("a number");
    }
    is_flag(node).then_some("a flag")
}

/// Finds a text or a flag where the schema has a number, and the like. What has the type and is no value of the field is told where it
/// is read.
pub fn of_type(reading: &mut Reading<'_>, name: &str, node: &Node, wanted: &str) {
    let Value::Scalar { text, quoted } = &node.value else {
        return;
    };
    let given = kind_of_scalar(node);
    let unquoted = || format!("write {text} without quotes");
    let (wanted, remedy) = match wanted {
        "number" if *quoted && text.parse::<f64>().is_ok() => ("a number", unquoted()),
        "flag" if *quoted && scalars::flag(text).is_some() => ("true or false", unquoted()),
        "flag" if is_number(node) => ("true or false", "write true or false".to_owned()),
        "time" if is_number(node) => ("a text", format!("write a duration, such as {text}s")),
        "text" if given.is_some() => ("a text", format!("write \"{text}\"")),
        _ => return,
    };
    let given = given.unwrap_or("a text");
    let sentence =
        format!("the schema of `{name}` wants {wanted}, and the API server refuses {given}");
    reading.refuse_type(node.span, sentence, remedy);
}

/// Finds keys that the schema of a resource does not have.
pub fn check_names(reading: &mut Reading<'_>, node: Option<&Node>, what: &str, fields: &[&str]) {
    for (key, _) in node.map_or(&[][..], Node::entries) {
        if fields.iter().any(|it| name_of(it) == key.name) {
            continue;
        }
        let names = || fields.iter().map(|it| name_of(it)).collect::<Vec<_>>();
        let remedy = Later(|| did_you_mean(&key.name, "the fields", &names()));
        let sentence = format!(
            "{} has no field `{}` in {what}: {}",
            reading.who(),
            key.name,
            REFUSES.how
        );
        reading.find(key.span, code::NO_SUCH_FIELD, sentence, remedy);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_full_is_the_short_one() {
        assert!(is_same("orders", "orders.shop.svc.cluster.local"));
        assert!(is_same("orders.shop", "orders"));
        assert!(is_same("orders", "orders"));
        assert!(!is_same("orders", "orders-2"));
        assert!(!is_same("example.com", "example.com.evil.org"));
    }
}
