//! What comes through a FIFO, if anybody writes to it?

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::Opened;

/// Milliseconds for who writes to come: both may have been started at once.
const PATIENCE: u16 = 5_000;

/// Opens a FIFO; `None`: nobody has opened it to write.
pub fn open(path: &Path) -> Opened {
    let mut options = File::options();
    // Without that flag it waits for a writer, for ever.
    options.read(true).custom_flags(OFlag::O_NONBLOCK.bits());
    let mut file = options.open(path)?;
    let mut events = [PollFd::new(file.as_fd(), PollFlags::POLLIN)];
    let has_come = poll(&mut events, PollTimeout::from(PATIENCE))? > 0;
    let mut first = Vec::new();
    if !has_come {
        let mut byte = [0];
        match file.read(&mut byte) {
            Ok(0) => return Ok(None),
            Ok(read) => first.extend_from_slice(&byte[..read]),
            // Somebody has it open, and thinks.
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    fcntl(&file, FcntlArg::F_SETFL(OFlag::empty()))?;
    Ok(Some(Box::new(std::io::Cursor::new(first).chain(file))))
}
