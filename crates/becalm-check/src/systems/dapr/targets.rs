//! What does a `Resiliency` protect?

use super::entries;
use crate::document::{Key, Node};
use crate::list::list;
use crate::reading::Reading;
use crate::systems::kubernetes::check;

/// What is called, and the names of its policies.
#[derive(Debug, Default)]
pub struct Target<'n> {
    /// For people: `app orders`.
    pub title: String,
    /// What it is called.
    pub names: Vec<String>,
    pub retry: Option<(&'n Key, &'n Node)>,
    pub timeout: Option<&'n Node>,
    pub breaker: Option<&'n Node>,
    /// What a component does twice.
    pub twice: Option<&'static str>,
}

const KINDS: &[&str] = list!("apps actors components");
const APP: &[&str] = list!("timeout retry circuitBreaker circuitBreakerCacheSize");
const ACTOR: &[&str] =
    list!("timeout retry circuitBreaker circuitBreakerScope circuitBreakerCacheSize");
const DIRECTIONS: &[&str] = list!("inbound outbound");
const DIRECTION: &[&str] = list!("timeout retry circuitBreaker");

pub fn all<'n>(reading: &mut Reading<'_>, targets: Option<&'n Node>) -> Vec<Target<'n>> {
    check(reading, targets, "`targets`", KINDS);
    let of = |kind: &str| entries(targets.and_then(|it| it.get(kind)));
    let mut all = Vec::new();
    for (kind, fields) in [("apps", APP), ("actors", ACTOR)] {
        for (name, target) in of(kind) {
            name.asked.set(target.is_table());
            check(reading, Some(target), "a target", fields);
            let what = kind.trim_end_matches('s');
            all.push(Target::of(target, name, what, ""));
        }
    }
    for (name, component) in of("components") {
        name.asked.set(component.is_table());
        check(reading, Some(component), "a component", DIRECTIONS);
        for direction in DIRECTIONS {
            if let Some(target) = component.get(direction) {
                check(reading, Some(target), "a target", DIRECTION);
                let after = format!(" {direction}");
                all.push(Target::of(target, name, "component", &after));
            }
        }
    }
    all
}

/// A component delivers messages, and is called.
fn twice(what: &str) -> Option<&'static str> {
    let what = what.to_ascii_lowercase();
    let does = if what.ends_with("inbound") {
        "a message whose answer is lost is delivered again"
    } else {
        "a call whose answer is lost is repeated, and it may be a write"
    };
    what.contains("component").then_some(does)
}

impl<'n> Target<'n> {
    fn of(node: &'n Node, name: &Key, what: &str, after: &str) -> Self {
        let get = |name: &str| node.get(name).filter(|it| !it.is_null());
        Self {
            title: format!("{what} {}{after}", name.name),
            names: vec![name.name.clone()],
            retry: node.entry("retry").filter(|(_, it)| !it.is_null()),
            timeout: get("timeout"),
            breaker: get("circuitBreaker"),
            twice: twice(&format!("{what}{after}")),
        }
    }

    /// What retries of this name are for, without a target that names them.
    pub fn of_name(name: &str) -> Option<Self> {
        let title = if let Some(level) = name.strip_prefix("Default") {
            let level = level.strip_suffix("RetryPolicy")?;
            match level {
                "" => "each target without policies".to_owned(),
                level => format!("each {level} without policies"),
            }
        } else {
            match name.strip_prefix("DaprBuiltIn")? {
                "ServiceRetries" => "each app without policies".to_owned(),
                what => format!("Dapr's own {what}"),
            }
        };
        let level = name.trim_start_matches("Default");
        let level = level.trim_end_matches("RetryPolicy");
        Some(Self {
            title,
            twice: twice(level),
            ..Self::default()
        })
    }
}
