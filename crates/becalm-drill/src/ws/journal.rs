//! What outlives a server that is killed? The numbers that it has applied, in a file, as a real one keeps them in its database.
//!
//! A kill ends a process, not the system: what was written stands. For each client there are the last number
//! and how many were applied; the two differ as soon as one is applied twice.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The numbers of all clients.
#[derive(Debug)]
pub struct Journal {
    file: File,
}

/// What was applied for one client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Entry {
    pub last: u64,
    pub applied: u64,
}

const LENGTH: usize = 16;

impl Journal {
    /// Opens the file, which holds zeros or what an earlier server has left.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        Ok(Self { file })
    }

    pub fn read(&self, client: u32) -> io::Result<Entry> {
        let mut bytes = [0; LENGTH];
        self.file.read_exact_at(&mut bytes, place(client))?;
        let number = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).unwrap_or_default();
        Ok(Entry {
            last: number(&bytes[..8]),
            applied: number(&bytes[8..]),
        })
    }

    pub fn write(&self, client: u32, entry: Entry) -> io::Result<()> {
        let bytes = [entry.last.to_le_bytes(), entry.applied.to_le_bytes()].concat();
        self.file.write_all_at(&bytes, place(client))
    }
}

/// How long the file of so many clients is.
pub fn length(clients: u32) -> u64 {
    place(clients)
}

fn place(client: u32) -> u64 {
    u64::from(client) * LENGTH as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_process_reads_what_one_has_written() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(length(3)).unwrap();
        let entry = Entry {
            last: 9,
            applied: 8,
        };
        Journal::open(file.path()).unwrap().write(1, entry).unwrap();
        let again = Journal::open(file.path()).unwrap();
        let read = [0, 1, 2].map(|client| again.read(client).unwrap());
        assert_eq!(read, [Entry::default(), entry, Entry::default()]);
        assert!(again.read(3).is_err());
    }
}
