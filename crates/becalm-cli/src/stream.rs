//! Where do people read, and what do they see there?

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

use becalm_drill::Console;
use becalm_report::terminal::Painter;

/// Lines that were written to either.
static LINES: AtomicUsize = AtomicUsize::new(0);

/// The stream that people read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    /// While the JSON document goes to stdout.
    Stderr,
}

impl Stream {
    /// Writes the text. A reader that has gone is no reason to stop.
    pub fn write(self, text: &str) {
        let _ = match self {
            Self::Stdout => {
                let mut out = std::io::stdout().lock();
                out.write_all(text.as_bytes()).and_then(|()| out.flush())
            }
            Self::Stderr => std::io::stderr().lock().write_all(text.as_bytes()),
        };
        LINES.fetch_add(text.matches('\n').count(), Ordering::Relaxed);
    }

    /// Whether someone watches, on a terminal that can move its cursor.
    pub fn is_screen(self) -> bool {
        let is_terminal = match self {
            Self::Stdout => std::io::stdout().is_terminal(),
            Self::Stderr => std::io::stderr().is_terminal(),
        };
        is_terminal && std::env::var_os("TERM").is_none_or(|term| term != "dumb") && obeys_escapes()
    }

    /// Columns and rows.
    pub fn size(self) -> (usize, usize) {
        let size = match self {
            Self::Stdout => terminal_size::terminal_size_of(std::io::stdout()),
            Self::Stderr => terminal_size::terminal_size_of(std::io::stderr()),
        };
        size.map_or((80, 24), |(width, height)| {
            (width.0.into(), height.0.into())
        })
    }

    /// Columns to write in: the terminal's, as far as lines are read with ease; 80 elsewhere.
    pub fn columns(self) -> usize {
        if self.is_screen() {
            self.size().0.clamp(40, 100)
        } else {
            80
        }
    }

    /// Colours where they are seen and wanted (`NO_COLOR`, <https://no-color.org>).
    pub fn painter(self) -> Painter {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if self.is_screen() && !unwanted {
            Painter::Ansi
        } else {
            Painter::Plain
        }
    }
}

/// Windows asks to be told that a console is to obey escape sequences, and an old one does not.
#[cfg(windows)]
fn obeys_escapes() -> bool {
    anstyle_query::windows::enable_ansi_colors().unwrap_or(false)
}

/// Terminals of Unix do.
#[cfg(not(windows))]
const fn obeys_escapes() -> bool {
    true
}

/// A drill shows itself here while it runs.
impl Console for Stream {
    fn write(&self, text: &str) {
        Self::write(*self, text);
    }

    fn is_screen(&self) -> bool {
        Self::is_screen(*self)
    }

    fn size(&self) -> (usize, usize) {
        Self::size(*self)
    }

    fn lines_above(&self) -> usize {
        if Self::is_screen(*self) {
            0
        } else {
            LINES.load(Ordering::Relaxed)
        }
    }

    fn painter(&self) -> Painter {
        Self::painter(*self)
    }
}
