//! Which trees does a file hold?

use crate::document::{LONGEST, Node, Span, Unread, Unreadable, documents};
use crate::document::{properties, toml};
use crate::file::File;
use crate::systems::kubernetes;
use crate::template;

/// A file as trees, if it is one of them.
#[derive(Default)]
pub struct Parsed {
    /// Of a file that is no tree.
    pub template: Option<Span>,
    /// Its documents.
    pub trees: Vec<Node>,
    /// Where `<<` stands.
    pub merges: Vec<Span>,
    /// Documents that are none.
    pub unread: Vec<Unread>,
    /// Whether the trees are items of a list of resources.
    pub is_list: bool,
}

impl Parsed {
    pub fn of(file: File<'_>, text: &str) -> Self {
        if file.is_too_long() {
            let why = Unreadable {
                span: Span::new(1, 1, 0),
                sentence: format!("a file of more than {LONGEST} bytes is not read"),
            };
            let unread = Unread {
                why,
                template: None,
                holds_retries: true,
            };
            return Self {
                unread: vec![unread],
                ..Self::default()
            };
        }
        if sets_nothing(file) {
            return Self::default();
        }
        if is_named(file, &[".properties"]) {
            return Self {
                trees: properties::documents(text),
                ..Self::default()
            };
        }
        if is_named(file, &[".toml"]) {
            let template = template::first(text);
            let tree = template.is_none().then(|| toml::document(text));
            return Self {
                template,
                trees: tree.flatten().into_iter().collect(),
                ..Self::default()
            };
        }
        let read = documents(text);
        let is_tree = |it: &Node| it.is_table() || !it.items().is_empty();
        if !(is_named(file, TREES) || read.documents.iter().any(is_tree)) {
            let template = template::first(text);
            if template.is_some() {
                return Self {
                    template,
                    ..Self::default()
                };
            }
        }
        // `[section]` alone is a list of YAML.
        let is_text = (is_named(file, TEXTS) || !(is_named(file, TREES) || begins_a_tree(text)))
            && !read.documents.iter().any(Node::is_table);
        if is_text && !read.unread.is_empty() {
            return Self::default();
        }
        let is_list = read.documents.iter().any(kubernetes::is_list);
        let trees = read.documents.into_iter();
        Self {
            template: None,
            trees: trees.flat_map(kubernetes::resources).collect(),
            merges: read.merges,
            unread: read.unread,
            is_list,
        }
    }
}

/// Whether the first line that says something is one of YAML or JSON, and not `[Unit]` or prose.
fn begins_a_tree(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|it| !it.is_empty() && !it.starts_with('#'));
    let first = first.unwrap_or_default();
    let is_section = first.starts_with('[') && first.ends_with(']');
    if first.starts_with(['{', '[', '%', '"', '\'']) || first.starts_with("---") {
        return !is_section;
    }
    let key = first.trim_start_matches(['-', ' ']).split_once(':');
    key.is_some_and(|(key, value)| {
        !key.contains(char::is_whitespace) && (value.is_empty() || value.starts_with([' ', '\t']))
    })
}

/// How files that are trees end.
pub const TREES: &[&str] = &[".yaml", ".yml", ".json", ".properties"];

/// How files end that are mostly no trees: of INI, and of many servers.
const TEXTS: &[&str] = &[".ini", ".cfg", ".cnf", ".conf"];

/// How the files end whose form is known.
pub const FILES: [&[&str]; 3] = [TREES, TEXTS, &[".toml"]];

/// How files end that set nothing: prose, and rules of make.
const PROSE: &[&str] = &[".md", ".markdown", ".rst", ".adoc", ".mk", "makefile"];

/// Whether it is prose, or rules of make, by its name.
pub fn sets_nothing(file: File<'_>) -> bool {
    is_named(file, PROSE)
}

/// Whether its name ends so.
pub fn is_named(file: File<'_>, ends: &[&str]) -> bool {
    let name = file.name.to_ascii_lowercase();
    ends.iter().any(|end| name.ends_with(end))
}
