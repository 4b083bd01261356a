//! What is found in these files?

use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};

use crate::allowed;
use crate::chart;
use crate::checked::{Checked, Settings};
use crate::code;
use crate::document::{Document, Node, Span, Together};
use crate::embedded::{self, Within};
use crate::file::File;
use crate::finding::Finding;
use crate::hints::holds_retries;
use crate::mapping::Mapping;
use crate::mentioned::Mentioned;
use crate::parsed::{Parsed, TREES, is_named, sets_nothing};
use crate::reading::Reading;
use crate::severity::Severity;
use crate::shape;
use crate::system::{Form, System};
use crate::systems::{self, Row, Shared};
use crate::unread;

/// Reads files: which systems they are of, what they say about retrying, and what is dangerous in it. What one of them
/// depends on may stand in another.
pub fn check(files: &[File<'_>], settings: &Settings) -> Checked {
    check_and(files, settings, |_| Vec::new())
}

/// As [`check`]; `judge` finds something about the mappings, which comments in the files may let pass as all else.
pub fn check_and(
    files: &[File<'_>],
    settings: &Settings,
    judge: impl FnOnce(&[Mapping]) -> Vec<Finding>,
) -> Checked {
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
    let mut settings = settings.clone();
    // Which of them a comment is about is known at the end.
    settings.every |= texts.iter().any(|it| it.contains(allowed::MARK));
    let by = By {
        settings: &settings,
        shared: &shared,
    };
    let all: Vec<_> = (files.iter().zip(&texts).zip(&read))
        .map(|((file, text), read)| by.trees(*file, text, read, &together))
        .collect();
    for key in read.iter().flat_map(|it| &it.trees).flat_map(Node::walk) {
        key.entries()
            .iter()
            .for_each(|(key, _)| key.asked.set(false));
    }
    chart::mark_taken(&together);
    let mut checked = Checked::default();
    checked.tally.every = settings.every;
    checked.tally.every_mapping = settings.every_mapping;
    for (((file, text), read), systems) in files.iter().zip(&texts).zip(&read).zip(&all) {
        of_file(*file, text, read, systems, &together, by, &mut checked);
    }
    unread(files, &read, &all, &mut checked);
    let judged = judge(&checked.mappings);
    for finding in judged {
        checked.push(finding);
    }
    checked.settle();
    name_resources(files, &read, &mut checked.findings);
    let texts = files
        .iter()
        .zip(&texts)
        .map(|(file, text)| (file.name, &**text));
    allowed::take(texts, &mut checked.findings, &mut checked.allowed);
    let mut place = HashMap::new();
    for (at, file) in files.iter().enumerate() {
        place.entry(file.name).or_insert(at);
    }
    let mut told = HashSet::new();
    checked
        .findings
        .sort_by_cached_key(|it| (place.get(&*it.file).copied(), it.span));
    let mut first = Vec::with_capacity(checked.findings.len());
    // Most stand alone at their place, and are not hashed.
    for here in
        (checked.findings).chunk_by(|one, next| one.file == next.file && one.span == next.span)
    {
        told.clear();
        first.extend(
            here.iter()
                .map(|it| here.len() == 1 || told.insert((it.code, &*it.sentence))),
        );
    }
    let mut first = first.into_iter();
    checked.findings.retain(|_| first.next().unwrap_or(true));
    checked
}

/// Names the resource that each finding of a list is about: a line of what a cluster prints says little.
fn name_resources(files: &[File<'_>], read: &[Parsed], findings: &mut [Finding]) {
    let lists = files.iter().zip(read).filter(|(_, read)| read.is_list);
    let lists: HashMap<_, _> = lists.map(|(file, read)| (file.name, read)).collect();
    for finding in findings {
        let Some(list) = lists.get(&*finding.file) else {
            continue;
        };
        let next = list.trees.partition_point(|it| it.span <= finding.span);
        let resource = next.checked_sub(1).map(|it| &list.trees[it]);
        if let Some(resource) = resource.filter(|it| it.at(&["metadata", "name"]).is_some()) {
            let name = format!("{}: ", systems::named(resource));
            finding.about += name.len();
            finding.sentence.insert_str(0, &name);
        }
    }
}

/// Tells of keys that look like retries, and that no system asked for.
fn unread(
    files: &[File<'_>],
    read: &[Parsed],
    all: &[Vec<Vec<&'static Row>>],
    checked: &mut Checked,
) {
    // Most files have nothing that may be unread.
    let told = LazyCell::new(|| Mentioned::of(checked));
    let mut found = Checked::default();
    found.tally.every = checked.tally.every;
    for ((file, read), systems) in files.iter().zip(read).zip(all) {
        let here = LazyCell::new(|| told.in_file(file.name));
        let told = |span: Span| here.binary_search(&span).is_ok();
        for (tree, rows) in read
            .trees
            .iter()
            .zip(systems)
            .filter(|(_, rows)| !rows.is_empty())
        {
            let systems: Vec<_> = rows.iter().map(|it| it.system).collect();
            unread::of_known(file.name, tree, &systems, &told, &mut found);
            shape::of_known(file.name, tree, &systems, &told, &mut found);
        }
    }
    drop(told);
    checked.take_more(found);
}

fn of_file<'a>(
    file: File<'a>,
    text: &'a str,
    read: &'a Parsed,
    systems: &[Vec<&'static Row>],
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
    if file.is_too_long() {
        of_unread(whole, read, found);
        return;
    }
    if sets_nothing(file) && by.settings.versions.is_empty() {
        unknown(file, Span::new(1, 1, 0), &[], found);
        return;
    }
    if let Some(span) = read.template {
        let lines: Vec<_> = text.lines().collect();
        template_of(whole, &lines, span, "file", holds_retries(text), found);
        return;
    }
    if is_named(file, TOML) && systems.iter().all(Vec::is_empty) {
        of_toml(file, read, whole, by, found);
        return;
    }
    // A resource of Kubernetes may hold another system's file as a text, and is not that file.
    let is_tree = is_named(file, TREES) || systems.iter().any(|it| !it.is_empty());
    if !is_tree {
        let before = found.size();
        let is_own = !by.recognised(Form::Text, &whole).is_empty();
        if by.read_as(&by.of_form(Form::Text, &whole), whole, found) {
            if !is_own && before == found.size() {
                nothing_of_named(file, by, found);
            }
            return;
        }
    }
    let before = found.size();
    let inner = |files: &[File<'_>]| by.within(files);
    let is_record = embedded::records(file.name, text, &read.trees, inner, found);
    let is_known = of_trees(file, text, read, systems, whole, by, found) || is_record;
    if !is_known && is_tree && by.read_as(&by.named(Form::Text), whole, found) {
        return;
    }
    if is_known && before == found.size() && systems.iter().all(Vec::is_empty) {
        nothing_of_named(file, by, found);
    }
    if is_tree || !is_record {
        of_unread(whole, read, found);
    }
    let is_text = read.trees.iter().all(|it| it.text().is_some()) && !is_named(file, TREES);
    if !is_known && is_text && unread::of_text(file.name, text, &mut found.findings) {
        return;
    }
    if !is_known && read.unread.is_empty() {
        let first = read.trees.first();
        let span = first.map_or_else(|| Span::new(1, 1, 0), |it| it.span);
        unknown(file, span, &read.trees, found);
    }
}

/// Reads each document; whether any of them is known.
fn of_trees<'a>(
    file: File<'a>,
    text: &'a str,
    read: &'a Parsed,
    systems: &[Vec<&'static Row>],
    whole: Document<'a>,
    by: By<'a>,
    found: &mut Checked,
) -> bool {
    let mut is_known = false;
    // Of a file that holds others.
    let lines = LazyCell::new(|| text.lines().collect::<Vec<_>>());
    for (tree, systems) in read.trees.iter().zip(systems) {
        let inner = |files: &[File<'_>]| by.within(files);
        let within = match &systems[..] {
            [] => embedded::read(file.name, &lines, tree, inner, found),
            _ => Within::default(),
        };
        let is_told = |span: Span| within.known.contains(&span);
        if within.is_any {
            is_known = true;
            unread::of_unknown(file.name, tree, &is_told, found);
            continue;
        }
        let document = Document {
            tree: Some(tree),
            ..whole
        };
        let systems = match &systems[..] {
            [] => by.named(Form::Tree),
            own => own.to_vec(),
        };
        if by.read_as(&systems, document, found) {
            is_known = true;
            keys_that_stand_twice(file, tree, found);
        } else {
            is_known |= unread::of_unknown(file.name, tree, &is_told, found);
        }
    }
    is_known
}

/// Tells of the documents that are templates, or none.
fn of_unread(whole: Document<'_>, read: &Parsed, found: &mut Checked) {
    let what = if read.trees.is_empty() {
        "file"
    } else {
        "document"
    };
    let is_template = read.unread.iter().any(|it| it.template.is_some());
    let lines = is_template.then(|| whole.text.lines().collect::<Vec<_>>());
    let lines = lines.unwrap_or_default();
    for unread in &read.unread {
        let span = unread.template.unwrap_or(unread.why.span);
        if unread.template.is_some() {
            template_of(whole, &lines, span, what, unread.holds_retries, found);
        } else {
            let sentence = unread.why.sentence.clone();
            cannot_read(whole.file, span, sentence, unread.holds_retries, found);
        }
    }
}

/// A file that no system recognises, and in which the one that is named finds nothing either.
fn nothing_of_named(file: File<'_>, by: By<'_>, found: &mut Checked) {
    let named: Vec<_> = by
        .settings
        .versions
        .iter()
        .map(|it| it.system.title)
        .collect();
    let sentence = format!(
        "nothing in this file is of {}, as which it is read",
        named.join(" or ")
    );
    let remedy = "leave out `--as`, or the file";
    let mut finding = Finding::new(
        file.name,
        Span::new(1, 1, 0),
        code::UNKNOWN_SYSTEM,
        sentence,
        remedy,
    );
    finding.severity = Severity::Error;
    found.push(finding);
}

/// What holds no retries is a note.
fn demoted(mut finding: Finding, holds_retries: bool) -> Finding {
    if !holds_retries {
        finding.severity = Severity::Note;
    }
    finding
}

fn template_of(
    whole: Document<'_>,
    lines: &[&str],
    span: Span,
    what: &str,
    holds_retries: bool,
    found: &mut Checked,
) {
    let Document { file, together, .. } = whole;
    let sentence = format!("the {what} is a template, and what comes of it is not known");
    let filled = chart::filled_in(file, lines, span.line, together);
    let (span, sentence) = filled.map_or((span, sentence.clone()), |(at, keys)| {
        (at, format!("{sentence}: {keys}"))
    });
    let remedy = "check what the tool prints, such as `helm template . | becalm check -`";
    let finding = Finding::new(file, span, code::TEMPLATE, sentence, remedy);
    found.push(demoted(finding, holds_retries));
}

fn of_toml<'a>(
    file: File<'_>,
    read: &Parsed,
    whole: Document<'a>,
    by: By<'a>,
    found: &mut Checked,
) {
    if by.read_as(&by.of_form(Form::Text, &whole), whole, found) {
        return;
    }
    if let Some((span, sentence)) = systems::no_toml(whole.text) {
        cannot_read(file.name, span, sentence, holds_retries(whole.text), found);
        return;
    }
    let mut trees = read.trees.iter();
    if !trees.any(|it| unread::of_unknown(file.name, it, &|_| false, found)) {
        unknown(file, Span::new(1, 1, 0), &[], found);
    }
}

fn cannot_read(file: &str, span: Span, sentence: String, holds_retries: bool, found: &mut Checked) {
    let finding = Finding::new(file, span, code::CANNOT_READ, sentence, "");
    found.push(demoted(finding, holds_retries));
}

fn unknown(file: File<'_>, span: Span, trees: &[Node], found: &mut Checked) {
    let within = embedded::named(trees);
    found.push(Finding::new(
        file.name,
        span,
        code::UNKNOWN_SYSTEM,
        format!("no document of the file is of a system that is read{within}"),
        "name the system with `--as`, or leave out the file",
    ));
}

fn keys_that_stand_twice(file: File<'_>, tree: &Node, found: &mut Checked) {
    let tables = tree.walk().filter(|it| it.entries().len() > 1);
    for key in tables.flat_map(Node::repeated_keys) {
        found.push(Finding::new(
            file.name,
            key.span,
            code::KEY_TWICE,
            format!("`{}` stands twice in this mapping; the last one is read, where the file is read at all", key.name),
            "keep one of them",
        ));
    }
}

/// How files of TOML end.
const TOML: &[&str] = &[".toml"];

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

    /// What is found in files within a file.
    fn within(self, files: &[File<'_>]) -> Checked {
        let within = self.settings.within + 1;
        if within > embedded::MOST_WITHIN {
            return embedded::too_deep(files);
        }
        let settings = Settings {
            within,
            ..self.settings.clone()
        };
        check(files, &settings)
    }

    /// The systems that know each tree of a file as theirs.
    fn trees(
        self,
        file: File<'a>,
        text: &'a str,
        read: &'a Parsed,
        together: &'a [Together<'a>],
    ) -> Vec<Vec<&'static Row>> {
        let systems = read.trees.iter().map(|tree| {
            let document = Document {
                file: file.name,
                text,
                tree: Some(tree),
                beside: &read.trees,
                together,
                merges: &read.merges,
            };
            let mut rows = self.recognised(Form::Tree, &document);
            rows.retain(|it| it.system.schema.is_toml || !is_named(file, TOML));
            rows
        });
        systems.collect()
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
            reading.tally = std::mem::take(&mut found.tally);
            (row.read)(&mut reading, self.shared);
            reading.end();
            found.take(reading);
        }
        !systems.is_empty()
    }
}

fn of(form: Form) -> impl Iterator<Item = &'static Row> {
    systems::ALL.iter().filter(move |it| it.system.form == form)
}
