//! What is seen while a drill runs? A picture that is redrawn, a line a second, or nothing.

mod condition;
mod lines;
mod panel;
mod paper;
mod screen;

use std::time::Duration;

use becalm_report::terminal::Painter;

use crate::ledger::Recording;
use crate::setup::Setup;
use crate::show::{Console, Show};
use crate::variant::Variant;
use lines::LINES;
use paper::Paper;

/// What there is to see at a moment.
pub trait Scene {
    /// The whole picture for a terminal of this size, line by line.
    fn frame(&self, size: (usize, usize), painter: Painter) -> Vec<String>;

    /// How many seconds are over.
    fn seconds(&self) -> u32;

    /// How the second that ends there went. It is empty for most seconds, so that a drill writes at most `most` lines.
    fn line(&self, second: u32, most: u32) -> String;

    /// What stays to be read when it is over, above what it came to: short, as that is read first.
    fn last(&self, size: (usize, usize), painter: Painter) -> Vec<String> {
        self.frame(size, painter)
    }

    /// What stands over the lines.
    fn header(&self) -> String {
        String::new()
    }
}

/// The display that suits the console.
#[derive(Debug)]
pub enum Display<'a> {
    Quiet,
    /// Where nothing can be redrawn: a line when a second is over.
    Lines {
        console: &'a dyn Console,
        seconds: u32,
        most: u32,
    },
    Screen(Paper<'a>),
}

impl<'a> Display<'a> {
    /// The display that suits the console.
    pub fn on(show: &Show<'a>) -> Self {
        let console = show.console;
        if show.quiet {
            Self::Quiet
        } else if console.is_screen() {
            Self::Screen(Paper::enter(console))
        } else {
            Self::Lines {
                console,
                seconds: 0,
                most: LINES.checked_div(show.policies).unwrap_or(0),
            }
        }
    }

    /// Shows how things stand.
    pub fn show(&mut self, scene: &impl Scene) {
        match self {
            Self::Quiet => {}
            Self::Lines {
                console,
                seconds,
                most,
            } => {
                while *seconds < scene.seconds() {
                    if *seconds == 0 {
                        console.write(&scene.header());
                    }
                    *seconds += 1;
                    console.write(&scene.line(*seconds, *most));
                }
            }
            Self::Screen(paper) => paper.draw(&scene.frame(paper.size(), paper.painter())),
        }
    }

    /// One of several is over, and the seconds of the next begin anew.
    #[cfg(all(feature = "ws", unix))]
    pub fn next(&mut self, told: &str) {
        if let Self::Lines {
            console, seconds, ..
        } = self
        {
            *seconds = 0;
            console.write(&format!("{told}\n"));
        }
    }

    /// Shows how things stand for the last time, where it stays to be read.
    pub fn finish(mut self, scene: &impl Scene) {
        match self {
            Self::Screen(paper) => {
                let last = scene.last(paper.size(), paper.painter());
                paper.leave(&last);
            }
            _ => self.show(scene),
        }
    }
}

/// The policies with their counts so far.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    pub setup: &'a Setup,
    pub variants: &'a [Variant],
    pub recordings: &'a [Recording],
    /// From the start of the drill.
    pub elapsed: Duration,
}

impl Scene for View<'_> {
    fn frame(&self, size: (usize, usize), painter: Painter) -> Vec<String> {
        screen::frame(self, size, painter)
    }

    fn seconds(&self) -> u32 {
        let seen = self.elapsed.min(self.setup.length());
        u32::try_from(seen.as_secs()).unwrap_or(u32::MAX)
    }

    fn line(&self, second: u32, most: u32) -> String {
        lines::line(self, second, most)
    }

    fn last(&self, _: (usize, usize), _: Painter) -> Vec<String> {
        let lines = (1..=self.seconds()).map(|second| lines::line(self, second, LINES));
        let text = lines::header(self) + &lines.collect::<String>();
        text.lines().map(str::to_owned).collect()
    }

    fn header(&self) -> String {
        lines::header(self)
    }
}
