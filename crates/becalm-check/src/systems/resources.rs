//! Which resources of the files have a name, and which are attached to what has it?
//!
//! A cluster has thousands of them: to look through all for each one is quadratic.

use std::collections::HashMap;

use crate::document::{Node, Together};

/// A resource, and its file.
pub type At<'a> = (&'a str, &'a Node);

/// Of the files of one check.
#[derive(Debug, Default)]
pub struct Resources<'a> {
    /// By the first label of their own names.
    named: HashMap<&'a str, Vec<At<'a>>>,
    /// Each `ServiceProfile` with routes, by the first label of its name.
    profiles: HashMap<&'a str, Vec<At<'a>>>,
    /// By the first label of each name that a target or a parent of theirs has.
    attached: HashMap<&'a str, Vec<At<'a>>>,
}

impl<'a> Resources<'a> {
    pub fn of(files: &[Together<'a>]) -> Self {
        let mut all = Self::default();
        for (file, tree) in trees(files) {
            if let Some(name) = tree.at(&["metadata", "name"]).and_then(Node::text) {
                all.named.entry(label(name)).or_default().push((file, tree));
                if is_profile(Some(tree)) && !tree.list(&["spec", "routes"]).is_empty() {
                    let same = all.profiles.entry(label(name)).or_default();
                    same.push((file, tree));
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
            for name in all_named.filter_map(|it| it.get("name")?.text()) {
                let same = all.attached.entry(label(name)).or_default();
                if !same.last().is_some_and(|it| std::ptr::eq(it.1, tree)) {
                    same.push((file, tree));
                }
            }
        }
        all
    }

    /// Those that may have this name, those of the file first.
    pub fn named(&self, file: &str, name: &str) -> impl Iterator<Item = At<'a>> {
        of_file_first(&self.named, file, name)
    }

    /// Each `ServiceProfile` with routes that may be of this name, those of the file first.
    pub fn profiles(&self, file: &str, name: &str) -> impl Iterator<Item = At<'a>> {
        of_file_first(&self.profiles, file, name)
    }

    /// Those that may be attached to what has this name, those of the file first.
    pub fn attached(&self, file: &str, name: &str) -> impl Iterator<Item = At<'a>> {
        of_file_first(&self.attached, file, name)
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

/// The part of a list that is the own one, then the others.
pub fn own_first<T: Copy>(
    all: &[T],
    is_own: impl Fn(&T) -> bool + Copy,
) -> impl Iterator<Item = T> {
    let own = all.iter().filter(move |it| is_own(it));
    own.chain(all.iter().filter(move |it| !is_own(it))).copied()
}

fn of_file_first<'a>(
    all: &HashMap<&'a str, Vec<At<'a>>>,
    file: &str,
    name: &str,
) -> impl Iterator<Item = At<'a>> {
    let same = all.get(label(name)).map_or(&[][..], |it| it);
    own_first(same, move |it| it.0 == file)
}
