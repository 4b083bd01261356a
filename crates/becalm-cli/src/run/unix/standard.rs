//! How does becalm use one of its standard streams as a file, past the standard library's buffers?

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

/// Another descriptor of the stream.
///
/// # Errors
///
/// The stream is closed, or there are too many descriptors.
pub fn file(stream: impl AsFd) -> io::Result<File> {
    stream.as_fd().try_clone_to_owned().map(File::from)
}
