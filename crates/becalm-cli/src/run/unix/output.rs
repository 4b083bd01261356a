//! How does the output of a command pass through becalm, when becalm must see or keep it?
//!
//! So that the command notices as little of it as can be: where the user has a terminal it has one, too, and where
//! both streams of becalm's go to one place, they pass through one, in their order.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::sync::mpsc::Sender;

use super::copy::{Copy, Sink};
use super::inbox::Event;
use super::pipe;
use super::pseudo_terminal;
use super::spool::Spool;
use super::standard;
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

/// What a command writes, on its way to becalm's own streams.
#[derive(Debug)]
pub struct Stream {
    from: OwnedFd,
    to: Sink,
}

impl Handling {
    /// Prepares a command's streams. What does not pass through becalm is becalm's own.
    ///
    /// # Errors
    ///
    /// There are too many descriptors.
    pub fn prepare(&self, command: &mut Command) -> io::Result<Vec<Stream>> {
        let mut streams = Vec::new();
        let is_watched = !self.rules.is_empty();
        if is_watched && !self.hold && is_one_place(&io::stdout(), &io::stderr()) {
            let (from, to) = ends(&io::stdout())?;
            command.stdout(to.try_clone()?).stderr(to);
            let to = Sink::Stdout;
            return Ok(vec![Stream { from, to }]);
        }
        if self.hold {
            let (from, to) = pipe::pair()?;
            command.stdout(to);
            let to = Sink::Hold(Spool::default());
            streams.push(Stream { from, to });
        } else if is_watched {
            let (from, to) = ends(&io::stdout())?;
            command.stdout(to);
            let to = Sink::Stdout;
            streams.push(Stream { from, to });
        }
        if is_watched {
            let (from, to) = ends(&io::stderr())?;
            command.stderr(to);
            let to = Sink::Stderr;
            streams.push(Stream { from, to });
        }
        Ok(streams)
    }

    /// Starts to copy what a prepared command writes.
    ///
    /// # Errors
    ///
    /// The operating system refuses a pipe or a thread.
    pub fn copy(&self, streams: Vec<Stream>, inbox: &Sender<Event>) -> io::Result<Outputs> {
        let watch = || (!self.rules.is_empty()).then(|| self.rules.watch());
        let copies = streams.into_iter().map(|Stream { from, to }| {
            let from = File::from(from);
            Copy::start(from, to, watch(), inbox.clone())
        });
        let copies = copies.collect::<io::Result<_>>()?;
        Ok(Outputs { copies })
    }
}

/// becalm's end and the command's, of what stands in for this stream: a terminal, or a pipe.
fn ends(stream: &(impl AsFd + IsTerminal)) -> io::Result<(OwnedFd, OwnedFd)> {
    let like = stream.is_terminal();
    match like.then(|| pseudo_terminal::like(stream)).flatten() {
        Some(ends) => Ok(ends),
        None => pipe::pair(),
    }
}

/// Whether both streams end in one file, pipe or terminal: there their order is seen.
fn is_one_place(one: &impl AsFd, other: &impl AsFd) -> bool {
    let place = |stream: &dyn Fn() -> io::Result<File>| {
        let metadata = stream().and_then(|file| file.metadata()).ok()?;
        Some((metadata.dev(), metadata.ino()))
    };
    let one = place(&|| standard::file(one.as_fd()));
    one.is_some() && one == place(&|| standard::file(other.as_fd()))
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
