//! How is a log opened, or a file that was saved, without waiting for ever?

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use becalm_fit::log::STANDARD_INPUT;

use crate::opened;
use crate::usage::shown;

/// An input that was opened.
pub struct Input {
    pub name: String,
    pub text: Box<dyn Read>,
    /// Its bytes, as far as that is known before.
    pub length: u64,
}

/// Opens what this path names; "-" is standard input.
///
/// # Errors
///
/// A sentence that names the path and says what to do.
pub fn open(path: &Path) -> Result<Input, String> {
    let is_standard = path == Path::new("-");
    let name = if is_standard {
        STANDARD_INPUT.into()
    } else {
        shown(&path.display().to_string())
    };
    let unreadable = |error: io::Error| format!("cannot read {name}: {error}");
    let mut length = 0;
    if !is_standard {
        let metadata = fs::metadata(path).map_err(unreadable)?;
        if metadata.is_dir() {
            return Err(format!("{name} is a directory; name the logs in it"));
        }
        length = metadata.len();
    }
    let instead =
        "name the file of a log, or let a command write it: zcat access.log.gz | becalm fit -";
    let text = opened::open(path, instead).map_err(unreadable)?;
    Ok(Input { name, text, length })
}
