//! Which sections and values does an INI file hold, and where?
//!
//! What stands there plainly, as `RawConfigParser` of Python 3.11 and `botocore/configloader.py` read it. Its corners end the reading.

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
    /// Of its own line.
    pub value: String,
    /// Lines that belong to it, for they are indented.
    pub below: Vec<(String, Span)>,
}

/// Why nothing is known of the file, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    pub span: Span,
    pub sentence: String,
    /// Whether botocore does not read it either; otherwise what it makes of it is not known here.
    pub is_refused: bool,
}

/// What all other sections have, too, and which may stand twice.
pub const SHARED: &str = "DEFAULT";

impl Section {
    /// The value of this name.
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|it| it.name == name)
    }
}

/// All sections of a file.
pub fn sections(text: &str) -> Result<Vec<Section>, Unreadable> {
    let mut reader = Reader::default();
    for (at, line) in text.lines().enumerate() {
        #[cfg(test)]
        crate::document::LOOKED_AT.set(crate::document::LOOKED_AT.get() + 1);
        reader.line(at + 1, line)?;
    }
    Ok(reader.sections)
}

#[derive(Default)]
struct Reader {
    sections: Vec<Section>,
    /// The names of all sections.
    seen: HashSet<String>,
    /// The names in the last section, and in all that are [`SHARED`].
    own: HashSet<String>,
    shared: HashSet<String>,
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
        let fail = |is_refused, sentence: String| {
            Err(Unreadable {
                span,
                sentence,
                is_refused,
            })
        };
        let entry = self
            .sections
            .last_mut()
            .and_then(|it| it.entries.last_mut());
        if let Some(entry) = entry.filter(|_| self.is_in_entry && indent > self.indent) {
            if entry.value.is_empty() && !words.contains('=') {
                return fail(
                    false,
                    format!("`{words}` below `{}` has no `=`", entry.name),
                );
            }
            entry.below.push((words.to_owned(), span));
            return Ok(());
        }
        self.indent = indent;
        if let Some((name, behind)) = words.strip_prefix('[').and_then(|it| it.split_once(']')) {
            if name.is_empty() || behind.contains(']') {
                return fail(false, format!("`{words}` is no section as others are"));
            }
            self.is_in_entry = false;
            let name = name.to_owned();
            self.own.clear();
            let is_new = self.seen.insert(name.clone());
            if !is_new && name != SHARED {
                return fail(true, format!("the section `[{name}]` stands twice"));
            }
            self.sections.push(Section {
                name,
                span,
                entries: Vec::new(),
            });
            return Ok(());
        }
        let Some(section) = self.sections.last_mut() else {
            return fail(true, "a line stands before the first section".to_owned());
        };
        let Some((name, value)) = words.split_once(['=', ':']) else {
            return fail(true, format!("`{words}` has neither `=` nor `:`"));
        };
        let name = name.trim().to_lowercase();
        if name.is_empty() {
            return fail(true, format!("`{words}` has no name"));
        }
        let names = if section.name == SHARED {
            &mut self.shared
        } else {
            &mut self.own
        };
        if !names.insert(name.clone()) {
            return fail(
                true,
                format!("`{name}` stands twice in `[{}]`", section.name),
            );
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Sections as `name: key=value`, with the number of lines below.
    fn read(text: &str) -> Result<String, String> {
        let told = |it: &Entry| match it.below.len() {
            0 => format!("{}={}", it.name, it.value),
            lines => format!("{}={} and {lines}", it.name, it.value),
        };
        let told = |it: &Section| {
            let entries: Vec<_> = it.entries.iter().map(told).collect();
            format!("{}: {}", it.name, entries.join(", "))
        };
        let told_of = |it: Unreadable| {
            let kind = if it.is_refused {
                "refused"
            } else {
                "not known"
            };
            format!("{}: {kind}: {}", it.span.line, it.sentence)
        };
        let sections = sections(text).map_err(told_of)?;
        Ok(sections.iter().map(told).collect::<Vec<_>>().join("; "))
    }

    #[test]
    fn plain_lines_are_read_as_configparser_reads_them_and_corners_are_not_known() {
        for (text, told) in [
            ("[a]\nX = 1\ny:2\n", "a: x=1, y=2"),
            ("[a] # b\nx = 1 # 2", "a: x=1 # 2"),
            ("# c\n; d\n\n  [a]\n  x=\n  # e\n  y = 1", "a: x=, y=1"),
            ("[a]\nx =\n  b = 1\n\n  c = 2\ny = 1", "a: x= and 2, y=1"),
            ("[a]\nx = 1\n  y = 2\nz = 3", "a: x=1 and 1, z=3"),
            ("[a]\n\n  x = 1\n y = 2", "a: x=1, y=2"),
            ("[]=1", "1: not known: `[]=1` is no section as others are"),
            (
                "[a] # b]c",
                "1: not known: `[a] # b]c` is no section as others are",
            ),
            (
                "[DEFAULT]\nx=1\n[a]\n[DEFAULT]\ny=1",
                "DEFAULT: x=1; a: ; DEFAULT: y=1",
            ),
            ("[a]\ns3 =\n  b", "3: not known: `b` below `s3` has no `=`"),
            ("x=1", "1: refused: a line stands before the first section"),
            ("[a]\nx", "2: refused: `x` has neither `=` nor `:`"),
            ("[a]\n=1", "2: refused: `=1` has no name"),
            ("[a]\nx=1\nX=2", "3: refused: `x` stands twice in `[a]`"),
            (
                "[DEFAULT]\nx=1\n[a]\nx=1\n[b]\nx=1\n[DEFAULT]\nx=1",
                "8: refused: `x` stands twice in `[DEFAULT]`",
            ),
            (
                "[a]\n[b]\n[a]",
                "3: refused: the section `[a]` stands twice",
            ),
        ] {
            let read = read(text).unwrap_or_else(|it| it);
            assert_eq!(read, told, "{text}");
        }
    }
}
