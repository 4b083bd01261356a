//! Which files are checked?

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use becalm_check::document::{LONGEST, Span};
use becalm_check::shown::{Snippet, printable, snippet};
use glob::{MatchOptions, Pattern};

use crate::opened;

/// A file that was read.
#[derive(Debug)]
pub struct Input {
    name: String,
    text: String,
    /// Where each line begins.
    lines: Vec<usize>,
    /// Whether each of its characters is a byte, so that a long line need not be counted up to each place in it.
    is_ascii: bool,
}

/// Of a longer line the part around a place is looked at.
const LONG: usize = 1000;

/// What to do where a terminal was given.
pub const INSTEAD: &str = "name a file, or let a program write: `helm template . | becalm check -`";

impl Input {
    /// Reads a file; `-` is standard input.
    ///
    /// # Errors
    ///
    /// A sentence that names the file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let name = path.display().to_string();
        let refused = |error: io::Error| format!("cannot read {}: {error}", printable(&name));
        let is_stdin = path == Path::new("-");
        let bytes = opened::at_most(path, LONGEST, INSTEAD).map_err(refused)?;
        // What is too long is told so, whatever its letters are.
        let text = if bytes.len() > LONGEST {
            " ".repeat(bytes.len())
        } else {
            decoded(bytes)
        };
        let name = if is_stdin { "stdin".into() } else { name };
        Ok(Self::new(name, text))
    }

    fn new(name: String, text: String) -> Self {
        Self {
            name,
            lines: lines(&text),
            is_ascii: text.is_ascii(),
            text,
        }
    }

    /// Its name as it was given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What stands at a place of it.
    pub fn snippet(&self, span: Span) -> Option<Snippet> {
        let at = span.line.checked_sub(1)?;
        let end = self.lines.get(at + 1).copied();
        let line = self
            .text
            .get(*self.lines.get(at)?..end.unwrap_or(self.text.len()))?;
        let mut column = span.column;
        let mut line = line;
        if self.is_ascii && line.len() > LONG {
            let from = column.saturating_sub(LONG / 2).min(line.len());
            line = &line[from..line.len().min(from + LONG)];
            column -= from;
        }
        snippet(line, Span::new(1, column, span.length))
    }

    pub fn file(&self) -> becalm_check::File<'_> {
        becalm_check::File::new(&self.name, &self.text)
    }
}

/// Reads UTF-8, UTF-16 with its mark or of plain letters, and otherwise Latin-1, as which every file can be read.
fn decoded(bytes: Vec<u8>) -> String {
    let units = |of: fn([u8; 2]) -> u16| {
        let units = bytes.chunks_exact(2).map(|it| of([it[0], it[1]]));
        String::from_utf16_lossy(&units.collect::<Vec<_>>())
    };
    match bytes[..] {
        [0xff, 0xfe, ..] => return units(u16::from_le_bytes),
        [0xfe, 0xff, ..] => return units(u16::from_be_bytes),
        [a, 0, b, 0, ..] if a > 0 && b > 0 => return units(u16::from_le_bytes),
        [0, a, 0, b, ..] if a > 0 && b > 0 => return units(u16::from_be_bytes),
        _ => {}
    }
    String::from_utf8(bytes)
        .unwrap_or_else(|error| error.as_bytes().iter().copied().map(char::from).collect())
}

/// How the files that are looked for in a directory end.
const ENDS: [&str; 11] = [
    "cfg",
    "cnf",
    "conf",
    "ini",
    "json",
    "properties",
    "tf",
    "toml",
    "yaml",
    "yml",
    "zone",
];

