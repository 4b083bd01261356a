//! Which methods and statuses do the conditions of a route take?
//!
//! `convert_req_match` and `convert_rsp_match` of `linkerd/service-profiles/src/proto.rs`: what stands beside each other
//! in a condition must all hold, and what the proxy does not understand it leaves out.

use becalm::retry_on::{Methods, Statuses};

use crate::document::Node;

const METHODS: [&str; 9] = [
    "GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "POST", "PATCH",
];

/// The methods that a route may have, whatever its path.
pub fn methods(condition: Option<&Node>) -> Methods {
    let Some(condition) = condition else {
        return Methods::Any;
    };
    let named = condition.walk().filter_map(|it| it.get("method")?.text());
    let mut all: Vec<String> = METHODS.map(ToOwned::to_owned).into();
    for method in named.map(str::to_uppercase) {
        if !all.contains(&method) {
            all.push(method);
        }
    }
    let (taken, others): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|method| takes(condition, method) != Some(false));
    if others.is_empty() {
        return Methods::Any;
    }
    Methods::of(taken.iter().map(String::as_str))
}

/// Whether it takes a request with this method; `None` where that depends on the path.
fn takes(condition: &Node, method: &str) -> Option<bool> {
    let each = condition.entries().iter().filter_map(|(key, value)| {
        Some(match &*key.name {
            "method" => Some(value.text()?.eq_ignore_ascii_case(method)),
            "pathRegex" => None,
            "not" => takes(value, method).map(|it| !it),
            "all" => every(value.items().iter().map(|it| takes(it, method))),
            "any" => every(
                value
                    .items()
                    .iter()
                    .map(|it| takes(it, method).map(|it| !it)),
            )
            .map(|it| !it),
            _ => return None,
        })
    });
    every(each)
}

/// Whether all of them are true, as far as that is known.
fn every(all: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let all: Vec<_> = all.collect();
    if all.contains(&Some(false)) {
        Some(false)
    } else if all.contains(&None) {
        None
    } else {
        Some(true)
    }
}

/// Whether an answer is of a class; `None` of a condition that the proxy leaves out.
fn is_of(condition: &Node, status: u16) -> Option<bool> {
    let of_items = |node: &Node| {
        let each: Vec<_> = node
            .items()
            .iter()
            .filter_map(|it| is_of(it, status))
            .collect();
        Some(each).filter(|it| !it.is_empty())
    };
    let each = condition.entries().iter().filter_map(|(key, value)| {
        Some(match &*key.name {
            "status" => {
                let bound = |name: &str| value.get(name)?.text()?.parse().ok();
                let (least, most): (u16, u16) = (bound("min")?, bound("max")?);
                (least..=most).contains(&status)
            }
            "not" => !is_of(value, status)?,
            "all" => of_items(value)?.into_iter().all(|it| it),
            "any" => of_items(value)?.into_iter().any(|it| it),
            _ => return None,
        })
    });
    let each: Vec<bool> = each.collect();
    (!each.is_empty()).then(|| each.into_iter().all(|it| it))
}

/// The statuses that are failures by these classes, of which the first that takes an answer decides; of what none
/// takes those from 500 on.
pub fn statuses(classes: &[Node]) -> Statuses {
    let is_failure = |status: &u16| {
        let of_class = |class: &&Node| {
            let condition = class.get("condition");
            condition.and_then(|it| is_of(it, *status)) == Some(true)
        };
        let class = classes.iter().find(of_class);
        class.map_or(*status >= 500, |class| {
            class.get("isFailure").and_then(Node::text) == Some("true")
        })
    };
    (400..600)
        .filter(is_failure)
        .fold(Statuses::default(), Statuses::and)
}

/// The first condition that names one end of a range of statuses alone, and is left out for that.
pub fn half_range(classes: &[Node]) -> Option<&Node> {
    let mut all = classes.iter().flat_map(Node::walk);
    all.find(|it| it.is_table() && (it.get("min").is_some() != it.get("max").is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::documents;

    fn tree(text: &str) -> Node {
        documents(text).documents.remove(0)
    }

    #[test]
    fn methods_are_those_that_may_come_through() {
        for (condition, methods) in [
            ("{pathRegex: /a}", "any"),
            ("{method: post}", "POST"),
            ("{method: POST, pathRegex: /a}", "POST"),
            ("{all: [{method: GET}, {pathRegex: /a}]}", "GET"),
            ("{any: [{method: GET}, {method: PURGE}]}", "GET, PURGE"),
            (
                "{not: {any: [{method: POST}, {method: PATCH}]}}",
                "GET, HEAD, PUT, DELETE, OPTIONS, TRACE, CONNECT",
            ),
            ("{not: {all: [{method: POST}, {pathRegex: /a}]}}", "any"),
            ("{any: [{pathRegex: /a}, {method: GET}]}", "any"),
            ("{any: []}", ""),
        ] {
            let told = super::methods(Some(&tree(condition))).to_string();
            assert_eq!(told, methods, "{condition}");
        }
    }

    #[test]
    fn the_first_class_that_takes_an_answer_decides() {
        for (classes, statuses) in [
            ("[]", "5xx"),
            (
                "[{condition: {status: {min: 500, max: 502}}}, {condition: {status: {min: 429, max: 429}}, isFailure: true}]",
                "429, 503-599",
            ),
            (
                "[{condition: {all: [{status: {min: 400, max: 499}}, {not: {status: {min: 404, max: 404}}}]}, isFailure: true}]",
                "400-403, 405-499, 5xx",
            ),
            (
                "[{condition: {any: [{status: {min: 404, max: 404}}, {status: {min: 409, max: 409}}]}, isFailure: true}]",
                "404, 409, 5xx",
            ),
            // Half a range is none.
            (
                "[{condition: {status: {min: 404}}, isFailure: true}]",
                "5xx",
            ),
            (
                "[{condition: {all: [{status: {min: 404}}, {status: {min: 503, max: 503}}]}}]",
                "500-502, 504-599",
            ),
        ] {
            let told = super::statuses(tree(classes).items()).to_string();
            assert_eq!(told, statuses, "{classes}");
        }
    }
}
