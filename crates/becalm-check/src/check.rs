//! What is found in these files?

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::code;
use crate::document::{Document, Node, Span, Together, Unreadable, documents, in_lines};
use crate::finding::Finding;
use crate::mapping::Mapping;
use crate::reading::Reading;
use crate::system::{As, Form, System};
use crate::systems::{self, Shared, kubernetes};
use crate::template;

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
    let alone: Vec<_> = (files.iter().zip(&texts).zip(&read))
        .map(|((file, text), read)| Together {
            file: file.name,
            text,
            trees: &read.trees,
            shared: &systems::NOTHING,
        })
        .collect();
    let shared = Shared::of(&alone);
    let shared = &shared;
    let together: Vec<_> = alone.iter().map(|it| Together { shared, ..*it }).collect();
    let mut checked = Checked::default();
    for ((file, text), read) in files.iter().zip(&texts).zip(&read) {
        of_file(*file, text, read, &together, settings, &mut checked);
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

fn of_file(
    file: File<'_>,
    text: &str,
    read: &Parsed,
    together: &[Together<'_>],
    settings: &Settings,
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
        of_toml(file, whole, settings, found);
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
            .any(|tree| !recognised(Form::Tree, &of_tree(tree)).is_empty());
    if !is_tree
        && read_as(
            &of_form(Form::Text, &whole, settings),
            whole,
            settings,
            found,
        )
    {
        return;
    }
    let mut is_known = false;
    for tree in &read.trees {
        let document = of_tree(tree);
        let systems = of_form(Form::Tree, &document, settings);
        if read_as(&systems, document, settings, found) {
            is_known = true;
            keys_that_stand_twice(file, tree, found);
        }
    }
    if !is_known && is_tree && read_as(&named(Form::Text, settings), whole, settings, found) {
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

fn of_toml(file: File<'_>, whole: Document<'_>, settings: &Settings, found: &mut Checked) {
    if read_as(
        &of_form(Form::Text, &whole, settings),
        whole,
        settings,
        found,
    ) {
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

/// The systems of this form that know the document as theirs; where none does, those that are named with a version.
fn of_form(form: Form, document: &Document<'_>, settings: &Settings) -> Vec<&'static System> {
    let recognised = recognised(form, document);
    if recognised.is_empty() {
        named(form, settings)
    } else {
        recognised
    }
}

fn recognised(form: Form, document: &Document<'_>) -> Vec<&'static System> {
    let of_form = System::all().filter(|it| it.form == form);
    of_form.filter(|it| (it.recognises)(document)).collect()
}

fn named(form: Form, settings: &Settings) -> Vec<&'static System> {
    let names = || settings.versions.iter().map(|it| it.system.name);
    let of_form = System::all().filter(|it| it.form == form);
    of_form
        .filter(|it| names().any(|name| name == it.name))
        .collect()
}

/// Reads the document as one of each of these systems; whether there is any.
fn read_as(
    systems: &[&'static System],
    document: Document<'_>,
    settings: &Settings,
    found: &mut Checked,
) -> bool {
    for system in systems {
        let named = settings
            .versions
            .iter()
            .find(|it| it.system.name == system.name);
        let version = named.map_or_else(|| system.newest(), |it| it.version);
        let mut reading = Reading::new(document, system, version);
        (system.read)(&mut reading);
        reading.end();
        found.findings.append(&mut reading.findings);
        found.mappings.append(&mut reading.mappings);
    }
    !systems.is_empty()
}
