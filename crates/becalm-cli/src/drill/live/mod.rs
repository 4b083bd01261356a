//! What is seen while the drill runs?

mod condition;
mod lines;
mod panel;
mod screen;

use std::io::{IsTerminal, Write};
use std::time::Duration;

use becalm_report::terminal::{Painter, wrap};

use super::ledger::Recording;
use super::setup::Setup;
use super::variant::Variant;
use lines::Lines;
use screen::Screen;

/// What there is to show: the policies with their counts so far.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    pub setup: &'a Setup,
    pub variants: &'a [Variant],
    pub recordings: &'a [Recording],
    /// From the start of the drill.
    pub elapsed: Duration,
}

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
    }

    /// Whether someone watches, on a terminal that can move its cursor.
    fn is_screen(self) -> bool {
        let is_terminal = match self {
            Self::Stdout => std::io::stdout().is_terminal(),
            Self::Stderr => std::io::stderr().is_terminal(),
        };
        is_terminal && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
    }

    /// Columns and rows.
    fn size(self) -> (usize, usize) {
        let size = match self {
            Self::Stdout => terminal_size::terminal_size_of(std::io::stdout()),
            Self::Stderr => terminal_size::terminal_size_of(std::io::stderr()),
        };
        size.map_or((80, 24), |(width, height)| {
            (width.0.into(), height.0.into())
        })
    }

    /// The text in lines that fit a terminal; as it is, elsewhere.
    pub fn wrapped(self, text: &str) -> String {
        if self.is_screen() {
            wrap(text, self.size().0.clamp(40, 100)).join("\n")
        } else {
            text.into()
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

/// The display: a picture that is redrawn, a line a second, or nothing.
#[derive(Debug)]
pub enum Display {
    Quiet,
    Lines(Lines),
    Screen(Screen),
}

impl Display {
    /// The display that suits the stream.
    pub fn on(stream: Stream, quiet: bool) -> Self {
        if quiet {
            Self::Quiet
        } else if stream.is_screen() {
            Self::Screen(Screen::enter(stream))
        } else {
            Self::Lines(Lines::new(stream))
        }
    }

    /// Shows how things stand.
    pub fn show(&mut self, view: &View<'_>) {
        match self {
            Self::Quiet => {}
            Self::Lines(lines) => lines.show(view),
            Self::Screen(screen) => screen.show(view),
        }
    }

    /// Shows how things stand for the last time, where it stays to be read.
    pub fn finish(self, view: &View<'_>) {
        match self {
            Self::Quiet => {}
            Self::Lines(mut lines) => lines.show(view),
            Self::Screen(screen) => screen.finish(view),
        }
    }
}
