//! What is found in these files?

use std::collections::HashSet;

use crate::code;
use crate::document::{Document, Node, Span, documents, in_lines};
use crate::finding::Finding;
use crate::mapping::Mapping;
use crate::reading::Reading;
use crate::system::{As, Form, System};
use crate::systems::{self, kubernetes};
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

/// Reads files: which systems they are of, what they say about retrying, and what is dangerous in it.
pub fn check(files: &[File<'_>], settings: &Settings) -> Checked {
    let mut checked = Checked::default();
    for file in files {
        let mut found = Checked::default();
        of_file(*file, settings, &mut found);
        found.findings.sort_by_key(|it| it.span);
        let mut told = HashSet::new();
        found
            .findings
            .retain(|it| told.insert((it.span, it.code, it.sentence.clone())));
        checked.findings.append(&mut found.findings);
        checked.mappings.append(&mut found.mappings);
    }
    checked
}

fn of_file(file: File<'_>, settings: &Settings, found: &mut Checked) {
    let text = file.text.strip_prefix('\u{feff}').unwrap_or(file.text);
    let text = &*in_lines(text);
    let whole = Document {
        file: file.name,
        text,
        tree: None,
        beside: &[],
        merges: &[],
    };
    if let Some(span) = template::first(text) {
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
    let read = documents(text);
    let trees: Vec<_> = read
        .documents
        .into_iter()
        .flat_map(kubernetes::resources)
        .collect();
    let of_tree = |tree| Document {
        tree: Some(tree),
        beside: &trees,
        merges: &read.merges,
        ..whole
    };
    // A resource of Kubernetes may hold another system's file as a text, and is not that file.
    let is_tree = is_named(file, &[".yaml", ".yml", ".json"])
        || trees
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
    for tree in &trees {
        let document = of_tree(tree);
        let systems = of_form(Form::Tree, &document, settings);
        if read_as(&systems, document, settings, found) {
            is_known = true;
            keys_that_stand_twice(file, tree, found);
        }
    }
    if !is_known && is_tree {
        is_known = read_as(&named(Form::Text, settings), whole, settings, found);
        if is_known {
            return;
        }
    }
    if let Some(unreadable) = read.unreadable {
        cannot_read(file, unreadable.span, unreadable.sentence, found);
    } else if !is_known {
        let span = trees
            .first()
            .map_or_else(|| Span::new(1, 1, 0), |it| it.span);
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
        found.findings.append(&mut reading.findings);
        found.mappings.append(&mut reading.mappings);
    }
    !systems.is_empty()
}
