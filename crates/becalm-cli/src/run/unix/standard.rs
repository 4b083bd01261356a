//! How does becalm use one of its standard streams as a file, past the standard library's buffers?

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// No time at all.
pub const AT_ONCE: PollTimeout = PollTimeout::ZERO;

/// Another descriptor of the stream.
///
/// # Errors
///
/// The stream is closed, or there are too many descriptors.
pub fn file(stream: impl AsFd) -> io::Result<File> {
    stream.as_fd().try_clone_to_owned().map(File::from)
}

/// Whether a line can be written without waiting for a reader, within this time; or fails without waiting.
pub fn is_writable(stream: &impl AsFd, within: PollTimeout) -> bool {
    let mut poll_fd = [PollFd::new(stream.as_fd(), PollFlags::POLLOUT)];
    loop {
        return match poll(&mut poll_fd, within) {
            Ok(ready) => ready > 0,
            Err(Errno::EINTR) => continue,
            Err(_) => true,
        };
    }
}
