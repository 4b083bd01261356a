//! Which keys look like retries, and are names of something else?
//!
//! A job, a page, a module or a logger is called as its owner likes. Where it is not clear, a key is no such name.

use crate::document::Node;
use crate::hints::parts;
use crate::list::list;
use crate::template::is_placeholder;

/// Whether a key that looks like retries is the name of something, or no setting of them by what stands around it.
pub fn is_name(name: &str, value: &Node, path: &[&str], is_item: bool) -> bool {
    let parent = path.last().copied().unwrap_or_default();
    let is_in = |all: &[&str]| path.iter().any(|it| all.contains(it));
    if let Some(text) = value.text() {
        let is_level = || {
            let mut around = path.iter().flat_map(|it| it.split('.'));
            around.any(|it| LEVELS.contains(&it)) || name.split('.').any(|it| LEVELS.contains(&it))
        };
        let is_page = || name.contains(' ') || is_in(PAGES);
        return letters(name).contains("healthcheck")
            || VERSIONS.contains(&parent)
            || is_threshold_of_quic(name, parent)
            || !is_amount(text) && (is_page() || is_level());
    }
    if !value.is_table() || is_item {
        return false;
    }
    let values = || value.entries().iter();
    let mut amounts =
        values().filter(|(key, it)| key.name != "version" && it.text().is_some_and(is_amount));
    let sets_nothing = amounts.next().is_none();
    let holds_more = || values().any(|(_, it)| it.text().is_none());
    NAMED.contains(&parent) && (sets_nothing || TASKS.contains(&parent) && holds_more())
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

/// Whether it is a number, a duration or a boolean, or may be one.
fn is_amount(text: &str) -> bool {
    let text = text.trim();
    let flags = list!("true false yes no on off");
    text.trim_start_matches(['+', '-', '.'])
        .starts_with(|it: char| it.is_ascii_digit())
        || flags.iter().any(|it| text.eq_ignore_ascii_case(it))
        || is_placeholder(text)
}

/// As of HAProxy's `tune.quic`: from so many connections on that are half open a client proves its address.
fn is_threshold_of_quic(name: &str, parent: &str) -> bool {
    letters(name) == "retrythreshold" && parts(parent).any(|it| it == "quic")
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
