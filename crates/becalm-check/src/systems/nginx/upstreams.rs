//! How many servers does an upstream have?

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use super::directives::Directive;
use crate::document::Span;

/// What takes servers from where they are not seen: a file, or code in Lua.
const ELSEWHERE: [&str; 4] = [
    "include",
    "state",
    "balancer_by_lua_block",
    "balancer_by_lua_file",
];

/// The upstreams of files by their names.
#[derive(Debug)]
pub struct Upstreams<'a>(BTreeMap<String, Servers<'a>>);

/// The servers of an upstream that are tried.
#[derive(Debug, Clone, Copy)]
pub struct Servers<'a> {
    /// Those that are not `down`, backups included.
    pub count: u32,
    /// Where they are named.
    pub place: Option<(&'a str, Span)>,
    /// Whether they are all known: none is a name, which is one server for each of its addresses
    /// (`ngx_http_upstream_module`, *server*), and all stand here.
    pub is_known: bool,
    /// The directive that takes servers from a file that is not seen, or from code.
    pub unseen: Option<&'static str>,
    /// Whether its `zone` lets the API of NGINX Plus add servers.
    pub has_zone: bool,
}

impl<'a> Upstreams<'a> {
    pub const NONE: Self = Self(BTreeMap::new());

    /// Takes those of a file, `http` or not; of `stream` none. Of two of a name the first stays.
    pub fn gather(&mut self, directives: &[Directive<'a>]) {
        for directive in directives {
            match (directive.name(), directive.args().first()) {
                ("upstream", Some(name)) => {
                    let servers = Servers::of(directive);
                    self.0.entry(name.text.to_lowercase()).or_insert(servers);
                }
                ("http", _) => self.gather(directive.inner()),
                _ => {}
            }
        }
    }

    pub fn servers(&self, name: &str) -> Option<Servers<'a>> {
        self.0.get(&name.to_lowercase()).copied()
    }
}

impl<'a> Servers<'a> {
    fn of(upstream: &Directive<'a>) -> Self {
        let is_up = |it: &&Directive<'_>| {
            it.name() == "server" && !it.args().iter().any(|it| it.text == "down")
        };
        let up = || upstream.inner().iter().filter(is_up);
        let is_there = |name: &&str| upstream.inner().iter().any(|it| it.name() == *name);
        let unseen = ELSEWHERE.into_iter().find(is_there);
        let are_addresses = up().all(|it| it.args().first().is_some_and(|it| is_address(&it.text)));
        Self {
            count: u32::try_from(up().count()).unwrap_or(u32::MAX),
            place: Some((upstream.file, upstream.span())),
            is_known: are_addresses && unseen.is_none(),
            unseen,
            has_zone: is_there(&"zone"),
        }
    }

    /// What is no upstream: as many servers as it has addresses.
    pub fn of_host(name: &str, stands_in: u32) -> Self {
        let is_known = is_address(name);
        Self {
            count: if is_known { 1 } else { stands_in },
            place: None,
            is_known,
            unseen: None,
            has_zone: false,
        }
    }

    /// Whether one is a name in these files, of as many servers as it has addresses.
    pub const fn are_names(&self) -> bool {
        !self.is_known && self.unseen.is_none() && self.place.is_some()
    }

    /// Where they are named, in this file.
    pub fn span_in(&self, file: &str) -> Option<Span> {
        let (own, span) = self.place?;
        (own == file).then_some(span)
    }
}

fn is_address(server: &str) -> bool {
    let bare = server.trim_start_matches('[').trim_end_matches(']');
    server.starts_with("unix:")
        || server.parse::<SocketAddr>().is_ok()
        || bare.parse::<IpAddr>().is_ok()
}

/// The name in `http://name/path`, `grpc://name`, `name`, and before a variable that begins with a `/`.
pub fn host(to: &str) -> &str {
    let rest = to.split_once("://").map_or(to, |(_, rest)| rest);
    let paths = ["/", "$request_uri", "$uri", "$document_uri"];
    let end = paths.into_iter().filter_map(|it| rest.find(it)).min();
    &rest[..end.unwrap_or(rest.len())]
}

/// Whether this is more likely the name of an upstream than a host's.
pub fn is_bare(name: &str) -> bool {
    let is_letter = |it: u8| it.is_ascii_alphanumeric() || b"-_".contains(&it);
    name != "localhost" && !name.is_empty() && name.bytes().all(is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_ends_before_its_path() {
        for (to, name) in [
            ("http://a/b", "a"),
            ("a", "a"),
            ("http://a$request_uri", "a"),
            ("http://a$uri$is_args$args", "a"),
            ("http://$host/a", "$host"),
            ("grpc://a:1", "a:1"),
        ] {
            assert_eq!(host(to), name, "{to}");
        }
        assert!(is_bare("app_1") && !is_bare("a.b") && !is_bare("a:1") && !is_bare("$a"));
    }

    #[test]
    fn an_address_is_one_server() {
        for text in [
            "10.0.0.1",
            "10.0.0.1:80",
            "[::1]:80",
            "[::1]",
            "unix:/run/a.sock",
        ] {
            assert!(is_address(text), "{text}");
        }
        for text in ["localhost", "app:80", "orders.shop", "$a"] {
            assert!(!is_address(text), "{text}");
        }
    }
}
