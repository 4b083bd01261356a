//! Which resources of the files are about a host or a name?
//!
//! A cluster has thousands of services: to look through all of them for each route is quadratic.

use foldhash::HashSet;

use super::super::kubernetes::{is_a, namespace};
use super::super::resources::{At, Named, label, trees};
use super::GROUP;
use super::given::{Given, Root, is_of_sidecars, of_mesh};
use crate::document::{Node, Together};

/// Of the files of one check.
#[derive(Debug, Default)]
pub struct Files<'a> {
    /// Routes that delegate, by the name and the namespace of the delegate.
    roots: Named<'a, Root<'a>>,
    /// Those without hosts, by their names.
    delegates: Named<'a, At<'a>>,
    /// Those that sidecars read, by their first host.
    of_sidecars: Named<'a, At<'a>>,
    /// The hosts that routes lead to, with the namespace of the route, by their first label.
    destinations: Named<'a, Destination<'a>>,
    seen: HashSet<Destination<'a>>,
    /// Each `DestinationRule`, by the first label of its host.
    rules: Named<'a, At<'a>>,
    mesh: Vec<Given<'a, 'a>>,
}

/// A host, and the namespace of the resource that names it.
type Destination<'a> = (&'a str, Option<&'a str>);

impl<'a> Files<'a> {
    pub fn of(files: &[Together<'a>]) -> Self {
        let mut all = Self::default();
        for (file, tree) in trees(files) {
            if let Some((key, node)) = of_mesh(tree) {
                all.mesh.push(Given { file, key, node });
            }
            if is_a(tree, "VirtualService", &[GROUP]) {
                all.add_service(file, tree);
            } else if is_a(tree, "DestinationRule", &[GROUP])
                && let Some(host) = tree.at(&["spec", "host"]).and_then(Node::text)
            {
                let own = within(host, namespace(tree));
                all.rules.add(label(host), own, (file, tree));
            }
        }
        all
    }

    fn add_service(&mut self, file: &'a str, service: &'a Node) {
        let own = namespace(service);
        for route in service.list(&["spec", "http"]) {
            if let Some(delegate) = route.get("delegate") {
                let text = |key| delegate.get(key).and_then(Node::text);
                let root = Root {
                    file,
                    service,
                    route,
                };
                if let Some(name) = text("name") {
                    self.roots.add(name, text("namespace").or(own), root);
                }
            }
            let hosts = route.list(&["route"]).iter();
            for host in hosts.filter_map(|it| it.at(&["destination", "host"])?.text()) {
                if self.seen.insert((host, own)) {
                    self.destinations
                        .add(label(host), within(host, own), (host, own));
                }
            }
        }
        match service.list(&["spec", "hosts"]) {
            [] => {
                if let Some(name) = service.at(&["metadata", "name"]).and_then(Node::text) {
                    self.delegates.add(name, own, (file, service));
                }
            }
            [first, ..] if is_of_sidecars(service) => {
                let host = first.text().unwrap_or_default();
                self.of_sidecars.add(host, own, (file, service));
            }
            _ => {}
        }
    }

    /// The routes that delegate to this name and may mean this namespace, those of the file first.
    pub fn roots(
        &self,
        file: &str,
        namespace: Option<&str>,
        name: &str,
    ) -> impl Iterator<Item = Root<'a>> {
        self.roots.get(name, namespace, move |it| it.file == file)
    }

    /// Each `VirtualService` of this name, perhaps of this namespace, that has no hosts.
    pub fn delegates(&self, namespace: Option<&str>, name: &str) -> impl Iterator<Item = &'a Node> {
        let all = self.delegates.get(name, namespace, |_| true);
        all.map(|(_, it)| it)
    }

    /// Each `VirtualService` of sidecars, perhaps of this namespace, whose first host is this one, those of the file first.
    pub fn of_sidecars(
        &self,
        file: &str,
        namespace: Option<&str>,
        host: &Node,
    ) -> impl Iterator<Item = &'a Node> {
        let host = host.text().unwrap_or_default();
        let all = self
            .of_sidecars
            .get(host, namespace, move |it| it.0 == file);
        all.map(|(_, it)| it)
    }

    /// What may be another name of this host, of a resource of this namespace, to which a route leads.
    pub fn destinations(
        &self,
        host: &str,
        namespace: Option<&str>,
    ) -> impl Iterator<Item = Destination<'a>> {
        let within = within(host, namespace);
        self.destinations.get(label(host), within, |_| true)
    }

    /// Each `DestinationRule` that may be about this host, as a resource of this namespace names it; those of the file first.
    pub fn rules(
        &self,
        file: &str,
        host: &str,
        namespace: Option<&str>,
    ) -> impl Iterator<Item = At<'a>> {
        let within = within(host, namespace);
        self.rules.get(label(host), within, move |it| it.0 == file)
    }

    /// The retries of the mesh, those of the file first.
    pub fn mesh(&self, file: &str) -> Option<Given<'a, 'a>> {
        let own = self.mesh.iter().find(|it| it.file == file);
        own.or_else(|| self.mesh.first()).copied()
    }
}

/// The namespace of a host that a resource of this namespace names: a short name is one of the resource's.
pub fn within<'n>(host: &'n str, own: Option<&'n str>) -> Option<&'n str> {
    let Some((_, rest)) = host.split_once('.') else {
        return own;
    };
    let (namespace, domain) = rest.split_once('.')?;
    (domain == "svc" || domain.starts_with("svc.")).then_some(namespace)
}
