//! Where are bytes kept that may be few or very many? In memory, then in a file.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Above this many bytes a spool moves to a file: 4 MiB.
pub const SPILL: usize = 4 << 20;
/// So many bytes are written at once: a pipe takes a page when a page of it was read, and so a slow reader is seen to read.
const PART: usize = 4 << 10;

/// Bytes that were appended, to be read again from any place.
///
/// Beyond its limit everything moves to a file that has no name, so that it is gone when the
/// process is, however it ends.
#[derive(Debug)]
pub struct Spool {
    memory: Vec<u8>,
    file: Option<File>,
    length: u64,
    limit: usize,
}

impl Default for Spool {
    fn default() -> Self {
        Self::with_limit(SPILL)
    }
}

impl Spool {
    /// A spool that keeps this many bytes in memory.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            memory: Vec::new(),
            file: None,
            length: 0,
            limit,
        }
    }

    /// How many bytes it holds.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Puts bytes at the end.
    ///
    /// # Errors
    ///
    /// The file cannot be made or written; what the spool held stays readable.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.file.is_none() && self.memory.len() + bytes.len() > self.limit {
            let file = tempfile::tempfile()?;
            file.write_all_at(&self.memory, 0)?;
            self.memory = Vec::new();
            self.file = Some(file);
        }
        match &self.file {
            Some(file) => file.write_all_at(bytes, self.length)?,
            None => self.memory.extend_from_slice(bytes),
        }
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Reads bytes from a place on; 0 of them at the end.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn read_at(&self, place: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.length.saturating_sub(place);
        let count = buffer
            .len()
            .min(usize::try_from(left).unwrap_or(usize::MAX));
        if count == 0 {
            return Ok(0);
        }
        let buffer = &mut buffer[..count];
        if let Some(file) = &self.file {
            return file.read_at(buffer, place);
        }
        // In memory a place that has bytes behind it fits a usize.
        let start = usize::try_from(place).map_err(io::Error::other)?;
        buffer.copy_from_slice(&self.memory[start..start + count]);
        Ok(count)
    }

    /// Writes everything out, and counts the bytes that were taken.
    ///
    /// # Errors
    ///
    /// The writer refuses, or the file cannot be read.
    pub fn write_to(&self, out: &mut impl Write, taken: &AtomicU64) -> io::Result<()> {
        let mut buffer = vec![0; PART];
        let mut place = 0;
        loop {
            let count = self.read_at(place, &mut buffer)?;
            if count == 0 {
                return out.flush();
            }
            out.write_all(&buffer[..count])?;
            place += count as u64;
            taken.fetch_add(count as u64, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_appended_is_read_back_on_both_sides_of_the_limit() {
        for limit in [0, 1, 7, 1_000] {
            let mut spool = Spool::with_limit(limit);
            let mut expected = Vec::new();
            for length in [0_u8, 1, 3, 5, 200] {
                let bytes: Vec<u8> = (0..length).collect();
                spool.append(&bytes).unwrap();
                expected.extend_from_slice(&bytes);
            }
            assert_eq!(spool.len(), expected.len() as u64);
            assert_eq!(spool.file.is_some(), limit < expected.len());

            let mut all = Vec::new();
            let taken = AtomicU64::new(1);
            spool.write_to(&mut all, &taken).unwrap();
            assert_eq!(all, expected, "limit {limit}");
            assert_eq!(taken.into_inner(), 1 + spool.len());

            let mut some = [0; 4];
            assert_eq!(spool.read_at(6, &mut some).unwrap(), 4);
            assert_eq!(some, expected[6..10]);
            assert_eq!(spool.read_at(expected.len() as u64, &mut some).unwrap(), 0);
            assert_eq!(spool.read_at(u64::MAX, &mut some).unwrap(), 0);
        }
    }

    #[test]
    fn memory_is_bounded_by_the_limit() {
        let mut spool = Spool::with_limit(1_000);
        for _ in 0..1_000 {
            spool.append(&[1; 100]).unwrap();
            assert!(spool.memory.len() <= 1_000);
        }
        assert_eq!(spool.memory.capacity(), 0);
    }
}
