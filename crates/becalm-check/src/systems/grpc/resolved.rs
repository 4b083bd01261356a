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
/// read as the client of that language reads it.
pub fn taken<'n>(reading: &mut Reading<'_>, tree: &'n Node) -> Vec<(&'n Node, &'static str)> {
    let mut taken = Vec::new();
    let mut is_over = false;
    for choice in tree.items() {
        let Some(config) = choice.get("serviceConfig") else {
            continue;
        };
        let languages = choice.list(&["clientLanguage"]);
        if is_over {
            let sentence = "no client takes this choice: the one before it is for all of them";
            let remedy = "move it before that one";
            reading.find(choice.span, code::KEY_NOT_READ, sentence, remedy);
            leave(choice);
            continue;
        }
        let Some(version) = client_of(languages, reading.version) else {
            let named: Vec<_> = languages.iter().filter_map(Node::text).collect();
            let sentence = format!(
                "no client that is known here takes a choice for {} alone",
                named.join(", ")
            );
            let remedy = "name go, java, node or c++ in `clientLanguage`: C-core takes c++ in all its languages";
            reading.note(choice.span, code::KEY_NOT_READ, sentence, remedy);
            leave(choice);
            continue;
        };
        let mut of_some = ["percentage", "clientHostname", "clientHostName"].into_iter();
        let of_some = of_some.find_map(|it| Some((it, choice.get(it)?)));
        if let Some((key, value)) = of_some {
            let sentence = format!(
                "by `{key}` this choice is for some clients alone; others take a later one"
            );
            reading.note(value.span, code::NOT_SEEN, sentence, "");
        }
        is_over = of_some.is_none() && languages.is_empty();
        taken.push((config, version));
    }
    if let Some((config, _)) = taken.first() {
        let sentence = "clients of C-core and grpc-java read a TXT record only where code asks for it; grpc-go and grpc-js do unless it is switched off";
        reading.find(config.span, code::IN_CODE, sentence, "");
    }
    taken
}

/// The version that takes a choice for these languages: this one where it may, or else that of the first language that is
/// known.
fn client_of(languages: &[Node], own: &'static str) -> Option<&'static str> {
    let is_for = |version: &str| {
        let language = Client::of(version).language();
        let mut named = languages.iter().filter_map(Node::text);
        named.any(|it| it.eq_ignore_ascii_case(language))
    };
    if languages.is_empty() || is_for(own) {
        return Some(own);
    }
    let mut others = GRPC.versions.iter().copied();
    others.find(|it| is_for(it))
}

/// Keys of a choice that is not taken are told with it.
fn leave(choice: &Node) {
    let keys = choice.walk().flat_map(Node::entries);
    keys.for_each(|(key, _)| key.asked.set(true));
}
