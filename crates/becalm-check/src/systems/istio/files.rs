//! Which resources of the files are about a host or a name?
//!
//! A cluster has thousands of services: to look through all of them for each route is quadratic.

use std::collections::HashMap;

use super::super::kubernetes::namespace;
use super::super::resources::{At, label, own_first, trees};
use super::given::{Given, Root, is_of_sidecars, of_mesh};
use crate::document::{Node, Together};

/// Of the files of one check.
#[derive(Debug, Default)]
pub struct Files<'a> {
    /// Routes that delegate, by the name of the delegate.
    roots: HashMap<&'a str, Vec<Root<'a>>>,
    /// Those without hosts, by their names.
    delegates: HashMap<&'a str, Vec<At<'a>>>,
    /// Those that sidecars read, by their first host.
    of_sidecars: HashMap<&'a str, Vec<At<'a>>>,
    /// The hosts that routes lead to, with the namespace of the route, by their first label.
    destinations: HashMap<&'a str, Vec<(&'a str, Option<&'a str>)>>,
    /// Each `DestinationRule`, by the first label of its host.
    rules: HashMap<&'a str, Vec<At<'a>>>,
    mesh: Vec<Given<'a, 'a>>,
}

impl<'a> Files<'a> {
    pub fn of(files: &[Together<'a>]) -> Self {
        let mut all = Self::default();
        for (file, tree) in trees(files) {
            if let Some((key, node)) = of_mesh(tree) {
                all.mesh.push(Given { file, key, node });
            }
            match tree.get("kind").and_then(Node::text) {
                Some("VirtualService") => all.add_service(file, tree),
                Some("DestinationRule") => {
                    if let Some(host) = tree.at(&["spec", "host"]).and_then(Node::text) {
                        all.rules.entry(label(host)).or_default().push((file, tree));
                    }
                }
                _ => {}
            }
        }
        all
    }

    fn add_service(&mut self, file: &'a str, service: &'a Node) {
        let own = namespace(service);
        for route in service.list(&["spec", "http"]) {
            if let Some(name) = route.at(&["delegate", "name"]).and_then(Node::text) {
                let root = Root {
                    file,
                    service,
                    route,
                };
                self.roots.entry(name).or_default().push(root);
            }
            for destination in route.list(&["route"]) {
                if let Some(host) = destination
                    .at(&["destination", "host"])
                    .and_then(Node::text)
                {
                    let hosts = self.destinations.entry(label(host)).or_default();
                    if !hosts.contains(&(host, own)) {
                        hosts.push((host, own));
                    }
                }
            }
        }
        match service.list(&["spec", "hosts"]) {
            [] => {
                if let Some(name) = service.at(&["metadata", "name"]).and_then(Node::text) {
                    let same = self.delegates.entry(name).or_default();
                    same.push((file, service));
                }
            }
            [first, ..] if is_of_sidecars(service) => {
                let same = self.of_sidecars.entry(first.text().unwrap_or_default());
                same.or_default().push((file, service));
            }
            _ => {}
        }
    }

    /// The routes that delegate to this name, those of the file first.
    pub fn roots(&self, file: &str, name: &str) -> impl Iterator<Item = Root<'a>> {
        let all = self.roots.get(name).map_or(&[][..], |it| it);
        own_first(all, move |it| it.file == file)
    }

    /// Each `VirtualService` of this name that has no hosts.
    pub fn delegates(&self, name: &str) -> impl Iterator<Item = &'a Node> {
        let all = self.delegates.get(name).map_or(&[][..], |it| it);
        all.iter().map(|(_, it)| *it)
    }

    /// Each `VirtualService` of sidecars whose first host is this one, those of the file first.
    pub fn of_sidecars(&self, file: &str, host: &Node) -> impl Iterator<Item = &'a Node> {
        let host = host.text().unwrap_or_default();
        let all = self.of_sidecars.get(host).map_or(&[][..], |it| it);
        own_first(all, move |it| it.0 == file).map(|(_, it)| it)
    }

    /// What may be another name of this host, to which a route leads, and the namespace of the route.
    pub fn destinations(&self, host: &str) -> &[(&'a str, Option<&'a str>)] {
        self.destinations.get(label(host)).map_or(&[], |it| it)
    }

    /// Each `DestinationRule` that may be about this host, those of the file first.
    pub fn rules(&self, file: &str, host: &str) -> impl Iterator<Item = At<'a>> {
        let all = self.rules.get(label(host)).map_or(&[][..], |it| it);
        own_first(all, move |it| it.0 == file)
    }

    /// The retries of the mesh, those of the file first.
    pub fn mesh(&self, file: &str) -> Option<Given<'a, 'a>> {
        own_first(&self.mesh, move |it| it.file == file).next()
    }
}
