//! What does a person see of the retries? Lines on standard error.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use becalm::observe::Would;
use becalm::support::Human;
use becalm::{Policy, StopReason};
use becalm_check::shown::printable;

use super::exit_code::Ending;
use super::output_rules::OutputMatch;
use crate::run::unix::standard;
use crate::run::unix::terminal::Unstopped;
use crate::usage::shown;

/// How often a countdown shows less.
const TICK: Duration = Duration::from_millis(100);
/// A wait shorter than this needs no countdown.
const WORTH_COUNTING: Duration = Duration::from_millis(500);

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Quiet,
    /// One line for each retry.
    Lines,
    /// One line, which counts down while becalm waits.
    Countdown,
}

/// The lines of one run.
#[derive(Debug, Clone)]
pub struct Progress {
    style: Style,
    attempts: u32,
    command: String,
    /// Whether the run is a step of GitHub Actions, whose page shows annotations.
    annotates: bool,
}

/// Why an attempt failed, in a few words.
#[derive(Debug, Clone, Copy)]
pub struct Cause {
    /// How it ended.
    pub ending: Ending,
    /// What a line of its output decided.
    pub matched: Option<OutputMatch>,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ending.fmt(f)?;
        match self.matched {
            Some(_) => f.write_str(", by its output"),
            None => Ok(()),
        }
    }
}

impl Progress {
    /// Progress of at most this many attempts of this command: a countdown where standard error is a terminal.
    pub fn new(is_quiet: bool, attempts: u32, command: &[OsString], is_inside: bool) -> Self {
        let style = match is_quiet {
            true => Style::Quiet,
            false if io::stderr().is_terminal() => Style::Countdown,
            false => Style::Lines,
        };
        let is_action = std::env::var_os("GITHUB_ACTIONS").is_some_and(|it| it == "true");
        Self {
            style,
            attempts,
            command: called(command),
            // Another becalm around this one may try again, and tells what came of it.
            annotates: is_action && !is_inside,
        }
    }

    /// An attempt has failed, and becalm waits.
    pub fn waiting(&self, attempt: u32, cause: Cause, delay: Duration) -> Waiting {
        let line = match self.attempts {
            Policy::UNLIMITED => format!("attempt {attempt} failed ({cause}); retry"),
            attempts => format!("attempt {attempt} of {attempts} failed ({cause}); retry"),
        };
        let waiting = Waiting {
            style: self.style,
            line,
            delay,
        };
        if self.style == Style::Lines {
            waiting.show_whole();
        }
        waiting
    }

    /// The budget is spent, and the next attempt waits for a token.
    pub fn no_token(&self) {
        if self.style != Style::Quiet {
            complain(
                "the retry budget is spent; the next attempt waits for a token, until the deadline",
            );
        }
    }

    /// The policy only observes, and enforcing would have done this.
    pub fn observed(&self, would: Would) {
        if self.style == Style::Quiet {
            return;
        }
        let what = match would {
            Would::Retry { delay } => format!("would have retried it in {}", rounded(delay)),
            Would::Stop(reason) => format!("would not have retried it, because {reason}"),
            Would::Refuse(reason) => format!("would not have run it, because {reason}"),
            Would::Cut { after } => format!("would have ended it after {}", rounded(after)),
            Would::Fail => "would have failed, though the command succeeded".to_owned(),
            _ => format!("would have done another thing ({})", would.as_str()),
        };
        complain(&format!("only observing; enforcing {what}"));
    }

    /// No further attempt is made, and why. Said in any case: a job in cron that fails must say it.
    pub fn gave_up(&self, reason: StopReason, why: &str, attempts: u32, cause: Cause) {
        let plural = if attempts == 1 { "" } else { "s" };
        let remedy = match reason {
            StopReason::BudgetExhausted => "; --budget sets how many retries it allows",
            _ => "",
        };
        let told =
            format!("gave up because {why}, after {attempts} attempt{plural} ({cause}){remedy}");
        complain(&format!("{told}: {}", self.command));
        if self.annotates {
            let line = format!("{}: {told}", self.command);
            show(format_args!(
                "::error title=becalm gave up::{}\n",
                annotation(&line)
            ));
        }
    }
}

