//! How does the output of a command pass through becalm, when becalm must see or keep it?

use std::io;
use std::process::{Command, Stdio};
use std::sync::mpsc::Sender;

use super::copy::{Copy, Sink};
use super::group::Streams;
use super::inbox::Event;
use super::spool::Spool;
use crate::run::course::output_rules::OutputRules;
use crate::run::course::seen::Seen;

/// What becalm does with the output of its attempts.
#[derive(Debug, Clone)]
pub struct Handling {
    /// Which lines decide about a retry.
    pub rules: OutputRules,
    /// Whether standard output is kept until the attempt that counts is known.
    pub hold: bool,
}

impl Handling {
    /// Whether standard output, and standard error, must pass through becalm. Otherwise the command
    /// writes to becalm's own.
    fn piped(&self) -> (bool, bool) {
        (self.hold || !self.rules.is_empty(), !self.rules.is_empty())
    }

    /// Prepares a command's streams.
    pub fn prepare(&self, command: &mut Command) {
        let stdio = |piped| {
            if piped {
                Stdio::piped()
            } else {
                Stdio::inherit()
            }
        };
        let (stdout, stderr) = self.piped();
        command.stdout(stdio(stdout)).stderr(stdio(stderr));
    }

    /// Starts to copy what a prepared command writes.
    ///
    /// # Errors
    ///
    /// The operating system refuses a pipe or a thread.
    pub fn copy(&self, streams: Streams, inbox: &Sender<Event>) -> io::Result<Outputs> {
        let watch = || (!self.rules.is_empty()).then(|| self.rules.watch());
        let mut copies = Vec::new();
        if let Some(stdout) = streams.stdout {
            let sink = if self.hold {
                Sink::Hold(Spool::default())
            } else {
                Sink::Stdout
            };
            copies.push(Copy::start(stdout, sink, watch(), inbox.clone())?);
        }
        if let Some(stderr) = streams.stderr {
            copies.push(Copy::start(stderr, Sink::Stderr, watch(), inbox.clone())?);
        }
        Ok(Outputs { copies })
    }
}

/// The streams of one attempt, while they are copied.
#[derive(Debug, Default)]
pub struct Outputs {
    copies: Vec<Copy>,
}

impl Outputs {
    /// A single stream.
    #[cfg(test)]
    pub fn of(copy: Copy) -> Self {
        Self { copies: vec![copy] }
    }

    /// How many streams are copied: as many [`Event::OutputEnded`] come.
    pub fn count(&self) -> usize {
        self.copies.len()
    }

    /// The command has ended: what it wrote is still copied, what a process that left its group
    /// will write is not.
    pub fn close(&mut self) {
        for copy in &mut self.copies {
            copy.close();
        }
    }

    /// What was learnt. Waits until all has been written.
    pub fn finish(mut self) -> Seen {
        self.close();
        let mut seen = Seen::default();
        for copy in self.copies {
            let part = copy.finish();
            seen.matched = seen.matched.max(part.matched);
            seen.held = seen.held.or(part.held);
            seen.reader_is_gone |= part.reader_is_gone;
            seen.fault = seen.fault.or(part.fault);
        }
        seen
    }
}
