//! Which policy holds for a route, where several are attached?
//!
//! `ProcessBackendTrafficPolicies` of `internal/gatewayapi/backendtrafficpolicy.go`: that of a rule, then that of its route, of its
//! listener, of its gateway; one holds as a whole, of two with one target the older. With `mergeType` it is merged with that of the
//! gateway. `HTTPRoute.GetRetry` of `internal/ir/xds.go`: the `retry` of an `HTTPRoute` holds before all of them, and so do its
//! `timeouts` (`getEffectiveRequestTimeout` of `internal/xds/translator/route.go`).

use std::time::Duration;

use super::super::kubernetes::{is_a, is_beside, is_older, named, namespace};
use super::super::resources::Resources;
use super::GROUP;
use crate::code;
use crate::document::{Node, Span};
use crate::durations::gateway_duration;
use crate::reading::Reading;

/// What a policy is attached to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Target<'n> {
    kind: &'n str,
    name: &'n str,
    section: Option<&'n str>,
}

impl<'n> Target<'n> {
    fn of(node: &'n Node) -> Option<Self> {
        let text = |key: &str| node.get(key).and_then(Node::text);
        Some(Self {
            kind: text("kind")?,
            name: text("name")?,
            section: text("sectionName"),
        })
    }
}

/// Tells which policies hold in place of this one, whose retries are at this place; whether others hold for all of its targets.
pub fn overridden(reading: &mut Reading<'_>, span: Span, resources: &Resources<'_>) -> bool {
    let document = reading.document;
    let Some(own) = document.tree else {
        return false;
    };
    let targets = targets(own);
    let mut left = targets.len();
    let others = Others {
        resources,
        file: document.file,
        own,
    };
    for target in &targets {
        let said = others.own_of_route(*target);
        let said = said.or_else(|| others.twin(*target));
        let said = said.or_else(|| others.closer(*target));
        if let Some((sentence, is_all)) = said {
            reading.find(span, code::OVERRIDDEN, sentence, "");
            left -= usize::from(is_all);
        }
    }
    if let Some((key, _)) = own.at(&["spec"]).and_then(|it| it.entry("mergeType")) {
        let sentence =
            "this policy is merged with that of its gateway: what comes of both is not known here";
        reading.find(key.span, code::NOT_SEEN, sentence, "");
    }
    left == 0 && !targets.is_empty()
}

/// How long requests may take by the `timeouts` of the rules that the policy is attached to, and the route that says so: they hold in
/// place of the policy's. Only where all that the policy is attached to say the same; otherwise a sentence of where they do.
pub fn timeout(reading: &Reading<'_>, resources: &Resources<'_>) -> Timeout {
    let own = reading.document.tree?;
    let others = Others {
        resources,
        file: reading.document.file,
        own,
    };
    let mut all = Vec::new();
    for target in targets(own) {
        let Some(route) = others.route(target).filter(|_| target.kind == "HTTPRoute") else {
            all.push(None);
            continue;
        };
        // Elsewhere the rule's own retries hold.
        let rules = rules(route, target).filter(|it| !it.get("retry").is_some_and(Node::is_table));
        all.extend(rules.map(|rule| {
            let own = ["backendRequest", "request"].into_iter();
            let mut own = own.filter_map(|it| rule.at(&["timeouts", it])?.text());
            own.next().map(|said| (said, route))
        }));
    }
    let (said, route) = all.iter().flatten().next()?;
    let is_same = all.iter().all(|it| it.is_some_and(|(it, _)| it == *said));
    let time = gateway_duration(said).filter(|_| is_same);
    let route = named(route);
    Some(time.map_or_else(
        || Err(format!("of rules in {route} `timeouts` hold in its place")),
        |time| Ok((time, format!("`timeouts` of {route}"))),
    ))
}

/// A time and the route that has it, or why there is no one time.
pub type Timeout = Option<Result<(Duration, String), String>>;

/// The rules of a route that are meant.
fn rules<'n>(route: &'n Node, target: Target<'n>) -> impl Iterator<Item = &'n Node> {
    route.list(&["spec", "rules"]).iter().filter(move |it| {
        target.section.is_none() || it.get("name").and_then(Node::text) == target.section
    })
}

fn targets(policy: &Node) -> Vec<Target<'_>> {
    let Some(spec) = policy.get("spec") else {
        return Vec::new();
    };
    let all = spec
        .get("targetRef")
        .into_iter()
        .chain(spec.list(&["targetRefs"]));
    all.filter_map(Target::of).collect()
}

