//! What is a file, whatever it is called? Its device and inode: two links to one file are one.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Device and inode.
pub type Identity = (u64, u64);

/// The identity of this file, or of standard input for "-".
pub fn identity(path: &Path) -> Option<Identity> {
    let metadata = if path == Path::new("-") {
        let input = io::stdin().as_fd().try_clone_to_owned().ok()?;
        File::from(input).metadata()
    } else {
        fs::metadata(path)
    };
    metadata.ok().map(|it| (it.dev(), it.ino()))
}
