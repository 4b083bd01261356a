//! What stands around a route, and where does it lead?

use super::fields::{field, items};
use crate::document::Node;

/// A route with what stands around it.
#[derive(Debug, Clone, Copy)]
pub struct Place<'n> {
    pub host: &'n Node,
    pub route: &'n Node,
    pub action: &'n Node,
    /// The connection manager that has its table.
    pub manager: Option<&'n Node>,
}

/// The routes of a virtual host, in its list or in a tree of matchers.
pub fn routes(host: &Node) -> impl Iterator<Item = &Node> {
    items(host, "routes").iter().chain(matched(host))
}

/// The clusters to which a route leads.
pub fn clusters_of(action: &Node) -> Vec<String> {
    let weighted = field(action, "weighted_clusters");
    let weighted = weighted.map_or(&[][..], |it| items(it, "clusters"));
    let weighted = weighted.iter().filter_map(|it| field(it, "name"));
    let all = field(action, "cluster").into_iter().chain(weighted);
    all.filter_map(Node::text).map(ToOwned::to_owned).collect()
}

/// The routes of a host that finds them by a tree of matchers.
fn matched(host: &Node) -> impl Iterator<Item = &Node> {
    let actions = field(host, "matcher").into_iter().flat_map(Node::walk);
    actions.flat_map(
        |it| match it.get("@type").and_then(Node::text).unwrap_or_default() {
            "type.googleapis.com/envoy.config.route.v3.Route" => std::slice::from_ref(it),
            "type.googleapis.com/envoy.config.route.v3.RouteList" => items(it, "routes"),
            _ => &[],
        },
    )
}
