//! Where does a `proxy_pass` go whose host is a variable?

use std::collections::{BTreeMap, BTreeSet};

use super::directives::Directive;
use super::upstreams::host;

/// The values that `set`, `map` and `split_clients` give to variables, by the variables' names without `$`.
#[derive(Debug)]
pub struct Variables(BTreeMap<String, BTreeSet<String>>);

impl Variables {
    pub const NONE: Self = Self(BTreeMap::new());

    pub fn gather(&mut self, directives: &[Directive<'_>]) {
        for directive in directives {
            match (directive.name(), directive.args()) {
                ("set", [name, value]) => self.put(&name.text, [&*value.text]),
                ("map" | "split_clients", [_, name]) => {
                    let values = directive.inner().iter();
                    let values = values.filter(|it| it.name() != "include");
                    self.put(
                        &name.text,
                        values.filter_map(|it| Some(&*it.args().first()?.text)),
                    );
                }
                _ => self.gather(directive.inner()),
            }
        }
    }

    fn put<'v>(&mut self, name: &str, values: impl IntoIterator<Item = &'v str>) {
        if let Some(name) = name.strip_prefix('$') {
            let all = self.0.entry(name.to_owned()).or_default();
            all.extend(values.into_iter().map(Into::into));
        }
    }

    /// What it may say once the variable in its host has a value; itself where there is none, or where no value is known.
    pub fn filled_in(&self, to: &str) -> Vec<String> {
        let Some((before, name, after)) = variable(host(to)) else {
            return vec![to.to_owned()];
        };
        let scheme = to
            .find(host(to))
            .and_then(|at| to.get(..at))
            .unwrap_or_default();
        match self.0.get(name) {
            Some(values) => values
                .iter()
                .map(|it| format!("{scheme}{before}{it}{after}"))
                .collect(),
            None => vec![to.to_owned()],
        }
    }
}

/// The first `$name` or `${name}` of a text, what stands before it and what after it.
fn variable(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('$')?;
    if let Some(braced) = rest.strip_prefix('{') {
        let (name, after) = braced.split_once('}')?;
        return Some((before, name, after));
    }
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let end = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
    Some((before, &rest[..end], &rest[end..]))
}
