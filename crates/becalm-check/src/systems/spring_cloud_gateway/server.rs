//! Where do the routes of a gateway stand, and which version reads them there?

use super::entry;
use crate::code;
use crate::document::Node;
use crate::reading::Reading;

/// Which of the two gateways it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// On reactor and netty.
    WebFlux,
    /// On Spring MVC.
    WebMvc,
}

impl Kind {
    /// What several filters Retry of a route do to one another.
    pub const fn several(self) -> &'static str {
        match self {
            Self::WebFlux => {
                "they count in the same attribute of the request, so that their attempts do not multiply; the methods and statuses of each are its own"
            }
            Self::WebMvc => "each counts for itself, so that their attempts multiply",
        }
    }
}

/// A place for the properties of a gateway.
#[derive(Debug)]
pub struct Server {
    pub kind: Kind,
    pub path: &'static [&'static str],
    /// Versions that read it.
    read_by: &'static [&'static str],
    /// Where the others look.
    other: &'static str,
}

/// `GatewayProperties.PREFIX` and `GatewayMvcProperties.PREFIX`, which changed with 4.3; that version reads both places
/// (`GatewayServerWebfluxPropertiesMigrationListener`).
pub const SERVERS: &[Server] = &[
    Server {
        kind: Kind::WebFlux,
        path: &["spring", "cloud", "gateway"],
        read_by: &["4.3", "4.2"],
        other: "spring.cloud.gateway.server.webflux",
    },
    Server {
        kind: Kind::WebFlux,
        path: &["spring", "cloud", "gateway", "server", "webflux"],
        read_by: &["5.0", "4.3"],
        other: "spring.cloud.gateway",
    },
    Server {
        kind: Kind::WebMvc,
        path: &["spring", "cloud", "gateway", "mvc"],
        read_by: &["4.3", "4.2"],
        other: "spring.cloud.gateway.server.webmvc",
    },
    Server {
        kind: Kind::WebMvc,
        path: &["spring", "cloud", "gateway", "server", "webmvc"],
        read_by: &["5.0", "4.3"],
        other: "spring.cloud.gateway.mvc",
    },
];

impl Server {
    /// Tells of a place that this version does not read. What stands there is read nevertheless, as what is meant.
    pub fn is_read(&self, reading: &mut Reading<'_>, given: &Node) {
        if self.read_by.contains(&reading.version) {
            return;
        }
        let places = ["default-filters", "routes", "routes-map"];
        let keys = places.iter().filter_map(|it| entry(given, it));
        let Some(span) = keys.map(|(key, _)| key.span).min() else {
            return;
        };
        let path = self.path.join(".");
        let sentence = format!(
            "{} reads no routes below `{path}`, only below `{}`; 4.3 reads both",
            reading.who(),
            self.other
        );
        let remedy = format!(
            "move them to `{}`, or read the file as of another version with `--as {}@{}`",
            self.other, reading.system.name, self.read_by[0]
        );
        reading.find(span, code::KEY_NOT_READ, sentence, remedy);
    }
}
