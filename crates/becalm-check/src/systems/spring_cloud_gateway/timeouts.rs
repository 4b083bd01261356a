//! When does the gateway on `WebFlux` end an attempt?

use std::time::Duration;

use becalm::support::Human;

use super::spring::duration;
use super::waits::DURATION;
use super::{at, entry, get};
use crate::code;
use crate::document::Node;
use crate::mapping::{Draft, Origin};
use crate::reading::Reading;
use crate::template;
use crate::told::Told;

/// `NettyRoutingFilter`: milliseconds of the route's metadata, or the time-out of the client.
pub fn attempt_timeout(reading: &mut Reading<'_>, draft: &mut Draft, server: &Node, route: &Node) {
    let client = at(server, &["httpclient", "response-timeout"]);
    let mut timeout = reading.told(client, DURATION, duration);
    let own = |name: &str| {
        let entries = get(route, "metadata").map_or(&[][..], Node::entries);
        entries.iter().find(|(key, _)| key.name == name)
    };
    if let Some((key, node)) = own("response-timeout") {
        let said = node.text().unwrap_or_default();
        match said.parse::<i64>() {
            Ok(millis) => {
                let millis = u64::try_from(millis).ok().map(Duration::from_millis);
                draft.policy.attempt_timeout = millis.filter(|it| !it.is_zero());
                draft.origin("attempt_timeout", Origin::Line(node.span));
                timeout = Told::Absent;
            }
            Err(_) if !template::is_placeholder(said) => {
                let sentence = format!(
                    "`{said}` is no number of milliseconds, and `response-timeout` of the route is not heeded"
                );
                let remedy = "write milliseconds, without a unit";
                reading.find(key.span, code::TIMEOUT_IGNORED, sentence, remedy);
            }
            Err(_) => {
                timeout = reading.told(Some(node), "a number of milliseconds", |_| None);
            }
        }
    }
    for name in ["responseTimeout", "connectTimeout"] {
        if let Some((key, _)) = own(name) {
            let sentence = format!(
                "{} does not read `{name}` in the metadata of a route",
                reading.who()
            );
            let kebab = if name.starts_with('r') {
                "response-timeout"
            } else {
                "connect-timeout"
            };
            let remedy = format!("write `{kebab}`");
            reading.find(key.span, code::KEY_NOT_READ, sentence, remedy);
        }
    }
    draft.attempt_timeout(timeout);
    let connect = own("connect-timeout").map(|(key, node)| (key, node));
    let connect = connect.or_else(|| entry(get(server, "httpclient")?, "connect-timeout"));
    if let Some((key, node)) = connect {
        let millis = node.text().and_then(|it| it.parse().ok());
        let millis = millis.map_or_else(
            || "after this".into(),
            |it| format!("after {}", Human(Duration::from_millis(it))),
        );
        let why = format!("a connection that does not come about counts as failed {millis}");
        draft.lose("connect-timeout", why, Some(key.span));
    }
}
