//! Which sections and values does an INI file hold, as botocore reads it, and where?
//!
//! `RawConfigParser` of Python 3.11 (`Lib/configparser.py`, `_read`), and the one level of nesting that
//! `botocore/configloader.py` adds.

use std::collections::HashSet;

use crate::document::Span;

/// A section with its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// What stands in its brackets.
    pub name: String,
    pub span: Span,
    pub entries: Vec<Entry>,
}

/// A name with its value, and the lines that are indented below.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// In small letters, as `configparser` has it.
    pub name: String,
    /// From the name to the end of the line.
    pub span: Span,
    value: String,
    /// Lines that belong to the value, for they are indented.
    pub below: Vec<(String, Span)>,
}

/// Why the file is not read, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    pub span: Span,
    pub sentence: String,
}

/// What all other sections have, too.
const SHARED: &str = "DEFAULT";

impl Section {
    /// The value of this name.
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|it| it.name == name)
    }
}

impl Entry {
    /// The whole value; `None` of a table, whose lines stand below.
    pub fn text(&self) -> Option<String> {
        if self.is_table() {
            return None;
        }
        let below = self.below.iter().map(|(line, _)| &**line);
        let lines: Vec<_> = std::iter::once(&*self.value).chain(below).collect();
        Some(lines.join("\n"))
    }

    /// Whether the lines below are names with values of their own.
    pub fn is_table(&self) -> bool {
        self.value.is_empty() && !self.below.is_empty()
    }
}

/// All sections but the shared one, whose values each of them has where it has none of its own.
pub fn sections(text: &str) -> Result<Vec<Section>, Unreadable> {
    let mut reader = Reader::default();
    for (at, line) in text.lines().enumerate() {
        reader.line(at + 1, line)?;
    }
    let mut sections = reader.sections;
    let tables = sections.iter().flat_map(|it| &it.entries);
    for entry in tables.filter(|it| it.is_table()) {
        if let Some((line, span)) = entry.below.iter().find(|(it, _)| !it.contains('=')) {
            let sentence = format!("`{line}` below `{}` has no `=`", entry.name);
            let span = *span;
            return Err(Unreadable { span, sentence });
        }
    }
    let (shared, mut sections): (Vec<_>, Vec<_>) =
        sections.drain(..).partition(|it| it.name == SHARED);
    let shared: Vec<_> = shared.into_iter().flat_map(|it| it.entries).collect();
    for section in &mut sections {
        let is_new = |it: &&Entry| section.get(&it.name).is_none();
        let inherited: Vec<_> = shared.iter().filter(is_new).cloned().collect();
        section.entries.extend(inherited);
    }
    Ok(sections)
}

#[derive(Default)]
struct Reader {
    sections: Vec<Section>,
    seen: HashSet<(String, String)>,
    /// Of the last section or name; what is indented deeper belongs to that name.
    indent: usize,
    /// Whether the last section or name was a name.
    is_in_entry: bool,
}

impl Reader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Unreadable> {
        let words = line.trim();
        if words.is_empty() || words.starts_with(['#', ';']) {
            return Ok(());
        }
        let indent = line.chars().take_while(|it| it.is_whitespace()).count();
        let span = Span::new(number, indent + 1, words.chars().count());
        let fail = |sentence: String| Err(Unreadable { span, sentence });
        let entries = self.sections.last_mut().map(|it| &mut it.entries);
        if self.is_in_entry && indent > self.indent {
            if let Some(entry) = entries.and_then(|it| it.last_mut()) {
                entry.below.push((words.to_owned(), span));
            }
            return Ok(());
        }
        self.indent = indent;
        if let Some(name) = head(words) {
            self.is_in_entry = false;
            let name = name.to_owned();
            if name != SHARED && self.sections.iter().any(|it| it.name == name) {
                return fail(format!("the section `[{name}]` stands twice"));
            }
            self.sections.push(Section {
                name,
                span,
                entries: Vec::new(),
            });
            return Ok(());
        }
        let Some(section) = self.sections.last_mut() else {
            return fail("a line stands before the first section".to_owned());
        };
        let Some((name, value)) = words.split_once(['=', ':']) else {
            return fail(format!("`{words}` has neither `=` nor `:`"));
        };
        let name = name.trim().to_lowercase();
        if name.is_empty() {
            return fail(format!("`{words}` has no name"));
        }
        if !self.seen.insert((section.name.clone(), name.clone())) {
            return fail(format!("`{name}` stands twice in `[{}]`", section.name));
        }
        self.is_in_entry = true;
        section.entries.push(Entry {
            name,
            span,
            value: value.trim().to_owned(),
            below: Vec::new(),
        });
        Ok(())
    }
}

/// The name of a section, up to the last bracket of the line.
fn head(line: &str) -> Option<&str> {
    let (name, _) = line.strip_prefix('[')?.rsplit_once(']')?;
    Some(name).filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sections as `name: key=value`, with `|` for the end of a line.
    fn read(text: &str) -> Result<String, String> {
        let told = |it: &Entry| match it.text() {
            Some(text) => format!("{}={}", it.name, text.replace('\n', "|")),
            None => format!("{}: {}", it.name, it.below.len()),
        };
        let told = |it: &Section| {
            let entries: Vec<_> = it.entries.iter().map(told).collect();
            format!("{}: {}", it.name, entries.join(", "))
        };
        let sections = sections(text).map_err(|it| format!("{}: {}", it.span.line, it.sentence))?;
        Ok(sections.iter().map(told).collect::<Vec<_>>().join("; "))
    }

    #[test]
    fn lines_are_read_as_configparser_reads_them() {
        for (text, told) in [
            ("[a]\nX = 1\ny:2\n", "a: x=1, y=2"),
            ("[a] # b]c\nx = 1 # 2", "a] # b: x=1 # 2"),
            ("# c\n; d\n\n  [a]\n  x=\n  # e\n  y = 1", "a: x=, y=1"),
            ("[a]\nx =\n  b = 1\n\n  c = 2\ny = 1", "a: x: 2, y=1"),
            ("[a]\nx = 1\n  y = 2\nz = 3", "a: x=1|y = 2, z=3"),
            ("[a]\n\n  x = 1\n y = 2", "a: x=1, y=2"),
            (
                "[DEFAULT]\nx=1\ny=2\n[a]\nx=3\n[DEFAULT]\nz=4",
                "a: x=3, y=2, z=4",
            ),
            ("[]=1", "1: a line stands before the first section"),
            ("[a]\nx", "2: `x` has neither `=` nor `:`"),
            ("[a]\n=1", "2: `=1` has no name"),
            ("[a]\nx=1\nX=2", "3: `x` stands twice in `[a]`"),
            ("[a]\n[b]\n[a]", "3: the section `[a]` stands twice"),
            ("[a]\ns3 =\n  b", "3: `b` below `s3` has no `=`"),
        ] {
            let read = read(text).unwrap_or_else(|it| it);
            assert_eq!(read, told, "{text}");
        }
    }
}
