//! What do all resources name and have together? A sidecar reads all of them.

use std::collections::{HashMap, HashSet};

use crate::document::{Node, Together};
use crate::systems::kubernetes::is_a;

/// Of the files of one check.
#[derive(Debug, Default)]
pub struct Files<'a> {
    /// The retries that targets name.
    used: HashSet<&'a str>,
    /// Retries by their names, each with its file, in the order of the files.
    retries: HashMap<&'a str, Vec<(&'a str, &'a Node)>>,
}

impl<'a> Files<'a> {
    pub fn of(together: &[Together<'a>]) -> Self {
        let mut files = Self::default();
        let all = together
            .iter()
            .flat_map(|it| it.trees.iter().map(|tree| (it.file, tree)));
        let is_own = |tree: &Node| is_a(tree, "Resiliency", &["dapr.io"]);
        for (file, tree) in all.filter(|(_, tree)| is_own(tree)) {
            let targets = tree.at(&["spec", "targets"]).into_iter();
            let named = targets
                .flat_map(Node::walk)
                .filter_map(|it| it.get("retry"));
            files.used.extend(named.filter_map(Node::text));
            let retries = tree.at(&["spec", "policies", "retries"]);
            for (key, retry) in super::entries(retries) {
                files
                    .retries
                    .entry(&key.name)
                    .or_default()
                    .push((file, retry));
            }
        }
        files
    }

    pub fn is_used(&self, name: &str) -> bool {
        self.used.contains(name)
    }

    /// The retries of this name: those of this file before those of others.
    pub fn retries(&self, name: &str, file: &str) -> Option<(&'a str, &'a Node)> {
        let all = self.retries.get(name)?;
        let own = all.iter().find(|(it, _)| *it == file);
        own.or_else(|| all.first()).copied()
    }
}
