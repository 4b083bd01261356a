//! Which keys look like retries, and are names of something else?
//!
//! A job, a page, a module or a logger is called as its owner likes. Where it is not clear, a key is no such name.

use crate::document::Node;
use crate::hints::{looks_like_retries, parts};
use crate::list::list;
use crate::template::is_placeholder;

/// Whether a key that looks like retries is the name of something, or no setting of them by what stands around it.
pub fn is_name(name: &str, value: &Node, path: &[&str], is_item: bool) -> bool {
    let parent = path.last().copied().unwrap_or_default();
    let is_in = |all: &[&str]| path.iter().any(|it| all.contains(it));
    if let Some(text) = value.text() {
        let is_level = || {
            let around = path.iter().copied().chain([name]);
            around
                .flat_map(|it| it.split('.'))
                .any(|it| LEVELS.contains(&it))
                && is_level(text)
        };
        let is_page = || (name.contains(' ') || is_page(name) || is_in(PAGES)) && is_page(text);
        return of_health(name)
            || VERSIONS.contains(&parent) && !is_setting(name)
            || is_threshold_of_quic(name, parent)
            || is_level()
            || is_page();
    }
    if !value.is_table() || is_item || is_setting(name) {
        return false;
    }
    let holds_more = || value.entries().iter().any(|(_, it)| it.text().is_none());
    NAMED.contains(&parent) && (!holds_amount(value, 0) || TASKS.contains(&parent) && holds_more())
}

/// Whether a name is made of nothing but what settings of retries are called: `retry`, `Retry Policy`, `maxRetries`. Then it is
/// one, wherever it stands.
fn is_setting(name: &str) -> bool {
    parts(name).all(|part| looks_like_retries(&part) || SETTINGS.contains(&&*part))
}

/// Other words of such names.
const SETTINGS: &[&str] = list!(
    "max min num number count limit total policy policies config configuration settings options \
     strategy mechanism delay delays interval wait time timeout ms millis seconds on for status \
     statuses codes enabled automatic default defaults"
);

/// Whether something in it is an amount, but for versions.
fn holds_amount(node: &Node, depth: u32) -> bool {
    if depth > 8 {
        return true;
    }
    let is_one = |it: &Node| it.text().is_some_and(is_amount) || holds_amount(it, depth + 1);
    let mut entries = node.entries().iter();
    entries.any(|(key, it)| key.name != "version" && is_one(it)) || node.items().iter().any(is_one)
}

/// Mappings whose keys are names.
const NAMED: &[&str] =
    list!("jobs steps nodes nav pages mod module modules plugins libraries packages loggers");

/// Those that have settings of their own below a name.
const TASKS: &[&str] = &["jobs", "steps", "nodes"];

/// Mappings from names to versions.
const VERSIONS: &[&str] =
    list!("dependencies devDependencies peerDependencies dev-dependencies versions");

/// What has a level for each logger.
const LEVELS: &[&str] = &["level", "levels", "loggers"];

/// What has a file for each title.
const PAGES: &[&str] = &["nav", "pages"];

/// Whether it is a number, a duration or a boolean, or may be one. A date is none.
fn is_amount(text: &str) -> bool {
    let text = text.trim();
    let flags = list!("true false yes no on off always never none unlimited infinite infinity");
    // `PT5S` is a duration, by ISO 8601.
    let amount = text.trim_start_matches(['+', '-', '.', 'P', 'T']);
    amount.starts_with(|it: char| it.is_ascii_digit()) && !amount.contains(['-', '/'])
        || flags.iter().any(|it| text.eq_ignore_ascii_case(it))
        || is_placeholder(text)
}

/// Whether it says how much a logger writes.
fn is_level(text: &str) -> bool {
    let levels = list!("trace debug info notice warn warning error critical fatal off all");
    levels.iter().any(|it| text.eq_ignore_ascii_case(it))
}

/// Whether it is a file of a page.
fn is_page(text: &str) -> bool {
    text.contains('/')
        || [".md", ".html", ".rst", ".adoc"]
            .iter()
            .any(|it| text.ends_with(it))
}

/// HAProxy's `tune.quic` has one: when that many connections are half open, clients have to prove their address.
fn is_threshold_of_quic(name: &str, parent: &str) -> bool {
    letters(name) == "retrythreshold" && parts(parent).any(|it| it == "quic")
}

/// Whether it counts the tries of a check of health.
fn of_health(name: &str) -> bool {
    let letters = letters(name);
    letters.contains("healthcheck") && !["retr", "max"].iter().any(|it| letters.starts_with(it))
}

/// Whether it is a check of health, in any spelling, which repeats no request of a client.
pub fn checks_health(name: &str) -> bool {
    let letters = letters(name.strip_prefix("x-").unwrap_or(name));
    ["healthcheck", "healthchecks", "httphealthcheck"].contains(&&*letters)
}

fn letters(name: &str) -> String {
    let letters = name.chars().filter(char::is_ascii_alphabetic);
    letters.map(|it| it.to_ascii_lowercase()).collect()
}
