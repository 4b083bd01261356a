//! What `becalm check` tells of files that are checked together.

use becalm_check::{Checked, File, Settings, check};

/// Of files by their names.
pub fn of(files: &[(&str, &str)]) -> Checked {
    let files: Vec<_> = files
        .iter()
        .map(|(name, text)| File::new(name, text))
        .collect();
    check(&files, &Settings::default())
}
