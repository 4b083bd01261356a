//! Where do the lines of a report go, if nobody may read them?
//!
//! The command does not wait for a reader, and does not die by a signal of a file that is full.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::OFlag;

use super::host::Host;
use super::standard;

/// The file of a report.
#[derive(Debug)]
pub struct ReportFile {
    to: To,
    /// What nobody has read so far.
    waiting: Vec<u8>,
}

#[derive(Debug)]
enum To {
    /// Standard output, whose reader gets every line, unless becalm is told to end.
    Stdout(File),
    File(File),
    /// A FIFO that has no reader yet.
    Fifo(PathBuf),
}

impl ReportFile {
    /// The file, which is made if there is none; standard output for `-`.
    ///
    /// # Errors
    ///
    /// It cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let to = if path == Path::new("-") {
            To::Stdout(standard::file(io::stdout())?)
        } else {
            open(path)?
        };
        let waiting = Vec::new();
        Ok(Self { to, waiting })
    }

    /// Writes a line, or keeps it for a reader that comes later.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn write(&mut self, line: Vec<u8>, host: &mut Host) -> io::Result<()> {
        if let To::Stdout(file) = &mut self.to {
            if standard::is_writable(file, standard::AT_ONCE) {
                return file.write_all(&line);
            }
            let mut file = file.try_clone()?;
            let written = host.stay_with(move || file.write_all(&line));
            return written.unwrap_or(Ok(()));
        }
        self.waiting.extend_from_slice(&line);
        if let To::Fifo(path) = &self.to {
            self.to = open(path)?;
        }
        let To::File(file) = &mut self.to else {
            return Ok(());
        };
        while !self.waiting.is_empty() {
            match file.write(&self.waiting) {
                Ok(count) => drop(self.waiting.drain(..count)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The last line has been written.
    ///
    /// # Errors
    ///
    /// There are lines that nobody has read.
    pub fn finish(&self) -> io::Result<()> {
        if self.waiting.is_empty() {
            Ok(())
        } else {
            Err(io::Error::other("nobody reads it"))
        }
    }
}

/// Opens the file without waiting for anybody.
fn open(path: &Path) -> io::Result<To> {
    let mut options = File::options();
    options.append(true).create(true);
    options.custom_flags((OFlag::O_NONBLOCK | OFlag::O_NOCTTY).bits());
    match options.open(path) {
        Err(error) if is_fifo_without_reader(path, &error) => Ok(To::Fifo(path.to_owned())),
        opened => opened.map(To::File),
    }
}

fn is_fifo_without_reader(path: &Path, error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::ENXIO as i32)
        && std::fs::metadata(path).is_ok_and(|file| file.file_type().is_fifo())
}
