//! Which directives about the next server does nginx refuse for their place or their name?
//!
//! Run with 1.22.1. They may stand in `http`, `server` and `location`, and some of `proxy_` in `stream` and its `server`.

use super::directives::Directive;
use super::settings::{FAMILIES, Family};
use crate::code;
use crate::hints::{is_one_off, is_two_off};
use crate::reading::Reading;

/// What each family has, without its prefix.
const NAMES: [&str; 5] = [
    "_next_upstream",
    "_next_upstream_tries",
    "_next_upstream_timeout",
    "_connect_timeout",
    "_read_timeout",
];

/// What begins what each passes on.
const PASS: &str = "_pass";

/// What each has, is not read, and is spelled much as what is read.
const OTHER_NAME: &str = "_send_timeout";

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
        let is_refused = place == "main" || OTHERS.contains(&place);
        if is_refused && is_known(name) {
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
        if let Some(meant) = meant(name).filter(|_| !is_told) {
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

/// Whether one of the families has it.
fn is_known(name: &str) -> bool {
    FAMILIES.iter().any(|it| {
        let rest = name.strip_prefix(it.prefix);
        rest.is_some_and(|rest| NAMES.contains(&rest))
    })
}

/// The directive that this misspells: by one or two letters, by their case, or with a `-` for a `_`.
fn meant(name: &str) -> Option<String> {
    let plain = name.replace('-', "_").to_ascii_lowercase();
    let all = NAMES.iter().chain([&PASS]);
    let mut lengths = FAMILIES.iter().flat_map(|family| {
        let lengths = all.clone().map(|it| family.prefix.len() + it.len());
        lengths.map(|it| it.abs_diff(plain.len()))
    });
    if lengths.all(|it| it > 2) || is_known(name) {
        return None;
    }
    let is_other = |family: &Family| plain.strip_prefix(family.prefix) == Some(OTHER_NAME);
    if FAMILIES.iter().any(is_other) {
        return None;
    }
    let of = |family: &Family| NAMES.map(|it| format!("{}{it}", family.prefix));
    let known: Vec<String> = FAMILIES.iter().flat_map(of).collect();
    let near = |is_near: &dyn Fn(&str) -> bool| known.iter().find(|it| is_near(it)).cloned();
    near(&|it| it == plain)
        .or_else(|| near(&|it| is_one_off(&plain, it)))
        .or_else(|| near(&|it| is_two_off(&plain, it)))
        .or_else(|| of_pass(name, &plain))
}

/// The directive that passes requests on and that this misspells. Other modules have names of two other letters.
fn of_pass(name: &str, plain: &str) -> Option<String> {
    let mut known = FAMILIES.iter().map(|it| format!("{}{PASS}", it.prefix));
    if known.clone().any(|it| it == name) {
        return None;
    }
    known.find(|it| it == plain || is_one_off(plain, it))
}
