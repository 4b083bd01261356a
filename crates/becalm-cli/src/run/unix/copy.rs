//! How is one stream of output copied as it comes?
//!
//! By a thread of its own; memory is bounded whatever passes.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::inbox::Event;
use super::pipe;
use super::spool::Spool;
use super::terminal::Unstopped;
use crate::run::course::output_rules::LineWatch;
use crate::run::course::seen::{Fault, Seen};

/// More than a pipe holds (Linux grants at most 1 MiB without privileges, pipe(7)): so much may
/// have been on its way when the command ended.
const IN_FLIGHT: usize = 1 << 20;

/// Where a stream goes.
#[derive(Debug)]
pub enum Sink {
    /// On to becalm's own.
    Stdout,
    /// On to becalm's own.
    Stderr,
    /// Nowhere yet.
    Hold(Spool),
}

impl Sink {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let through = |out: &mut dyn Write| out.write_all(bytes).and_then(|()| out.flush());
        match self {
            Self::Stdout => through(&mut io::stdout()).map_err(Fault::Write),
            Self::Stderr => through(&mut io::stderr()).map_err(Fault::Write),
            Self::Hold(spool) => spool.append(bytes).map_err(Fault::Hold),
        }
    }
}

/// One stream, copied by a thread.
#[derive(Debug)]
pub struct Copy {
    thread: JoinHandle<Seen>,
    /// Dropping it tells the thread that the command has ended.
    closing: Option<OwnedFd>,
}

impl Copy {
    /// Starts to copy.
    ///
    /// # Errors
    ///
    /// The operating system refuses a pipe or a thread.
    pub fn start(
        pipe: impl Read + AsFd + Send + 'static,
        sink: Sink,
        watch: Option<LineWatch>,
        inbox: Sender<Event>,
    ) -> io::Result<Self> {
        let (closed, closing) = pipe::pair()?;
        let thread = thread::Builder::new()
            .name("output".to_owned())
            .spawn(move || {
                // The terminal's foreground is lent to the command, whatever it writes comes from here.
                let _unstopped = Unstopped::start();
                let look = |pipe: &_, look_only| wait_for(pipe, &closed, look_only);
                let seen = copy(pipe, look, sink, watch);
                // Nobody listens any more when becalm is about to end.
                let _ = inbox.send(Event::OutputEnded);
                seen
            })?;
        Ok(Self {
            thread,
            closing: Some(closing),
        })
    }

    /// The command has ended.
    pub fn close(&mut self) {
        self.closing = None;
    }

    /// What was learnt. Waits until all has been written.
    pub fn finish(self) -> Seen {
        // A thread that panicked learnt nothing; its message is on standard error.
        self.thread.join().unwrap_or_default()
    }
}

