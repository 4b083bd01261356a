//! How far is it? A line on a terminal, and nothing anywhere else.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use becalm_drill::Console as _;
use becalm_report::terminal;

use crate::stream::Stream;
use crate::usage;

/// Shows on standard error how many runs are done, if that is a terminal.
#[derive(Debug)]
pub struct Progress {
    /// When it was last shown; `None` where nobody watches.
    shown: Option<Mutex<Instant>>,
    began: Instant,
    what: &'static str,
}

/// Between two pictures: often enough to be seen moving, seldom enough to cost nothing.
const PAUSE: Duration = Duration::from_millis(100);
/// Nothing is shown of what is done at once.
const PATIENCE: Duration = Duration::from_millis(400);

/// Of the bar and its figures.
const COLUMNS: usize = 60;

impl Progress {
    /// Of so many of these.
    pub fn new(what: &'static str) -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let is_seen = std::io::stderr().is_terminal() && !dumb;
        let began = Instant::now();
        Self {
            shown: is_seen.then(|| Mutex::new(began + PATIENCE)),
            began,
            what,
        }
    }

    /// Told from any thread.
    pub fn tell(&self, done: u64, all: u64) {
        let Some(shown) = &self.shown else { return };
        // A thread that finds another one at it has nothing to add.
        let Ok(mut shown) = shown.try_lock() else {
            return;
        };
        let now = Instant::now();
        if now < *shown {
            return;
        }
        *shown = now + PAUSE;
        let _ = write!(std::io::stderr(), "\r{}\u{1b}[K", self.line(done, all));
    }
}

impl Progress {
    /// Says something meanwhile, if anybody watches: a line that stays, above the one that goes on.
    pub fn note(&self, sentence: &str) {
        let Some(shown) = &self.shown else { return };
        // Held, so that no other thread draws its line in the middle.
        let _shown = shown.lock();
        let text = Stream::Stderr.wrapped(&usage::shown(sentence));
        let _ = writeln!(std::io::stderr(), "\r\u{1b}[K{text}");
    }

    /// Says a sentence beforehand, on a terminal or not.
    pub fn say(sentence: &str) {
        let text = Stream::Stderr.wrapped(&usage::shown(sentence));
        let _ = writeln!(std::io::stderr(), "{text}");
    }

    fn line(&self, done: u64, total: u64) -> String {
        let elapsed = self.began.elapsed();
        let at = terminal::Progress {
            done,
            total,
            elapsed,
        };
        let columns = Stream::Stderr.size().0.saturating_sub(self.what.len() + 3);
        let line = terminal::progress(at, columns.min(COLUMNS));
        format!("{}  {line}", self.what)
    }
}

/// The line goes away with what it told of.
impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.is_some() {
            let _ = write!(std::io::stderr(), "\r\u{1b}[K");
        }
    }
}
