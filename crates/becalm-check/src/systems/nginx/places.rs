//! Which directives about the next server does nginx refuse for their place or their name?
//!
//! Run with 1.22.1. They may stand in `http`, `server` and `location`, and those of `proxy_` in `stream` and its `server`.

use super::directives::Directive;
use super::settings::FAMILIES;
use crate::code;
use crate::meant::slip_of;
use crate::reading::Reading;

/// What each family has, without its prefix.
const NAMES: [&str; 3] = [
    "_next_upstream",
    "_next_upstream_tries",
    "_next_upstream_timeout",
];

/// Blocks whose lines are data.
const DATA: [&str; 5] = ["map", "types", "geo", "split_clients", "charset_map"];

/// Blocks that do not have them.
const OTHERS: [&str; 5] = ["events", "upstream", "if", "limit_except", "mail"];

/// Tells of each of them. A file of blocks that stand in `http` may hold them outside of all blocks.
pub fn tell<'a>(reading: &mut Reading<'a>, directives: &[Directive<'a>]) {
    let tops = ["http", "events", "stream", "mail"];
    let is_whole = directives
        .iter()
        .any(|it| tops.contains(&it.name()) && it.block.is_some());
    within(reading, directives, if is_whole { "main" } else { "" });
}

fn within<'a>(reading: &mut Reading<'a>, directives: &[Directive<'a>], place: &str) {
    for directive in directives {
        let file = std::mem::replace(&mut reading.document.file, directive.file);
        let name = directive.name();
        let known = FAMILIES
            .iter()
            .flat_map(|family| NAMES.map(|it| format!("{}{it}", family.prefix)));
        // One letter off, one of the words still stands.
        let lower = name.to_ascii_lowercase();
        let may_be = lower.contains("upstream") || lower.contains("next");
        let known: Vec<String> = if may_be { known.collect() } else { Vec::new() };
        let known: Vec<&str> = known.iter().map(|it| &**it).collect();
        let is_refused = place == "main" || OTHERS.contains(&place);
        if is_refused && known.contains(&name) {
            let place = match place {
                "main" => "outside of all blocks".to_owned(),
                place => format!("in `{place}`"),
            };
            let sentence = format!("nginx has no `{name}` {place}, and refuses the file");
            let remedy = "move it into a `location`, a `server` or `http`";
            reading.find(directive.span(), code::REFUSED, sentence, remedy);
        }
        // Names that the settings tell begin with one of these.
        let is_told = FAMILIES.iter().any(|it| {
            let rest = name.strip_prefix(it.prefix);
            rest.is_some_and(|rest| rest.starts_with("_next_upstream_"))
        });
        if let Some(meant) = slip_of(name, &known).filter(|_| !is_told) {
            let sentence = format!("nginx has no directive `{name}`, and refuses the file");
            let remedy = format!("did you mean `{meant}`?");
            reading.find(directive.span(), code::REFUSED, sentence, remedy);
        }
        if !DATA.contains(&name) {
            within(reading, directive.inner(), name);
        }
        reading.document.file = file;
    }
}
