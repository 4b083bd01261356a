//! How is what is read opened, so that nobody waits for what never comes?

#[cfg(unix)]
mod fifo;

use std::fs::{self, File};
use std::io::{self, IsTerminal as _, Read};
use std::path::Path;

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
    if path == Path::new("-") {
        let input = io::stdin();
        if input.is_terminal() {
            return Err("standard input is a terminal; name the log, or let a command write it: zcat access.log.gz | becalm fit -".into());
        }
        return Ok(Input {
            name: "standard input".into(),
            text: Box::new(input.lock()),
            length: 0,
        });
    }
    let name = shown(&path.display().to_string());
    let unreadable = |error: io::Error| format!("cannot read {name}: {error}");
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(format!("{name} is a directory; name the logs in it"));
    }
    let text: Box<dyn Read> = if let Some(opened) = fifo(path, &metadata) {
        opened.map_err(unreadable)?.ok_or_else(|| {
            format!("{name} is a FIFO that nobody writes to; start first what writes into it")
        })?
    } else {
        let file = File::open(path).map_err(unreadable)?;
        if file.is_terminal() {
            return Err(format!("{name} is a terminal; name the file of a log"));
        }
        Box::new(file)
    };
    let length = metadata.len();
    Ok(Input { name, text, length })
}

type Opened = io::Result<Option<Box<dyn Read>>>;

/// What comes through this FIFO, if it is one.
#[cfg(unix)]
fn fifo(path: &Path, metadata: &fs::Metadata) -> Option<Opened> {
    use std::os::unix::fs::FileTypeExt as _;

    metadata.file_type().is_fifo().then(|| fifo::open(path))
}

#[cfg(not(unix))]
fn fifo(_: &Path, _: &fs::Metadata) -> Option<Opened> {
    None
}
