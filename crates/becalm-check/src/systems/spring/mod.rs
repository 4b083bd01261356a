//! Which properties does Spring Boot find in a file of YAML?
//!
//! `YamlPropertySourceLoader`, `ConfigurationPropertyName` and the binders of spring-projects/spring-boot, and *Externalized
//! Configuration* of its reference: dots in a key are levels, keys are the same in kebab, camel and snake case, and of what
//! several documents say the last is read. A document with `spring.config.activate.on-profile` is read on top of those
//! without, and so is a file such as `application-prod.yml` (*Profile Specific Files*).

mod exceptions;
mod profile_files;
mod statuses;
mod tree;
mod values;

pub use exceptions::Exceptions;
pub use profile_files::{imports, lacks_base};
pub use statuses::{series, status};
pub use tree::{at, entry, get, is_called};
pub use values::{duration, flag, words};

use foldhash::HashMap;

use crate::below::Below;
use crate::code;
use crate::document::{Document, Node, Span};
use crate::meant::nearest;
use crate::reading::{Later, Reading};

/// Whether a document has a property at this path or below it.
pub fn has(document: &Document<'_>, path: &[&str]) -> bool {
    document
        .tree
        .is_some_and(|tree| tree::found(tree, path).next().is_some())
}

/// The properties of a document without those of others.
pub fn alone(document: &Document<'_>) -> Option<Node> {
    document.tree.map(|tree| tree::merged(&[tree], tree.span))
}

/// How many documents of a file are read together at most.
const TOGETHER: usize = 1000;

/// How many bytes are read together: each profile is laid on top of all that hold without one.
const LAID: usize = 1 << 24;

/// The properties that hold where a document does.
#[derive(Debug)]
pub struct Properties<'a> {
    /// As one tree: no key has a dot, none stands twice, and placeholders are the defaults that they name.
    pub tree: Node,
    /// The profile that the document is for.
    pub profile: Option<String>,
    /// The texts of placeholders by their places.
    defaults: HashMap<Span, String>,
    below: Option<Below<'a>>,
    /// Of a document that is read alone, as those before it are many: how many are read together.
    after: Option<usize>,
}

impl<'a> Properties<'a> {
    /// As [`Properties::of`], where findings tell of defaults, and of the file below.
    pub fn read(reading: &mut Reading<'a>, path: &[&str]) -> Option<Self> {
        let mut properties = Self::of(&reading.document, path)?;
        reading.defaults = std::mem::take(&mut properties.defaults);
        reading.below = properties.below;
        if let (Some(many), Some(own)) = (properties.after, reading.document.tree) {
            let sentence = format!(
                "this document is read alone, without the others and the file below: the file is so long that the first {many} are read together"
            );
            let remedy = "split the file";
            reading.find(own.span, code::NOT_SEEN, sentence, remedy);
        }
        Some(properties)
    }

    /// Of a document that has properties at this path; `None` where an earlier one, without a profile as it is, was read together
    /// with it. A file of a profile lies on top of the one without.
    pub fn of(document: &Document<'a>, path: &[&str]) -> Option<Self> {
        let own = document.tree?;
        let own_profile = profile(own);
        let base = profile_files::base(document);
        let bytes = document.text.len() + base.map_or(0, |(base, _)| base.text.len());
        let most = own_profile
            .as_ref()
            .map_or(TOGETHER, |_| (LAID / bytes.max(1)).clamp(1, TOGETHER));
        // What comes later is read alone: each would be laid on top of all others.
        let is_late = !document
            .beside
            .iter()
            .take(most)
            .any(|it| std::ptr::eq(it, own));
        let beside = document.beside.iter().filter(|_| !is_late);
        let for_all = || {
            let first = beside.clone().take(TOGETHER);
            first.filter(|it| profile(it).is_none())
        };
        let before = for_all().find(|it| tree::found(it, path).next().is_some());
        if own_profile.is_none() && before.is_some_and(|before| !std::ptr::eq(before, own)) {
            return None;
        }
        let of_file = base.map(|(_, name)| name.to_owned());
        let base = base.filter(|_| !is_late);
        let below = base.map(|(base, _)| Below::new(base.file, document.text));
        let of_base = base.map_or_else(Vec::new, |(base, name)| {
            let trees = || base.trees.iter().take(TOGETHER);
            let is_for =
                |it: &&Node| profile(it).is_some_and(|it| it.split(", ").any(|it| it == name));
            let both = trees()
                .filter(|it| profile(it).is_none())
                .chain(trees().filter(is_for));
            both.filter_map(|it| Some(below?.tree(it))).collect()
        });
        let mut read: Vec<&Node> = of_base.iter().chain(for_all()).collect();
        if !read.iter().any(|it| std::ptr::eq(*it, own)) {
            read.push(own);
        }
        let mut tree = tree::merged(&read, own.span);
        let mut defaults = HashMap::default();
        values::fill_in(&mut tree, &mut defaults);
        let profiles: Vec<String> = of_file.into_iter().chain(own_profile).collect();
        Some(Self {
            tree,
            profile: Some(profiles.join(", ")).filter(|it| !it.is_empty()),
            defaults,
            below,
            after: is_late.then_some(most),
        })
    }

