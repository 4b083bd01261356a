//! Which files are checked?

use std::path::Path;

use becalm_check::File;
use becalm_check::document::{LONGEST, Span};
use becalm_check::shown::{Snippet, printable, snippet};

/// A file that was read.
#[derive(Debug)]
pub struct Input {
    name: String,
    text: String,
    /// Where each line begins.
    lines: Vec<usize>,
}

impl Input {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// A sentence that names the file.
    pub fn read(path: &Path) -> Result<Self, String> {
        use std::io::Read as _;

        let refused = |why: String| {
            let name = path.display().to_string();
            format!("cannot read {}: {why}", printable(&name))
        };
        let file = std::fs::File::open(path).map_err(|error| refused(error.to_string()))?;
        let most = u64::try_from(LONGEST).unwrap_or(u64::MAX);
        let mut bytes = Vec::new();
        // One byte more than is read, so that a file that is too long is told from one that is not.
        let read = file.take(most.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| refused(error.to_string()))?;
        let text =
            String::from_utf8(bytes).map_err(|_| refused("it is no text in UTF-8".into()))?;
        let name = path.display().to_string();
        let lines = lines(&text);
        Ok(Self { name, text, lines })
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
        snippet(line, Span::new(1, span.column, span.length))
    }

    pub fn file(&self) -> File<'_> {
        File::new(&self.name, &self.text)
    }
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
    fn each_line_is_found_whatever_ends_it() {
        let text = "a\r\nb\rc\n\nd".to_owned();
        let input = Input {
            name: "x".into(),
            lines: lines(&text),
            text,
        };
        let line = |at| input.snippet(Span::new(at, 1, 1)).map(|it| it.line);
        let lines: Vec<_> = (0..8).map(|at| line(at).unwrap_or_default()).collect();
        assert_eq!(lines, ["", "a", "b", "c", "", "d", "", ""]);
    }
}