/// Copies until the end of the pipe, or until the command has ended and what was in the pipe has
/// come through. Dropping the pipe early tells the command that nobody reads. `look` is
/// [`wait_for`].
fn copy<P: Read>(
    mut pipe: P,
    mut look: impl FnMut(&P, bool) -> (bool, bool),
    mut sink: Sink,
    mut watch: Option<LineWatch>,
) -> Seen {
    let mut buffer = vec![0; 64 << 10];
    let mut left = None;
    let mut fault = None;
    while left != Some(0) {
        let is_over = left.is_some();
        let (has_bytes, is_closed) = look(&pipe, is_over);
        if is_closed {
            left.get_or_insert(IN_FLIGHT);
        }
        if !has_bytes {
            // What came between the look at the pipe and the end of the command is seen by another look.
            if is_over {
                break;
            }
            continue;
        }
        let most = buffer.len().min(left.unwrap_or(usize::MAX));
        let bytes = match pipe.read(&mut buffer[..most]) {
            Ok(0) => break,
            Ok(count) => &buffer[..count],
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        left = left.map(|left| left - bytes.len());
        if let Some(watch) = &mut watch {
            watch.push(bytes);
        }
        if let Err(error) = sink.write(bytes) {
            fault = Some(error);
            break;
        }
    }
    drop(pipe);
    let reader_is_gone = fault.as_ref().is_some_and(is_gone_reader);
    Seen {
        matched: watch.and_then(LineWatch::finish),
        held: match sink {
            Sink::Hold(spool) => Some(spool),
            Sink::Stdout | Sink::Stderr => None,
        },
        reader_is_gone,
        fault: fault.filter(|_| !reader_is_gone),
    }
}

fn is_gone_reader(fault: &Fault) -> bool {
    matches!(fault, Fault::Write(error) if error.kind() == ErrorKind::BrokenPipe)
}

/// Whether the pipe can be read without waiting (its end can, too), and whether the command has
/// ended.
fn wait_for(pipe: &impl AsFd, closed: &OwnedFd, look_only: bool) -> (bool, bool) {
    let mut both = [
        PollFd::new(pipe.as_fd(), PollFlags::POLLIN),
        PollFd::new(closed.as_fd(), PollFlags::POLLIN),
    ];
    let timeout = if look_only {
        PollTimeout::ZERO
    } else {
        PollTimeout::NONE
    };
    loop {
        return match poll(&mut both, timeout) {
            Ok(_) => {
                let happened = |at: &PollFd| at.any().unwrap_or(true);
                (happened(&both[0]), happened(&both[1]))
            }
            Err(Errno::EINTR) => continue,
            // Out of memory: reading waits by itself.
            Err(_) => (true, false),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::super::output::Outputs;
    use super::*;
    use std::fs::File;
    use std::sync::atomic::AtomicU64;
    use std::sync::mpsc::channel;

    fn held_copy(pipe: OwnedFd) -> (Copy, std::sync::mpsc::Receiver<Event>) {
        let (sender, events) = channel();
        let sink = Sink::Hold(Spool::default());
        (
            Copy::start(File::from(pipe), sink, None, sender).unwrap(),
            events,
        )
    }

    fn held(outputs: Outputs) -> Vec<u8> {
        let mut bytes = Vec::new();
        let held = outputs.finish().held.unwrap();
        held.write_to(&mut bytes, &AtomicU64::default()).unwrap();
        bytes
    }

    #[test]
    fn what_was_written_before_the_end_comes_through_though_the_pipe_stays_open() {
        let (reader, writer) = pipe::pair().unwrap();
        let mut writer = File::from(writer);
        let (copy, _events) = held_copy(reader);
        let bytes = vec![7; 60_000];
        writer.write_all(&bytes).unwrap();
        // `writer` stays open, as by a process that left the group.
        assert_eq!(held(Outputs::of(copy)), bytes);
        drop(writer);
    }

    /// The end may come between a look at the pipe and a look at who tells of it.
    #[test]
    fn what_was_written_in_the_last_moment_comes_through() {
        let (reader, writer) = pipe::pair().unwrap();
        let mut writer = File::from(writer);
        let mut looks = 0;
        let look = |pipe: &File, look_only: bool| {
            looks += 1;
            if looks == 1 {
                writer.write_all(b"last").unwrap();
                return (false, true);
            }
            assert!(look_only, "nothing more will be told");
            let mut of_pipe = [PollFd::new(pipe.as_fd(), PollFlags::POLLIN)];
            (poll(&mut of_pipe, PollTimeout::ZERO) == Ok(1), true)
        };
        let sink = Sink::Hold(Spool::default());
        let seen = copy(File::from(reader), look, sink, None);
        let mut bytes = Vec::new();
        seen.held
            .unwrap()
            .write_to(&mut bytes, &AtomicU64::default())
            .unwrap();
        assert_eq!(bytes, b"last");
        assert_eq!(looks, 3);
    }

    #[test]
    fn a_writer_that_never_ends_is_not_followed_for_ever() {
        let (reader, writer) = pipe::pair().unwrap();
        let (copy, events) = held_copy(reader);
        let endless = thread::spawn(move || {
            let mut writer = File::from(writer);
            while writer.write_all(&[7; 4_096]).is_ok() {}
        });
        let mut outputs = Outputs::of(copy);
        outputs.close();
        assert_eq!(events.recv(), Ok(Event::OutputEnded));
        held(outputs);
        endless.join().unwrap();
    }

    #[test]
    fn the_end_of_the_pipe_ends_the_copy_without_being_told() {
        let (reader, writer) = pipe::pair().unwrap();
        let (copy, events) = held_copy(reader);
        drop(writer);
        assert_eq!(events.recv(), Ok(Event::OutputEnded));
        assert_eq!(held(Outputs::of(copy)), b"");
    }
}