    /// Whether what other documents say is not seen.
    pub const fn is_alone(&self) -> bool {
        self.after.is_some()
    }

    /// A name of a part of the file, with the profile that it is for.
    pub fn named(&self, name: &str) -> String {
        match &self.profile {
            Some(profile) => format!("{name} (profile {profile})"),
            None => name.to_owned(),
        }
    }
}

fn profile(document: &Node) -> Option<String> {
    let paths: [&[&str]; 2] = [
        &["spring", "config", "activate", "on-profile"],
        &["spring", "profiles"],
    ];
    let told = paths
        .into_iter()
        .find_map(|path| tree::found(document, path).last())?;
    let words: Vec<_> = words(told).into_iter().map(|(word, _)| word).collect();
    Some(words.join(", ")).filter(|it| !it.is_empty())
}

/// Finds keys that no property has: Spring Boot binds what it knows, and ignores the rest without a word.
pub fn check(reading: &mut Reading<'_>, node: Option<&Node>, what: &str, properties: &[&str]) {
    for (key, _) in node.map_or(&[][..], Node::entries) {
        if properties.iter().any(|it| is_called(key, it)) {
            key.asked.set(true);
            continue;
        }
        let all = || match properties.len() {
            ..=12 => format!("the properties are {}", properties.join(", ")),
            _ => "leave it out".to_owned(),
        };
        let remedy = Later(|| {
            let meant = nearest(&key.name, properties.iter().copied());
            meant.map_or_else(all, |meant| format!("did you mean `{meant}`?"))
        });
        let sentence = format!(
            "{} does not read `{}` in {what}: Spring Boot ignores what it does not know",
            reading.who(),
            key.name
        );
        reading.find(key.span, code::KEY_NOT_READ, sentence, remedy);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::documents;

    fn of(text: &str, at: usize) -> Option<Properties<'static>> {
        let text: &'static str = text.to_owned().leak();
        let read = Box::leak(Box::new(documents(text)));
        let document = Document {
            file: "application.yml",
            text,
            tree: Some(&read.documents[at]),
            beside: &read.documents,
            together: &[],
            merges: &[],
        };
        Properties::of(&document, &["a"])
    }

    #[test]
    fn documents_are_read_on_top_of_those_that_hold_always() {
        let text = "a: {b: 1, c: [1]}\n---\na.b: 2\n---\nspring.config.activate.on-profile: test\na: {c: [2, 3]}\n";
        let said = |it: &Properties| {
            let list = at(&it.tree, &["a", "c"]).map(|it| it.items().len());
            (
                at(&it.tree, &["a", "b"]).and_then(|it| it.text().map(str::to_owned)),
                list,
            )
        };
        let first = of(text, 0).unwrap();
        assert_eq!(
            (said(&first), &first.profile),
            ((Some("2".into()), Some(1)), &None)
        );
        assert!(of(text, 1).is_none());
        let changed = of(text, 2).unwrap();
        assert_eq!(said(&changed), (Some("2".into()), Some(2)));
        assert_eq!(changed.named("it"), "it (profile test)");
    }
}
