//! Which clusters and tables of routes do the files have?
//!
//! One walk finds them for all documents, at the first document of Envoy.

use std::collections::{HashMap, HashSet};

use super::fields::{field, items};
use super::place::{clusters_of, routes};
use crate::document::{Document, Node, Span, Together};
use crate::list::list;
use crate::systems::resources::trees;

/// Of the files of one check.
#[derive(Debug, Default)]
pub struct Files<'a> {
    /// By their names, each with its file and its document.
    clusters: HashMap<&'a str, Vec<(&'a str, &'a Node, &'a Node)>>,
    /// The names of tables of routes.
    tables: HashSet<&'a str>,
    /// The clusters to which a route leads: their files and places.
    reached: HashSet<(&'a str, Span)>,
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
        let mut led = Vec::new();
        for (file, tree) in trees(files) {
            let mut names = HashSet::new();
            for node in tree.walk() {
                let name = || field(node, "name").and_then(Node::text);
                if let Some(name) = is_cluster(node).then(name).flatten() {
                    let same = all.clusters.entry(name).or_default();
                    same.push((file, tree, node));
                }
                let hosts = items(node, "virtual_hosts");
                if !hosts.is_empty() {
                    all.tables.extend(name());
                }
                let actions = hosts.iter().flat_map(routes);
                let actions = actions.filter_map(|it| field(it, "route"));
                names.extend(actions.flat_map(clusters_of));
            }
            led.push((file, tree, names));
        }
        for (file, tree, names) in led {
            let found = names
                .iter()
                .filter_map(|it| all.of_name(it, file, Some(tree)));
            let found: Vec<_> = found.map(|(file, it)| (file, it.span)).collect();
            all.reached.extend(found);
        }
        all
    }

    /// The cluster of this name, as a document of this file sees it.
    fn of_name(&self, name: &str, file: &str, own: Option<&Node>) -> Option<(&'a str, &'a Node)> {
        let all = self.clusters.get(name)?;
        let is_own = |tree: &Node| own.is_some_and(|own| std::ptr::eq(own, tree));
        let of_document = || all.iter().find(|(_, tree, _)| is_own(tree));
        let of_file = || all.iter().find(|it| it.0 == file);
        let found = of_document().or_else(of_file).or_else(|| all.first());
        found.map(|(file, _, cluster)| (*file, *cluster))
    }

    /// Whether a route leads to this cluster of this file.
    pub fn is_reached(&self, file: &str, cluster: &Node) -> bool {
        self.reached.contains(&(file, cluster.span))
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
        let Document { file, tree, .. } = self.document;
        self.files.of_name(name, file, tree)
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
