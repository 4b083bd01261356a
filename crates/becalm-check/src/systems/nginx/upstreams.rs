//! How many servers does an upstream have?

use std::collections::BTreeMap;

use super::directives::Directive;
use crate::document::Span;

/// The upstreams of a file by their names.
#[derive(Debug, Default)]
pub struct Upstreams(BTreeMap<String, Servers>);

/// The servers of an upstream that are tried.
#[derive(Debug, Clone, Copy)]
pub struct Servers {
    /// Those that are not `down`, backups included.
    pub count: u32,
    pub span: Span,
    /// Whether they are all in the file.
    pub is_known: bool,
}

impl Servers {
    /// One, in place of what is not in the file.
    pub const fn one(span: Span) -> Self {
        Self {
            count: 1,
            span,
            is_known: false,
        }
    }
}

impl Upstreams {
    /// Takes those of a file, `http` or not; of `stream` none.
    pub fn gather(&mut self, directives: &[Directive]) {
        for directive in directives {
            match (directive.name(), directive.args().first()) {
                ("upstream", Some(name)) => {
                    let is_up = |it: &&Directive| {
                        it.name() == "server" && !it.args().iter().any(|it| it.text == "down")
                    };
                    let count = directive.inner().iter().filter(is_up).count();
                    let servers = Servers {
                        count: u32::try_from(count).unwrap_or(u32::MAX),
                        span: directive.span(),
                        is_known: true,
                    };
                    self.0.insert(name.text.to_lowercase(), servers);
                }
                ("http", _) => self.gather(directive.inner()),
                _ => {}
            }
        }
    }

    pub fn servers(&self, name: &str) -> Option<Servers> {
        self.0.get(&name.to_lowercase()).copied()
    }
}

/// The name in `http://name/path`, `grpc://name`, `name`.
pub fn host(to: &str) -> &str {
    let rest = to.split_once("://").map_or(to, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}