/// The program and the plain words behind it. What follows may be a secret, and may be long.
fn called(command: &[OsString]) -> String {
    let is_plain = |word: &str| {
        let is_plain = |it: char| it.is_ascii_alphanumeric() || "._/:+-".contains(it);
        !word.starts_with('-') && word.len() < 60 && word.chars().all(is_plain)
    };
    let mut words = command.iter().map(|word| word.to_string_lossy());
    let mut called: Vec<_> = words.next().into_iter().collect();
    called.extend(words.take(3).take_while(|word| is_plain(word)));
    printable(&called.join(" ")).into_owned()
}

/// The text of a workflow command (GitHub's documentation of workflow commands; `toolkit`, `command.ts`).
fn annotation(text: &str) -> String {
    printable(text).replace('%', "%25")
}

/// The line about one wait.
#[derive(Debug)]
pub struct Waiting {
    style: Style,
    line: String,
    delay: Duration,
}

impl Waiting {
    /// Shows the time left; says after what time to show it again.
    pub fn tick(&self, left: Duration) -> Option<Duration> {
        if self.style != Style::Countdown || self.delay < WORTH_COUNTING {
            return None;
        }
        show(format_args!(
            "\r\x1b[Kbecalm: {} in {}",
            self.line,
            rounded(left)
        ));
        Some(TICK)
    }

    /// The wait is over: what stays on a terminal is what is shown elsewhere.
    pub fn finish(self) {
        if self.style == Style::Countdown {
            show(format_args!("\r\x1b[K"));
            self.show_whole();
        }
    }

    fn show_whole(&self) {
        complain(&format!("{} in {}", self.line, rounded(self.delay)));
    }
}

/// A line on standard error, quiet or not: something is wrong.
pub fn complain(text: &str) {
    show(format_args!("becalm: {}\n", shown(text)));
}

/// So long a reader of standard error is waited for that takes nothing.
const PATIENCE: u16 = 1_000;

/// Standard error may be closed, or its reader gone or stalled; that stops nothing.
fn show(text: fmt::Arguments<'_>) {
    static IS_STALLED: AtomicBool = AtomicBool::new(false);
    // From the background, where `stty tostop` is set, a write would begin again and again.
    let _unstopped = Unstopped::start();
    let patience = if IS_STALLED.load(Ordering::Relaxed) {
        standard::AT_ONCE
    } else {
        PATIENCE.into()
    };
    let is_taken = standard::is_writable(&io::stderr(), patience);
    IS_STALLED.store(!is_taken, Ordering::Relaxed);
    if is_taken {
        let _ = io::stderr().write_all(text.to_string().as_bytes());
    }
}

/// As exact as a reader wants it: tenths of a second from a second on, otherwise three digits.
fn rounded(duration: Duration) -> Human {
    let nanos = duration.as_nanos();
    let step: u128 = match nanos {
        60_000_000_000.. => 1_000_000_000,
        1_000_000_000.. => 100_000_000,
        1_000_000.. => 1_000_000,
        _ => 1_000,
    };
    let rounded = nanos.saturating_add(step / 2) / step * step;
    Human(Duration::from_nanos(
        u64::try_from(rounded).unwrap_or(u64::MAX),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_called_by_its_plain_words_and_no_secret_is_told() {
        for (words, expected) in [
            (&["npm", "ci", "--fetch-retries=0"][..], "npm ci"),
            (&["sh", "-c", "exit 7"], "sh"),
            (&["/usr/bin/env", "TOKEN=x", "sync"], "/usr/bin/env"),
            (&["curl", "https://me:pass@host/"], "curl"),
            (&["a b"], "a b"),
            (&[], ""),
        ] {
            let command: Vec<OsString> = words.iter().map(OsString::from).collect();
            assert_eq!(called(&command), expected);
        }
        assert_eq!(annotation("50 %\r\n"), "50 %25\\u{d}\\u{a}");
    }

    #[test]
    fn delays_are_shown_as_exactly_as_a_reader_wants() {
        for (nanos, shown) in [
            (0, "0s"),
            (300_499, "300us"),
            (183_472_119, "183ms"),
            (999_600_000, "1s"),
            (1_249_999_999, "1.2s"),
            (61_700_000_000, "62s"),
            (120_000_000_000, "2m"),
        ] {
            assert_eq!(rounded(Duration::from_nanos(nanos)).to_string(), shown);
        }
        let _no_panic = rounded(Duration::MAX).to_string();
    }
}
