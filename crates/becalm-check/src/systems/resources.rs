//! Which resources of the files have a name, and which are attached to what has it?
//!
//! A cluster has thousands of them: to look through all for each one is quadratic.

use foldhash::{HashMap, HashSet};

use super::kubernetes::namespace;
use crate::document::{Node, Together};

/// A resource, and its file.
pub type At<'a> = (&'a str, &'a Node);

/// What has a name, and the namespace that it says, if any: a cluster has the same names in very many of them.
#[derive(Debug)]
pub struct Named<'a, T>(HashMap<&'a str, Same<'a, T>>);

#[derive(Debug)]
struct Same<'a, T> {
    all: Vec<T>,
    within: HashMap<&'a str, Vec<T>>,
    /// Those that say none.
    of_any: Vec<T>,
}

impl<T> Default for Named<'_, T> {
    fn default() -> Self {
        Self(HashMap::default())
    }
}

impl<'a, T: Copy> Named<'a, T> {
    pub fn add(&mut self, name: &'a str, namespace: Option<&'a str>, it: T) {
        let same = self.0.entry(name).or_insert_with(|| Same {
            all: Vec::new(),
            within: HashMap::default(),
            of_any: Vec::new(),
        });
        same.all.push(it);
        match namespace {
            Some(namespace) => same.within.entry(namespace).or_default().push(it),
            None => same.of_any.push(it),
        }
    }

    /// Those of this name that may be of this namespace: where it is not known all, else those that say it, and those that say none;
    /// the own ones first.
    pub fn get<'s, F: Fn(&T) -> bool + Copy>(
        &'s self,
        name: &str,
        namespace: Option<&str>,
        is_own: F,
    ) -> impl Iterator<Item = T> + use<'s, 'a, T, F> {
        let parts: [&[T]; 2] = match (self.0.get(name), namespace) {
            (None, _) => [&[], &[]],
            (Some(same), None) => [&same.all, &[]],
            (Some(same), Some(namespace)) => {
                let within = same.within.get(namespace);
                [within.map_or(&[], |it| it), &same.of_any]
            }
        };
        let all = move || parts.into_iter().flatten().copied();
        let own = all().filter(move |it| is_own(it));
        own.chain(all().filter(move |it| !is_own(it)))
    }
}

/// Of the files of one check.
#[derive(Debug, Default)]
pub struct Resources<'a> {
    /// By the first label of their own names.
    named: Named<'a, At<'a>>,
    /// Each `ServiceProfile` with routes, by the first label of its name.
    profiles: Named<'a, At<'a>>,
    /// By the first label of each name that a target or a parent of theirs has.
    attached: Named<'a, At<'a>>,
}

impl<'a> Resources<'a> {
    pub fn of(files: &[Together<'a>]) -> Self {
        let mut all = Self::default();
        for (file, tree) in trees(files) {
            let at = (file, tree);
            let own = namespace(tree);
            if let Some(name) = tree.at(&["metadata", "name"]).and_then(Node::text) {
                all.named.add(label(name), own, at);
                if is_profile(Some(tree)) && !tree.list(&["spec", "routes"]).is_empty() {
                    all.profiles.add(label(name), own, at);
                }
            }
            let Some(spec) = tree.get("spec") else {
                continue;
            };
            let lists = ["targetRefs", "parentRefs"].map(|it| spec.list(&[it]));
            let all_named = spec
                .get("targetRef")
                .into_iter()
                .chain(lists.into_iter().flatten());
            let names = all_named.filter_map(|it| it.get("name")?.text());
            for name in names.map(label).collect::<HashSet<_>>() {
                all.attached.add(name, own, at);
            }
        }
        all
    }

    /// Those that may have this name, and be of the namespace of `own`; those of the file first.
    pub fn named(&self, file: &str, own: &Node, name: &str) -> impl Iterator<Item = At<'a>> {
        let is_own = move |it: &At<'_>| it.0 == file;
        self.named.get(label(name), namespace(own), is_own)
    }

    /// Each `ServiceProfile` with routes that may be of this name, those of the file first.
    pub fn profiles(&self, file: &str, name: &str) -> impl Iterator<Item = At<'a>> {
        self.profiles.get(label(name), None, move |it| it.0 == file)
    }

    /// Those that may be attached to what has this name, and be of this namespace; those of the file first.
    pub fn attached(
        &self,
        file: &str,
        namespace: Option<&str>,
        name: &str,
    ) -> impl Iterator<Item = At<'a>> {
        let is_own = move |it: &At<'_>| it.0 == file;
        self.attached.get(label(name), namespace, is_own)
    }
}

/// The documents of all files, each with its file.
pub fn trees<'a>(files: &[Together<'a>]) -> impl Iterator<Item = At<'a>> {
    let each = |it: &Together<'a>| {
        let file = it.file;
        it.trees.iter().map(move |tree| (file, tree))
    };
    files.iter().flat_map(each)
}

/// Whether it is a `ServiceProfile` of Linkerd.
pub fn is_profile(tree: Option<&Node>) -> bool {
    let says = |key: &str| tree?.get(key)?.text();
    let version = says("apiVersion").unwrap_or_default();
    version.starts_with("linkerd.io/") && says("kind") == Some("ServiceProfile")
}

/// What two names of one host have in common.
pub fn label(host: &str) -> &str {
    host.split_once('.').map_or(host, |(label, _)| label)
}
