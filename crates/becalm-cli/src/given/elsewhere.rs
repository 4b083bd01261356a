//! What is a file, whatever it is called? Its whole name: a hard link to it is taken for another file.

use std::fs;
use std::path::{Path, PathBuf};

/// The name without links and detours.
pub type Identity = PathBuf;

/// The identity of this file, or of standard input for "-".
pub fn identity(path: &Path) -> Option<Identity> {
    if path == Path::new("-") {
        Some(path.to_owned())
    } else {
        fs::canonicalize(path).ok()
    }
}
