//! What does a resource give to routes of others, and where does it stand?

use crate::document::{Key, Node};

/// Something that is said, and in which file.
#[derive(Debug, Clone, Copy)]
pub struct Given<'a, 'n> {
    pub file: &'a str,
    pub key: &'n Key,
    pub node: &'n Node,
}

impl<'a, 'n> Given<'a, 'n> {
    /// What stands under this key, if anything.
    pub fn of(file: &'a str, node: &'n Node, name: &str) -> Option<Self> {
        let (key, node) = node.entry(name).filter(|(_, it)| !it.is_null())?;
        Some(Self { file, key, node })
    }
}

/// A route that delegates, and its `VirtualService`.
#[derive(Debug, Clone, Copy)]
pub struct Root<'a> {
    pub file: &'a str,
    pub service: &'a Node,
    pub route: &'a Node,
}

impl<'a> Root<'a> {
    pub fn given(&self, name: &str) -> Option<Given<'a, 'a>> {
        Given::of(self.file, self.route, name)
    }
}

/// Whether sidecars read this `VirtualService`, and not gateways alone.
pub fn is_of_sidecars(service: &Node) -> bool {
    let gateways = service.list(&["spec", "gateways"]);
    gateways.is_empty() || gateways.iter().any(|it| it.text() == Some("mesh"))
}

/// The retries of routes that have none, in the configuration of the mesh: of an `IstioOperator`, of the operator's
/// `Istio`, or of the chart's values.
pub fn of_mesh(tree: &Node) -> Option<(&Key, &Node)> {
    let places: [&[&str]; 3] = [
        &["meshConfig"],
        &["spec", "meshConfig"],
        &["spec", "values", "meshConfig"],
    ];
    let mut found = places.iter().filter_map(|it| tree.at(it));
    let found = found.find_map(|it| it.entry("defaultHttpRetryPolicy"));
    found.filter(|(_, it)| it.is_table())
}
