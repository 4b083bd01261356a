//! What is found in these files?

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::code;
use crate::document::{Document, Node, Span, Together, Unreadable, documents, in_lines};
use crate::finding::Finding;
use crate::mapping::Mapping;
use crate::reading::Reading;
use crate::system::{Form, System};
use crate::systems::{self, Row, Shared, kubernetes};
use crate::template;
use crate::versions::As;

/// A file: its name and what stands in it.
#[derive(Debug, Clone, Copy)]
pub struct File<'a> {
    name: &'a str,
    text: &'a str,
}

impl<'a> File<'a> {
    /// A file of this name with this text. The name is only told, never opened.
    pub const fn new(name: &'a str, text: &'a str) -> Self {
        Self { name, text }
    }

    fn lines(&self) -> Cow<'a, str> {
        in_lines(self.text.strip_prefix('\u{feff}').unwrap_or(self.text))
    }
}

/// How files are read.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Settings {
    /// Which versions hold; the newest of a system that is not named.
    pub versions: Vec<As>,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Checked {
    /// In the order of the files, and of the lines in a file.
    pub findings: Vec<Finding>,
    /// In the order of the files, and of the documents in a file.
    pub mappings: Vec<Mapping>,
}

/// Reads files: which systems they are of, what they say about retrying, and what is dangerous in it. What one of them
/// depends on may stand in another.
pub fn check(files: &[File<'_>], settings: &Settings) -> Checked {
    let texts: Vec<_> = files.iter().map(File::lines).collect();
    let read: Vec<_> = files
        .iter()
        .zip(&texts)
        .map(|(file, text)| Parsed::of(*file, text))
        .collect();
    let together: Vec<_> = (files.iter().zip(&texts).zip(&read))
        .map(|((file, text), read)| Together {
            file: file.name,
            text,
            trees: &read.trees,
        })
        .collect();
    let shared = Shared::of(&together);
    let by = By {
        settings,
        shared: &shared,
    };
    let mut checked = Checked::default();
    for ((file, text), read) in files.iter().zip(&texts).zip(&read) {
        of_file(*file, text, read, &together, by, &mut checked);
    }
    let mut place = HashMap::new();
    for (at, file) in files.iter().enumerate() {
        place.entry(file.name).or_insert(at);
    }
    let mut told = HashSet::new();
    checked
        .findings
        .sort_by_key(|it| (place.get(&*it.file).copied(), it.span));
    checked
        .findings
        .retain(|it| told.insert((it.file.clone(), it.span, it.code, it.sentence.clone())));
    checked
}

/// A file as trees, if it is one of them.
#[derive(Default)]
struct Parsed {
    template: Option<Span>,
    trees: Vec<Node>,
    merges: Vec<Span>,
    unreadable: Option<Unreadable>,
}

impl Parsed {
    fn of(file: File<'_>, text: &str) -> Self {
        let template = template::first(text);
        if template.is_some() || is_named(file, &[".toml"]) {
            return Self {
                template,
                ..Self::default()
            };
        }
        let read = documents(text);
        let trees = read.documents.into_iter();
        Self {
            template: None,
            trees: trees.flat_map(kubernetes::resources).collect(),
            merges: read.merges,
            unreadable: read.unreadable,
        }
    }
}

fn of_file<'a>(
    file: File<'a>,
    text: &'a str,
    read: &'a Parsed,
    together: &'a [Together<'a>],
    by: By<'a>,
    found: &mut Checked,
) {
    let whole = Document {
        file: file.name,
        text,
        tree: None,
        beside: &read.trees,
        together,
        merges: &read.merges,
    };
    if let Some(span) = read.template {
        found.findings.push(Finding::new(
            file.name,
            span,
            code::TEMPLATE,
            "the file is a template, and what comes of it is not known",
            "check what the tool prints, such as `helm template`",
        ));
        return;
    }
    if is_named(file, &[".toml"]) {
        of_toml(file, whole, by, found);
        return;
    }
    let of_tree = |tree| Document {
        tree: Some(tree),
        ..whole
    };
    // A resource of Kubernetes may hold another system's file as a text, and is not that file.
    let is_tree = is_named(file, &[".yaml", ".yml", ".json"])
        || read
            .trees
            .iter()
            .any(|tree| !by.recognised(Form::Tree, &of_tree(tree)).is_empty());
    if !is_tree && by.read_as(&by.of_form(Form::Text, &whole), whole, found) {
        return;
    }
    let mut is_known = false;
    for tree in &read.trees {
        let document = of_tree(tree);
        let systems = by.of_form(Form::Tree, &document);
        if by.read_as(&systems, document, found) {
            is_known = true;
            keys_that_stand_twice(file, tree, found);
        }
    }
    if !is_known && is_tree && by.read_as(&by.named(Form::Text), whole, found) {
        return;
    }
    if let Some(unreadable) = &read.unreadable {
        cannot_read(file, unreadable.span, unreadable.sentence.clone(), found);
    } else if !is_known {
        let first = read.trees.first();
        let span = first.map_or_else(|| Span::new(1, 1, 0), |it| it.span);
        unknown(file, span, found);
    }
}

