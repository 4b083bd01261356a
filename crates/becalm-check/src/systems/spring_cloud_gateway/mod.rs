//! What does an `application.yml` of Spring Cloud Gateway say about retrying?
//!
//! `RetryGatewayFilterFactory`, `FilterDefinition`, `NettyRoutingFilter` and `RetryFilterFunctions` of
//! spring-cloud/spring-cloud-gateway 5.0.3, 4.3.5 and 4.2.7, and `reactor.retry` of reactor/reactor-addons 3.6.

mod filter;
mod server;
mod timeouts;
mod waits;
mod webflux;
mod webmvc;

use becalm::hint::HintMode;
use becalm::{Budget, Jitter, Policy};

use super::spring::{self, Properties, at, check, entry, flag, get};
use crate::code;
use crate::document::{Document, Node, Span};
use crate::evidence::Evidence;
use crate::list::list;
use crate::mapping::Draft;
use crate::meant::slip_of;
use crate::reading::Reading;
use crate::scalars::Scalars;
use crate::system::{Follows, Form, Schema, System};
use crate::told::Told;
use filter::Filter;
use server::{Kind, SERVERS, Server};

pub(super) const SPRING_CLOUD_GATEWAY: System = System {
    name: "spring-cloud-gateway",
    title: "Spring Cloud Gateway",
    versions: &["5.0", "4.3", "4.2"],
    evidence: Evidence::Read,
    form: Form::Tree,
    remedies: REMEDIES,
    fewer: Some("lower `retries`"),
    elsewhere: &["no-budget"],
    follows: Follows::Attempts,
    schema: Schema {
        scalars: Scalars::JavaTexts,
        tables: &["backoff"],
        of_no_table: code::NOT_UNDERSTOOD,
        ..Schema::OPEN
    },
};

/// Spring Cloud Gateway on Spring MVC: its filter has no jitter and no time-out.
const ON_MVC: System = System {
    remedies: REMEDIES_ON_MVC,
    ..SPRING_CLOUD_GATEWAY
};

/// What a filter Retry says, in the keys of a policy.
const KEYS: &[&str] =
    list!("attempts backoff base jitter hint budget deadline attempt_timeout retry_on");

/// What helps against a lint, by its code.
const REMEDIES: &[(&str, &str)] = &[
    (
        "no-budget",
        "lower `retries`: Spring Cloud Gateway has no budget",
    ),
    ("no-jitter", "set `jitter`"),
    ("retries-at-once", "set `backoff`"),
    (
        "no-growth",
        "set a `factor` of 2, and a `maxBackoff` above `firstBackoff`",
    ),
    (
        "hints-ignored",
        "lower `retries`: the filter heeds no Retry-After",
    ),
    (
        "no-deadline",
        "set `timeout`, after which no attempt begins",
    ),
    (
        "attempt-timeout-fills-deadline",
        "lower `response-timeout` or `retries`, or raise `timeout`",
    ),
    (
        "waits-exceed-deadline",
        "lower `retries` or `firstBackoff`, or raise `timeout`",
    ),
    (
        "repeats-non-idempotent",
        "leave POST and PATCH out of `methods`",
    ),
    (
        "repeats-what-may-be-done",
        "leave POST and PATCH out of `methods`, or give them a route of their own with `statuses: SERVICE_UNAVAILABLE`, an empty `series` and `exceptions: java.net.ConnectException`",
    ),
    ("long-waits", "lower `maxBackoff` or `firstBackoff`"),
];

/// What helps on Spring MVC.
const REMEDIES_ON_MVC: &[(&str, &str)] = &[
    (
        "no-budget",
        "lower `retries`: Spring Cloud Gateway has no budget",
    ),
    ("retries-at-once", "set `backoff`"),
    (
        "no-growth",
        "set a `factor` of 2, and a `maxBackoff` above `firstBackoff`",
    ),
    (
        "hints-ignored",
        "lower `retries`: the filter heeds no Retry-After",
    ),
    (
        "repeats-non-idempotent",
        "leave POST and PATCH out of `methods`",
    ),
    (
        "repeats-what-may-be-done",
        "leave POST and PATCH out of `methods`",
    ),
];

const ROOT: &[&str] = &["spring", "cloud", "gateway"];

pub(super) fn recognises(document: &Document<'_>) -> bool {
    spring::has(document, ROOT)
}

pub(super) fn read(reading: &mut Reading<'_>) {
    reading.misread = code::REFUSED;
    let Some(properties) = Properties::read(reading, ROOT) else {
        return;
    };
    let document = reading.document;
    // A profile is read for what it changes.
    let says =
        |server: &Server| properties.profile.is_none() || spring::has(&document, server.path);
    for server in SERVERS.iter().filter(|it| says(it)) {
        if let Some(given) = at(&properties.tree, server.path) {
            of_server(reading, &properties, server, given);
        }
    }
}

/// How many breakers of a route are told one by one with each of its retries.
const BREAKERS: usize = 16;

/// A route, or all of those that are not in the file.
struct Route<'n> {
    name: String,
    names: Vec<String>,
    given: &'n Node,
}

