//! Which services does a middleware stand before, and how long may they take?

use std::collections::HashMap;

use super::Source;
use crate::document::{Node, Span};

/// What stands around a middleware.
#[derive(Debug, Default)]
pub struct Around<'n> {
    /// The services of the routers that name it.
    pub services: Vec<&'n str>,
    /// How long the head of an answer may take, where all of them have the same.
    pub timeout: Option<&'n Node>,
    /// What the same routers pass a request through, each with its place.
    pub others: Vec<(&'static str, Span)>,
}

/// The routers of a configuration.
#[derive(Debug, Default)]
pub struct Routers<'n> {
    /// The routers that name a middleware, by its name.
    by_middleware: HashMap<&'n str, Vec<Router<'n>>>,
}

#[derive(Debug, Clone)]
struct Router<'n> {
    service: &'n str,
    timeout: Option<&'n Node>,
    others: Vec<(&'static str, Span)>,
}

/// Middlewares that let through less.
const OTHERS: [&str; 3] = ["circuitBreaker", "inFlightReq", "rateLimit"];

impl<'n> Routers<'n> {
    pub fn of(http: &'n Node, source: Source) -> Self {
        let part = |name| source.get(http, name);
        let middlewares = Named::of(part("middlewares"));
        let services = Named::of(part("services"));
        let transports = Named::of(part("serversTransports"));
        let mut by_middleware: HashMap<&str, Vec<Router<'n>>> = HashMap::new();
        for (_, router) in part("routers").map_or(&[][..], Node::entries) {
            let named = names(source.get(router, "middlewares"));
            let bodies = named.iter().filter_map(|it| middlewares.get(it));
            let others = bodies.flat_map(|body| {
                let entries = OTHERS.iter().map(|it| (*it, source.entry(body, it)));
                entries.filter_map(|(name, entry)| Some((name, entry?.0.span)))
            });
            let service = source.get(router, "service").and_then(Node::text);
            let service = service.map_or("", plain);
            let balancer = services.get(service);
            let balancer = balancer.and_then(|it| source.get(it, "loadBalancer"));
            let transport = balancer.and_then(|it| source.get(it, "serversTransport")?.text());
            let transport = transport.and_then(|it| transports.get(plain(it)));
            let times = transport.and_then(|it| source.get(it, "forwardingTimeouts"));
            let found = Router {
                service,
                timeout: times.and_then(|it| source.get(it, "responseHeaderTimeout")),
                others: others.collect(),
            };
            for name in named {
                let chain = middlewares.get(name);
                let chain = chain.and_then(|it| source.get(it, "chain"));
                let chain = chain.and_then(|it| source.get(it, "middlewares"));
                for name in names(chain).into_iter().chain([name]) {
                    by_middleware.entry(name).or_default().push(found.clone());
                }
            }
        }
        Self { by_middleware }
    }

    pub fn around(&self, middleware: &str) -> Around<'n> {
        let routers = self.by_middleware.get(middleware);
        let routers = routers.map_or(&[][..], Vec::as_slice);
        let mut around = Around::default();
        for router in routers {
            if !router.service.is_empty() && !around.services.contains(&router.service) {
                around.services.push(router.service);
            }
            for other in &router.others {
                if !around.others.contains(other) {
                    around.others.push(*other);
                }
            }
        }
        let first = routers.first().and_then(|it| it.timeout);
        let is_same = |it: &Router<'_>| it.timeout.map(Node::text) == first.map(Node::text);
        around.timeout = first.filter(|_| routers.iter().all(is_same));
        around
    }
}

/// Parts of a configuration, by their names.
struct Named<'n>(HashMap<&'n str, &'n Node>);

impl<'n> Named<'n> {
    fn of(node: Option<&'n Node>) -> Self {
        let entries = node.map_or(&[][..], Node::entries).iter();
        Self(entries.map(|(key, it)| (&*key.name, it)).collect())
    }

    fn get(&self, name: &str) -> Option<&'n Node> {
        self.0.get(name).copied()
    }
}

/// A list of names: of a file, or of a label with commas.
fn names(node: Option<&Node>) -> Vec<&str> {
    let Some(node) = node else {
        return Vec::new();
    };
    let listed = node.items().iter().filter_map(Node::text);
    let of_label = node.text().into_iter().flat_map(|it| it.split(','));
    listed.chain(of_label).map(|it| plain(it.trim())).collect()
}

/// Without the provider: `again@file`.
fn plain(name: &str) -> &str {
    name.split('@').next().unwrap_or(name)
}
