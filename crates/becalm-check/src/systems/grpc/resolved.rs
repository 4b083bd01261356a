//! Which configs does a resolver give to a client, and which does the client take?
//!
//! A TXT record holds choices. A client takes the first one that is for it (gRFC A2; `canaryingSC` of grpc-go,
//! `ServiceConfigUtil` of grpc-java); a client of xDS takes what its server sends (gRFC A44).

use super::fields::Client;
use super::{GRPC, is_config};
use crate::code;
use crate::document::Node;
use crate::reading::Reading;

/// The servers of xDS that a bootstrap file names.
pub fn servers(tree: &Node) -> &[Node] {
    tree.list(&["xds_servers"])
}

/// The choices of a TXT record with a config.
pub fn choices(tree: &Node) -> impl Iterator<Item = (&Node, &Node)> {
    let choices = tree.items().iter();
    let configs = choices.filter_map(|it| Some((it, it.get("serviceConfig")?)));
    configs.filter(|(_, config)| is_config(config))
}

/// Tells that retries come from a server.
pub fn of_xds(reading: &mut Reading<'_>, tree: &Node) {
    let Some(server) = servers(tree).first() else {
        return;
    };
    let uri = server.get("server_uri").and_then(Node::text).unwrap_or("?");
    let sentence = format!(
        "which calls are repeated says the xDS server {uri}, by the `retry_policy` of its routes: nothing of it is in this file"
    );
    let remedy = "check the routes that the server sends, as Envoy's";
    reading.find(server.span, code::NOT_SEEN, sentence, remedy);
}

/// The configs that a client may take, each with the version of the client that takes it: a choice for another language is
/// read as the client of that language reads it. A client takes the first choice that is for it, so that of several for one language
/// none is read below one without conditions.
pub fn taken<'n>(reading: &mut Reading<'_>, tree: &'n Node) -> Vec<(&'n Node, &'static str)> {
    let mut taken = Vec::new();
    let mut left: Vec<_> = GRPC.versions.to_vec();
    // The one as which the file is read comes first.
    left.sort_by_key(|it| *it != reading.version);
    for choice in tree.items() {
        let Some(config) = choice.get("serviceConfig") else {
            continue;
        };
        let languages = choice.list(&["clientLanguage"]);
        let is_meant = |it: &&&str| is_for(languages, it);
        let Some(version) = left.iter().find(is_meant).copied() else {
            not_taken(reading, choice, languages);
            continue;
        };
        let condition = condition(choice);
        match condition {
            Some(("percentage", value)) if value.text() == Some("0") => {
                let sentence = "by `percentage: 0` no client takes this choice";
                let remedy = "leave it out, or raise `percentage`";
                reading.find(value.span, code::KEY_NOT_READ, sentence, remedy);
                leave(choice);
                continue;
            }
            Some((key, value)) => {
                let sentence = format!(
                    "by `{key}` this choice is for some clients alone; others take a later one"
                );
                reading.note(value.span, code::NOT_SEEN, sentence, "");
            }
            None => left.retain(|it| !is_for(languages, it)),
        }
        taken.push((config, version));
    }
    if let Some((config, _)) = taken.first() {
        let sentence = "clients of C-core and grpc-java read a TXT record only where code asks for it; grpc-go and grpc-js do unless it is switched off";
        reading.find(config.span, code::IN_CODE, sentence, "");
    }
    taken
}

/// Which clients take a choice besides its languages; a `percentage` of 100 is all of them.
fn condition(choice: &Node) -> Option<(&'static str, &Node)> {
    let names = ["percentage", "clientHostname", "clientHostName"];
    let mut given = names
        .into_iter()
        .filter_map(|it| Some((it, choice.get(it)?)));
    given.find(|(key, value)| *key != "percentage" || value.text() != Some("100"))
}

/// Whether a choice for these languages is for the client of this version.
fn is_for(languages: &[Node], version: &str) -> bool {
    let language = Client::of(version).language();
    let mut named = languages.iter().filter_map(Node::text);
    languages.is_empty() || named.any(|it| it.eq_ignore_ascii_case(language))
}

/// Tells of a choice that no client is left for.
fn not_taken(reading: &mut Reading<'_>, choice: &Node, languages: &[Node]) {
    leave(choice);
    if GRPC.versions.iter().any(|it| is_for(languages, it)) {
        let sentence =
            "no client takes this choice: those before it are for all clients that it names";
        let remedy = "move it before them";
        reading.find(choice.span, code::KEY_NOT_READ, sentence, remedy);
        return;
    }
    let named: Vec<_> = languages.iter().filter_map(Node::text).collect();
    let sentence = format!(
        "no client that is known here takes a choice for {} alone",
        named.join(", ")
    );
    let remedy =
        "name go, java, node or c++ in `clientLanguage`: C-core takes c++ in all its languages";
    reading.note(choice.span, code::KEY_NOT_READ, sentence, remedy);
}

/// Keys of a choice that is not taken are told with it.
fn leave(choice: &Node) {
    let keys = choice.walk().flat_map(Node::entries);
    keys.for_each(|(key, _)| key.asked.set(true));
}