fn of_server(
    reading: &mut Reading<'_>,
    properties: &Properties<'_>,
    server: &Server,
    given: &Node,
) {
    let defaults = match server.kind {
        Kind::WebFlux => Filter::all(get(given, "default-filters")),
        Kind::WebMvc => Vec::new(),
    };
    let mut routes = routes(given);
    if routes.is_empty() && !defaults.is_empty() {
        routes.push(Route {
            name: "every route".into(),
            names: Vec::new(),
            given,
        });
    }
    let mut is_told = false;
    for filter in &defaults {
        misspelled(reading, filter);
    }
    for route in routes {
        let own = Filter::all(get(route.given, "filters"));
        let all: Vec<_> = defaults.iter().chain(&own).collect();
        for filter in &own {
            misspelled(reading, filter);
        }
        let named = |name: &'static str| all.iter().filter(move |it| it.is(name));
        let retries: Vec<_> = named("Retry").collect();
        let breakers: Vec<_> = named("CircuitBreaker").collect();
        let (breakers, more) = breakers.split_at(breakers.len().min(BREAKERS));
        for filter in &retries {
            if !std::mem::replace(&mut is_told, true) {
                server.is_read(reading, given);
            }
            let mut draft = match server.kind {
                Kind::WebFlux => webflux::draft(reading, filter, given, route.given),
                Kind::WebMvc => webmvc::draft(reading, filter, given),
            };
            if retries.len() > 1 {
                draft.lose("another filter Retry", server.kind.several(), None);
            }
            let why = "a breaker and a time-out of its own, around or inside the attempts by the order of the filters";
            for breaker in breakers {
                draft.lose("CircuitBreaker", why, Some(breaker.span));
            }
            if !more.is_empty() {
                draft.lose(
                    format!("{} more filters CircuitBreaker", more.len()),
                    why,
                    None,
                );
            }
            let name = properties.named(&route.name);
            let both = reading.system;
            if server.kind == Kind::WebMvc {
                reading.system = &ON_MVC;
            }
            reading.map(draft, name, route.names.clone(), filter.span);
            reading.system = both;
        }
    }
}

/// Tells of a filter whose name is almost that of what repeats: `RouteDefinitionRouteLocator` finds none of this name.
fn misspelled(reading: &mut Reading<'_>, filter: &Filter) {
    if slip_of(&filter.name, &["Retry"]).is_some() {
        let sentence = format!(
            "{} has no filter `{}`, and refuses the route",
            reading.who(),
            filter.name
        );
        reading.find(
            filter.span,
            code::REFUSED,
            sentence,
            "did you mean `Retry`?",
        );
    }
}

/// Of `routes`, `routes-map` (Spring MVC) and those that a registry of services makes.
fn routes(given: &Node) -> Vec<Route<'_>> {
    let listed = get(given, "routes").map_or(&[][..], Node::items);
    let listed = listed.iter().map(|route| {
        let id = get(route, "id").and_then(Node::text);
        of_route(id, route)
    });
    let named = get(given, "routes-map").map_or(&[][..], Node::entries);
    let named = named
        .iter()
        .map(|(key, route)| of_route(Some(&key.name), route));
    let located = at(given, &["discovery", "locator"]);
    let is_on = |it: &&Node| get(it, "enabled").and_then(Node::text).and_then(flag) == Some(true);
    let located = located.filter(is_on).map(|given| Route {
        name: "routes of the registry of services".into(),
        names: Vec::new(),
        given,
    });
    listed.chain(named).chain(located).collect()
}

fn of_route<'n>(id: Option<&str>, given: &'n Node) -> Route<'n> {
    let host = get(given, "uri").and_then(Node::text).and_then(host);
    let name = id.or(host).unwrap_or("?");
    Route {
        name: format!("route {name}"),
        names: host.or(id).map(ToOwned::to_owned).into_iter().collect(),
        given,
    }
}

/// `orders` of `lb://orders` and of `http://orders:8080/v1`; not of a placeholder.
fn host(uri: &str) -> Option<&str> {
    let (_, rest) = uri.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?.split(':').next()?;
    Some(host).filter(|it| !it.is_empty() && !it.contains(['$', '{']))
}

/// Before the file says anything: at once, as often as is said, by nothing but the filter's own lists.
fn bare(attempts: u32) -> Policy {
    Policy::fixed(std::time::Duration::ZERO)
        .jitter(Jitter::None)
        .attempts(attempts)
        .hint(HintMode::Ignore)
        .budget(Budget::None)
}

/// `retries`, which counts those after the first try.
fn retries(
    reading: &mut Reading<'_>,
    draft: &mut Draft,
    filter: &Filter,
    least: u32,
) -> Option<(u32, Span)> {
    let form = format!("a number of retries of at least {least}");
    let node = get(&filter.args, "retries");
    match reading.told(node, &form, |it| it.parse().ok().filter(|it| *it >= least)) {
        Told::Is(retries, span) => Some((retries, span)),
        told => {
            draft.set("attempts", told, |_, _| {});
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_a_route_is_whom_it_calls() {
        assert_eq!(host("lb://orders"), Some("orders"));
        assert_eq!(host("http://me@orders.shop:8080/v1"), Some("orders.shop"));
        assert_eq!(host("lb:ws://chat"), Some("chat"));
        assert_eq!(
            [host("${ORDERS}"), host("http://${HOST}:1"), host("no://")],
            [None; 3]
        );
    }
}
