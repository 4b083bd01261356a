//! To which methods does a route limit what it repeats?

use std::collections::BTreeSet;

use becalm::Policy;
use becalm::classify::FailureKind;
use becalm::retry_on::{Codes, Failures, Methods, RetryOn, Statuses};

use crate::document::{Node, Span};

/// Why a limit is lost.
pub const NOT_READ: &str = "the methods of this route are limited in a way that is not read: all of them are taken for repeated";

/// These methods, but for those that a policy takes for a slip, such as `get`; all where none is left.
pub fn listed<T: AsRef<str>>(names: BTreeSet<T>) -> Methods {
    let is_method = |name: &T| {
        let alone = RetryOn::new().methods(Methods::of([name.as_ref()]));
        Policy::default().retry_on(alone).validate().is_ok()
    };
    let names: Vec<T> = names.into_iter().filter(is_method).collect();
    if names.is_empty() {
        return Methods::Any;
    }
    Methods::of(names.iter().map(AsRef::as_ref))
}

/// What repeats connecting, and nothing that was sent.
pub fn connecting() -> RetryOn {
    let failures = [FailureKind::Connect, FailureKind::ConnectTimeout];
    RetryOn::new()
        .methods(Methods::Any)
        .statuses(Statuses::default())
        .codes(Codes::default())
        .failures(failures.into_iter().collect::<Failures>())
}

/// How many names of methods a regular expression is read for.
const MOST_NAMES: usize = 32;

/// Of a regular expression that has to match all of a method, the methods where it is nothing but their names, and not too
/// many: `GET|HEAD`, `^(GET|HEAD)$`.
pub fn alternatives(regex: &str) -> Option<BTreeSet<String>> {
    let regex = regex.strip_prefix('^').unwrap_or(regex);
    let regex = regex.strip_suffix('$').unwrap_or(regex);
    let inner = regex.strip_prefix('(').and_then(|it| it.strip_suffix(')'));
    let inner = inner.map(|it| it.strip_prefix("?:").unwrap_or(it));
    let names = inner.unwrap_or(regex).split('|');
    if names.clone().nth(MOST_NAMES).is_some() {
        return None;
    }
    let is_name = |it: &&str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_alphabetic());
    let names = names.map(|it| Some(it).filter(is_name).map(ToOwned::to_owned));
    names.collect()
}

/// Methods of RFC 9110 and RFC 5789 but for these.
pub fn others(names: &BTreeSet<String>) -> BTreeSet<String> {
    let all = [
        "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT",
    ];
    let all = all.into_iter().filter(|it| !names.contains(*it));
    all.map(ToOwned::to_owned).collect()
}

/// The methods that a route is limited to: those of its matches, where each names one at this path.
pub fn named(matches: &[Node], path: &[&str]) -> Methods {
    let named = matches.iter().map(|it| it.at(path).and_then(Node::text));
    let named: Option<BTreeSet<_>> = named.collect();
    named.map_or(Methods::Any, listed)
}

/// As [`named`], where a match has a `StringMatch` for the method, of which the regular expression may be of names alone.
///
/// # Errors
///
/// The place of one that is not read.
pub fn matched(matches: &[Node]) -> Result<Methods, Span> {
    let mut all = BTreeSet::new();
    for given in matches {
        let Some(method) = given.get("method") else {
            return Ok(Methods::Any);
        };
        let says = |name: &str| method.get(name).and_then(Node::text);
        let exact = says("exact").map(|it| BTreeSet::from([it.to_owned()]));
        match exact.or_else(|| alternatives(says("regex")?)) {
            Some(names) => all.extend(names),
            None => return Err(method.span),
        }
    }
    Ok(match matches {
        [] => Methods::Any,
        _ => listed(all),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_method_for_a_policy_limits_nothing() {
        assert_eq!(listed(BTreeSet::from(["get"])), Methods::Any);
        let both = listed(BTreeSet::from(["get", "PUT"]));
        assert_eq!(both, Methods::of(["PUT"]));
    }

    #[test]
    fn a_regular_expression_of_names_is_a_list_of_them() {
        let both = Some(BTreeSet::from(["GET".to_owned(), "HEAD".to_owned()]));
        for regex in ["GET|HEAD", "^(GET|HEAD)$", "(?:HEAD|GET)", "^GET|HEAD$"] {
            assert_eq!(alternatives(regex), both, "{regex}");
        }
        for regex in ["", "GET|", "GET.*", "(GET)|(HEAD)", "[A-Z]+", "(GET|HEAD"] {
            assert_eq!(alternatives(regex), None, "{regex}");
        }
        let many = |count| vec!["GET"; count].join("|");
        assert!(alternatives(&many(32)).is_some() && alternatives(&many(33)).is_none());
    }
}