fn is_policy(resource: &Node) -> bool {
    is_a(resource, "BackendTrafficPolicy", &[GROUP])
}

fn is_named(resource: &Node, target: Target<'_>) -> bool {
    let text = |path: &[&str]| resource.at(path).and_then(Node::text);
    text(&["kind"]) == Some(target.kind) && text(&["metadata", "name"]) == Some(target.name)
}

/// What stands beside a policy.
struct Others<'r, 'a> {
    resources: &'r Resources<'a>,
    file: &'r str,
    own: &'r Node,
}

impl<'a> Others<'_, 'a> {
    fn is_other(&self, it: &Node) -> bool {
        is_beside(it, self.own) && !std::ptr::eq(it, self.own)
    }

    fn route(&self, target: Target<'_>) -> Option<&'a Node> {
        let mut all = self
            .resources
            .named(self.file, self.own, target.name)
            .map(|(_, it)| it);
        all.find(|it| self.is_other(it) && is_named(it, target))
    }

    fn attached(&self, name: &str) -> impl Iterator<Item = &'a Node> {
        let own = namespace(self.own);
        let all = self.resources.attached(self.file, own, name);
        all.map(|(_, it)| it).filter(|it| self.is_other(it))
    }

    /// By the `retry` of rules of the route itself.
    fn own_of_route(&self, target: Target<'_>) -> Option<(String, bool)> {
        let route = self.route(target)?;
        let rules: Vec<_> = rules(route, target).collect();
        let with = rules
            .iter()
            .filter(|it| it.get("retry").is_some_and(Node::is_table));
        let with = with.count();
        let which = if with == rules.len() {
            "its rules"
        } else {
            "some of its rules"
        };
        (with > 0).then(|| {
            let sentence = format!(
                "{which} in {} have a `retry`, which holds in place of this one",
                named(route)
            );
            (sentence, with == rules.len())
        })
    }

    /// By an older policy with the same target.
    fn twin(&self, target: Target<'_>) -> Option<(String, bool)> {
        let mut all = self.attached(target.name).filter(|it| is_policy(it));
        let twin = all.find(|it| targets(it).contains(&target))?;
        let older = is_older(twin, self.own);
        let why = match older {
            Some(false) => return None,
            Some(true) => "which was created first",
            None => "if that was created first, which the files do not say",
        };
        let sentence = format!(
            "{} has the same target, {} {}, and holds in place of this one, {why}",
            named(twin),
            target.kind,
            target.name
        );
        Some((sentence, older.is_some()))
    }

    /// By policies that are attached to less: to a rule of the route, or to a route of the gateway.
    fn closer(&self, target: Target<'_>) -> Option<(String, bool)> {
        let (policy, part) = self
            .of_section(target)
            .or_else(|| self.of_gateway(target))?;
        let none = if policy.at(&["spec", "retry"]).is_none() {
            ", and has no `retry`: nothing is repeated there"
        } else {
            ""
        };
        let of = part.section.unwrap_or(part.name);
        let sentence = format!(
            "{} holds for {of} in place of this one{none}",
            named(policy)
        );
        Some((sentence, false))
    }

    /// A policy that is not merged with others, and of its targets one that is such a part.
    fn policy(
        &self,
        name: &str,
        is_part: impl Fn(&Target<'a>) -> bool,
    ) -> Option<(&'a Node, Target<'a>)> {
        let is_whole = |it: &&Node| is_policy(it) && it.at(&["spec", "mergeType"]).is_none();
        let mut policies = self.attached(name).filter(is_whole);
        policies.find_map(|it| Some((it, targets(it).into_iter().find(&is_part)?)))
    }

    fn of_section(&self, target: Target<'_>) -> Option<(&'a Node, Target<'a>)> {
        let is_part = |it: &Target<'_>| {
            (it.kind, it.name) == (target.kind, target.name) && it.section.is_some()
        };
        let is_whole = target.section.is_none();
        is_whole
            .then(|| self.policy(target.name, is_part))
            .flatten()
    }

    fn of_gateway(&self, target: Target<'_>) -> Option<(&'a Node, Target<'a>)> {
        if target.kind != "Gateway" {
            return None;
        }
        let leads_on = |route: &&Node| {
            let parents = route.list(&["spec", "parentRefs"]).iter();
            let mut parents = parents.filter_map(|it| it.get("name")?.text());
            parents.any(|it| it == target.name)
        };
        let mut routes = self.attached(target.name).filter(leads_on);
        routes.find_map(|route| {
            let name = route.at(&["metadata", "name"])?.text()?;
            self.policy(name, |it| is_named(route, *it))
        })
    }
}
