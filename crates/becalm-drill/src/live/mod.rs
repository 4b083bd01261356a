//! What is seen while the drill runs?

mod condition;
mod lines;
mod panel;
mod paper;
mod screen;

use std::time::Duration;

use super::ledger::Recording;
use super::setup::Setup;
use super::variant::Variant;
use crate::show::Console;
use lines::Lines;
#[cfg(all(feature = "ws", unix))]
pub use paper::Paper;
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

/// The display: a picture that is redrawn, a line a second, or nothing.
#[derive(Debug)]
pub enum Display<'a> {
    Quiet,
    Lines(Lines<'a>),
    Screen(Screen<'a>),
}

impl<'a> Display<'a> {
    /// The display that suits the console.
    pub fn on(console: &'a dyn Console, quiet: bool) -> Self {
        if quiet {
            Self::Quiet
        } else if console.is_screen() {
            Self::Screen(Screen::enter(console))
        } else {
            Self::Lines(Lines::new(console))
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
