//! Which clusters and tables of routes do the files have?
//!
//! One walk finds them for all documents, at the first document of Envoy.

use std::collections::{HashMap, HashSet};

use super::fields::{field, items};
use crate::document::{Document, Node, Together};
use crate::list::list;
use crate::systems::resources::trees;

/// Of the files of one check.
#[derive(Debug, Default)]
pub struct Files<'a> {
    /// By their names, each with its file and its document.
    clusters: HashMap<&'a str, Vec<(&'a str, &'a Node, &'a Node)>>,
    /// The names of tables of routes.
    tables: HashSet<&'a str>,
}

/// The clusters as a document sees them: its own hold before those of its file, and these before those of other files.
#[derive(Debug, Clone, Copy)]
pub struct Clusters<'a> {
    files: &'a Files<'a>,
    document: Document<'a>,
}

impl<'a> Files<'a> {
    pub fn of(files: &[Together<'a>]) -> Self {
        let mut all = Self::default();
        for (file, tree) in trees(files) {
            for node in tree.walk() {
                let name = || field(node, "name").and_then(Node::text);
                if let Some(name) = is_cluster(node).then(name).flatten() {
                    let same = all.clusters.entry(name).or_default();
                    same.push((file, tree, node));
                }
                if !items(node, "virtual_hosts").is_empty() {
                    all.tables.extend(name());
                }
            }
        }
        all
    }

    pub fn clusters(&'a self, document: Document<'a>) -> Clusters<'a> {
        Clusters {
            files: self,
            document,
        }
    }

    /// Whether a table of routes has this name.
    pub fn has_table(&self, name: &str) -> bool {
        self.tables.contains(name)
    }
}

impl<'a> Clusters<'a> {
    /// The cluster of this name, with its file.
    pub fn get(&self, name: &str) -> Option<(&'a str, &'a Node)> {
        let all = self.files.clusters.get(name)?;
        let own = self.document.tree;
        let is_own = |tree: &Node| own.is_some_and(|own| std::ptr::eq(own, tree));
        let of_document = || all.iter().find(|(_, tree, _)| is_own(tree));
        let of_file = || all.iter().find(|(file, ..)| *file == self.document.file);
        let found = of_document().or_else(of_file).or_else(|| all.first());
        found.map(|(file, _, cluster)| (*file, *cluster))
    }
}

/// Whether it looks like one: a name, and a field that clusters alone have.
pub fn is_cluster(node: &Node) -> bool {
    let marks = list!(
        "load_assignment circuit_breakers connect_timeout eds_cluster_config lb_policy \
         cluster_type typed_extension_protocol_options"
    );
    field(node, "name").is_some() && marks.iter().any(|mark| field(node, mark).is_some())
}
