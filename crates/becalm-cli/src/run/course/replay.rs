//! How does every attempt read all of becalm's standard input?

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::process::ChildStdin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::run::unix::spool::Spool;
use crate::run::unix::standard;

/// becalm's standard input, recorded as the attempts read it.
#[derive(Debug)]
pub struct Replay {
    source: Mutex<File>,
    record: Mutex<Record>,
}

#[derive(Debug, Default)]
struct Record {
    spool: Spool,
    /// The source has ended: the record is all of it.
    is_complete: bool,
    /// Some of the source could not be recorded: no later attempt can have it.
    fault: Option<io::Error>,
}

/// A thread that feeds one attempt. Dropping it ends the feeding.
#[derive(Debug)]
pub struct Feed {
    is_over: Arc<AtomicBool>,
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

impl Replay {
    /// A recorder of becalm's standard input.
    ///
    /// # Errors
    ///
    /// Standard input is closed.
    pub fn of_stdin() -> io::Result<Arc<Self>> {
        let source = standard::file(io::stdin())?;
        Ok(Self::of(source, Spool::default()))
    }

    fn of(source: File, spool: Spool) -> Arc<Self> {
        let record = Record {
            spool,
            ..Record::default()
        };
        Arc::new(Self {
            source: Mutex::new(source),
            record: Mutex::new(record),
        })
    }

    /// Feeds an attempt: first what was recorded, then the source as it comes.
    ///
    /// # Errors
    ///
    /// The operating system refuses a thread.
    pub fn feed(self: &Arc<Self>, pipe: ChildStdin) -> io::Result<Feed> {
        let feed = Feed {
            is_over: Arc::new(AtomicBool::new(false)),
        };
        let (replay, is_over) = (Arc::clone(self), Arc::clone(&feed.is_over));
        thread::Builder::new()
            .name("stdin".to_owned())
            .spawn(move || replay.write_to(pipe, &is_over))?;
        Ok(feed)
    }

    /// Why no further attempt can have the whole input, if so.
    pub fn take_fault(&self) -> Option<io::Error> {
        lock(&self.record).fault.take()
    }

    fn write_to(&self, mut pipe: impl Write, is_over: &AtomicBool) {
        let mut buffer = vec![0; 64 << 10];
        let mut place = 0;
        while !is_over.load(Ordering::Relaxed) {
            let count = match self.read_at(place, &mut buffer, is_over) {
                Ok(0) | Err(_) => return,
                Ok(count) => count,
            };
            place += count as u64;
            // A command need not read its input.
            if pipe.write_all(&buffer[..count]).is_err() {
                return;
            }
        }
    }

    /// The bytes from a place on: recorded ones, or new ones; 0 of them at the end.
    fn read_at(&self, place: u64, buffer: &mut [u8], is_over: &AtomicBool) -> io::Result<usize> {
        if let Some(count) = self.recorded(place, buffer)? {
            return Ok(count);
        }
        // The feed of an earlier attempt may be reading still; what it gets is recorded.
        let mut source = lock(&self.source);
        if let Some(count) = self.recorded(place, buffer)? {
            return Ok(count);
        }
        if is_over.load(Ordering::Relaxed) {
            return Ok(0);
        }
        let read = loop {
            match source.read(buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        let mut record = lock(&self.record);
        match read {
            Ok(0) | Err(_) => record.is_complete = true,
            Ok(count) if record.fault.is_none() => {
                record.fault = record.spool.append(&buffer[..count]).err();
            }
            Ok(_) => {}
        }
        read
    }

    /// Recorded bytes; 0 of them at the end of a complete record; `None` if the source knows more.
    fn recorded(&self, place: u64, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let record = lock(&self.record);
        if place < record.spool.len() || record.is_complete {
            record.spool.read_at(place, buffer).map(Some)
        } else {
            Ok(None)
        }
    }
}

/// Both values are whole between any two statements, so a panic elsewhere spoils nothing.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Seek;

    fn source(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        file
    }

    /// Takes some bytes, then is gone, like a command that fails half-way.
    struct Reader {
        bytes: Vec<u8>,
        most: usize,
    }

    impl Write for Reader {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.bytes.len() >= self.most {
                return Err(ErrorKind::BrokenPipe.into());
            }
            let count = bytes.len().min(self.most - self.bytes.len());
            self.bytes.extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn every_attempt_reads_all_of_it_in_memory_and_spilt() {
        let all: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
        for limit in [0, 1_000, usize::MAX] {
            let replay = Replay::of(source(&all), Spool::with_limit(limit));
            for most in [0, 10, 70_000, usize::MAX, 100, usize::MAX] {
                let mut reader = Reader {
                    bytes: Vec::new(),
                    most,
                };
                replay.write_to(&mut reader, &AtomicBool::new(false));
                let expected = &all[..all.len().min(most)];
                assert!(reader.bytes == expected, "limit {limit}, most {most}");
            }
            assert!(replay.take_fault().is_none());
        }
    }

    #[test]
    fn a_feed_that_is_over_reads_no_further() {
        let replay = Replay::of(source(b"abc"), Spool::default());
        let mut reader = Reader {
            bytes: Vec::new(),
            most: usize::MAX,
        };
        replay.write_to(&mut reader, &AtomicBool::new(true));
        assert_eq!(reader.bytes, b"");
        replay.write_to(&mut reader, &AtomicBool::new(false));
        assert_eq!(reader.bytes, b"abc");
    }
}