/// The files that are named: those of a directory and its directories, but for hidden ones and `node_modules`, and those that a
/// pattern such as `deploy/**/*.yaml` finds.
///
/// # Errors
///
/// A sentence that names the directory or the pattern.
pub fn named(paths: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for path in paths {
        let name = path.to_string_lossy();
        if path.is_dir() {
            let before = files.len();
            within(path, &mut files)?;
            if files.len() == before {
                let ends = ENDS.join(", .");
                return Err(format!(
                    "{} holds no file that ends with .{ends}",
                    printable(&name)
                ));
            }
        } else if name.contains(['*', '?', '[']) && !path.exists() {
            let refused = |why: &str| format!("{}: {why}", printable(&name));
            // Without `a//b` and `a/./b`, which no name has.
            let path: PathBuf = path.components().collect();
            let pattern = Pattern::new(&path.to_string_lossy());
            let pattern = pattern.map_err(|error| refused(error.msg))?;
            let mut found = Vec::new();
            matching(&pattern, &path, &mut found);
            if found.is_empty() {
                return Err(refused("no file has such a name"));
            }
            files.extend(found);
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

/// The files of a pattern, in the order of their names. Below `**` links to directories are not followed, which may go round in a
/// circle; what cannot be read holds none.
fn matching(pattern: &Pattern, path: &Path, found: &mut Vec<PathBuf>) {
    let is_plain = |it: &&Component<'_>| {
        let name = it.as_os_str().to_string_lossy();
        !name.contains(['*', '?', '['])
    };
    let parts: Vec<_> = path.components().collect();
    let plain = parts.iter().take_while(is_plain).count();
    let deep = parts.iter().any(|it| it.as_os_str() == "**");
    let start: PathBuf = parts[..plain].iter().collect();
    let mut left = vec![(start, parts.len() - plain)];
    let mut options = MatchOptions::new();
    options.require_literal_separator = true;
    while let Some((directory, levels)) = left.pop() {
        let read = if directory.as_os_str().is_empty() {
            Path::new(".")
        } else {
            &directory
        };
        for entry in fs::read_dir(read).into_iter().flatten().flatten() {
            let path = directory.join(entry.file_name());
            let is_link = entry.file_type().is_ok_and(|it| it.is_symlink());
            if path.is_dir() && (deep && !is_link || !deep && levels > 1) {
                left.push((path, levels.saturating_sub(1)));
            } else if pattern.matches_path_with(&path, options) && path.is_file() {
                found.push(path);
            }
        }
    }
    found.sort();
}

/// Links to directories are not followed, which may go round in a circle.
fn within(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let refused = |error: io::Error| {
        let name = directory.display().to_string();
        format!("cannot read {}: {error}", printable(&name))
    };
    let entries = fs::read_dir(directory).map_err(refused)?;
    let mut entries = entries.collect::<io::Result<Vec<_>>>().map_err(refused)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        let kind = entry.file_type().map_err(refused)?;
        if name.as_encoded_bytes().starts_with(b".") || name == "node_modules" {
            continue;
        }
        let path = entry.path();
        let is_named = || {
            let end = path.extension();
            end.is_some_and(|it| ENDS.iter().any(|end| it.eq_ignore_ascii_case(end)))
        };
        if kind.is_dir() {
            within(&path, files)?;
        } else if is_named() && (kind.is_file() || kind.is_symlink() && path.is_file()) {
            files.push(path);
        }
    }
    Ok(())
}

/// A carriage return alone ends a line as well.
fn lines(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let ends = |at: &usize| {
        bytes[*at] == b'\n' || (bytes[*at] == b'\r' && bytes.get(at + 1) != Some(&b'\n'))
    };
    let behind = (0..bytes.len()).filter(ends).map(|at| at + 1);
    std::iter::once(0).chain(behind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_in_its_encoding() {
        let text = "a: é\n";
        let of = |units: fn(u16) -> [u8; 2], mark: &str| {
            let text = format!("{mark}{text}");
            text.encode_utf16().flat_map(units).collect::<Vec<u8>>()
        };
        for bytes in [
            text.as_bytes().to_vec(),
            b"a: \xe9\n".to_vec(),
            of(u16::to_le_bytes, ""),
            of(u16::to_be_bytes, ""),
            of(u16::to_le_bytes, "\u{feff}"),
            of(u16::to_be_bytes, "\u{feff}"),
        ] {
            assert_eq!(
                decoded(bytes.clone()).trim_start_matches('\u{feff}'),
                text,
                "{bytes:?}"
            );
        }
    }

    #[test]
    fn directories_and_patterns_name_their_files() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "b.yaml",
            "a/c.yml",
            ".git/d.yaml",
            "node_modules/e.json",
            "f.png",
            "g.ini",
            "h.zone",
            "i.tf",
        ] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let named = |it: &str| {
            let files = named(&[folder.path().join(it)])?;
            let files = files.iter().map(|it| {
                it.strip_prefix(folder.path())
                    .unwrap()
                    .display()
                    .to_string()
            });
            Ok::<_, String>(files.collect::<Vec<_>>())
        };
        assert_eq!(
            named("").unwrap(),
            ["a/c.yml", "b.yaml", "g.ini", "h.zone", "i.tf"]
        );
        assert_eq!(named("**/*.y*ml").unwrap().len(), 3);
        assert_eq!(named("missing.yaml").unwrap(), ["missing.yaml"]);
        assert!(named("*.cfg").is_err() && named(".git/..").is_ok());
    }

    #[test]
    fn each_line_is_found_whatever_ends_it() {
        let input = Input::new("x".into(), "a\r\nb\rc\n\nd".into());
        let line = |at| input.snippet(Span::new(at, 1, 1)).map(|it| it.line);
        let lines: Vec<_> = (0..8).map(|at| line(at).unwrap_or_default()).collect();
        assert_eq!(lines, ["", "a", "b", "c", "", "d", "", ""]);
    }

    #[test]
    fn the_place_in_a_long_line_is_found_without_counting() {
        let text = format!("{}here{}", "x".repeat(5000), "y".repeat(5000));
        for text in [text.clone(), text.replacen('x', "é", 1)] {
            let input = Input::new("x".into(), text);
            let shown = input.snippet(Span::new(1, 5001, 4)).unwrap();
            let place: String = shown
                .line
                .chars()
                .skip(shown.before)
                .take(shown.length)
                .collect();
            assert_eq!(place, "here");
            assert!(
                shown.line.starts_with("...x") && shown.line.ends_with("y..."),
                "{}",
                shown.line
            );
        }
    }
}