fn is_named(file: File<'_>, ends: &[&str]) -> bool {
    let name = file.name.to_ascii_lowercase();
    ends.iter().any(|end| name.ends_with(end))
}

fn of_toml<'a>(file: File<'_>, whole: Document<'a>, by: By<'a>, found: &mut Checked) {
    if by.read_as(&by.of_form(Form::Text, &whole), whole, found) {
        return;
    }
    match systems::no_toml(whole.text) {
        Some((span, sentence)) => cannot_read(file, span, sentence, found),
        None => unknown(file, Span::new(1, 1, 0), found),
    }
}

fn cannot_read(file: File<'_>, span: Span, sentence: String, found: &mut Checked) {
    let finding = Finding::new(file.name, span, code::CANNOT_READ, sentence, "");
    found.findings.push(finding);
}

fn unknown(file: File<'_>, span: Span, found: &mut Checked) {
    found.findings.push(Finding::new(
        file.name,
        span,
        code::UNKNOWN_SYSTEM,
        "no document of the file is of a system that is read",
        "name the system with `--as`, or leave out the file",
    ));
}

fn keys_that_stand_twice(file: File<'_>, tree: &Node, found: &mut Checked) {
    for key in tree.walk().flat_map(Node::repeated_keys) {
        found.findings.push(Finding::new(
            file.name,
            key.span,
            code::KEY_TWICE,
            format!("`{}` stands twice in this mapping; the last one is read, where the file is read at all", key.name),
            "keep one of them",
        ));
    }
}

/// How the documents of a check are read.
#[derive(Clone, Copy)]
struct By<'a> {
    settings: &'a Settings,
    shared: &'a Shared<'a>,
}

impl<'a> By<'a> {
    /// The systems of this form that know the document as theirs; where none does, those that are named with a version.
    fn of_form(self, form: Form, document: &Document<'a>) -> Vec<&'static Row> {
        let recognised = self.recognised(form, document);
        if recognised.is_empty() {
            self.named(form)
        } else {
            recognised
        }
    }

    fn recognised(self, form: Form, document: &Document<'a>) -> Vec<&'static Row> {
        let is_own = |it: &&Row| (it.recognises)(document, self.shared);
        of(form).filter(is_own).collect()
    }

    fn named(self, form: Form) -> Vec<&'static Row> {
        of(form)
            .filter(|it| self.version(it.system).is_some())
            .collect()
    }

    fn version(self, system: &System) -> Option<&'static str> {
        let mut named = self.settings.versions.iter();
        let named = named.find(|it| it.system.name == system.name);
        named.map(|it| it.version)
    }

    /// Reads the document as one of each of these systems; whether there is any.
    fn read_as(
        self,
        systems: &[&'static Row],
        document: Document<'a>,
        found: &mut Checked,
    ) -> bool {
        for row in systems {
            let version = self.version(row.system);
            let version = version.unwrap_or_else(|| row.system.newest());
            let mut reading = Reading::new(document, row.system, version);
            (row.read)(&mut reading, self.shared);
            reading.end();
            found.findings.append(&mut reading.findings);
            found.mappings.append(&mut reading.mappings);
        }
        !systems.is_empty()
    }
}

fn of(form: Form) -> impl Iterator<Item = &'static Row> {
    systems::ALL.iter().filter(move |it| it.system.form == form)
}
