//! How does each reading end, also where a name is not that of a file?
//!
//! A device may have no end, a named pipe may have no writer, and a terminal waits for a person to type.

use std::io::{self, IsTerminal, Read};
use std::path::Path;

/// Opens what has this name, and does not wait for ever; `-` is standard input. For a terminal the error says what to do
/// `instead`.
///
/// # Errors
///
/// What cannot be opened, a terminal, and a named pipe without a writer.
pub fn open(path: &Path, instead: &str) -> io::Result<Box<dyn Read>> {
    if path == Path::new("-") {
        return no_terminal(io::stdin().lock(), instead);
    }
    let mut begun = Vec::new();
    let file = system::open(path, &mut begun)?;
    let rest = no_terminal(file, instead)?;
    Ok(Box::new(io::Cursor::new(begun).chain(rest)))
}

/// As many bytes of it, and one more where there are more: what is too long is told from what is not.
///
/// # Errors
///
/// As [`open`], and what cannot be read.
pub fn at_most(path: &Path, most: usize, instead: &str) -> io::Result<Vec<u8>> {
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    let input = open(path, instead)?;
    input.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn no_terminal(
    input: impl Read + IsTerminal + 'static,
    instead: &str,
) -> io::Result<Box<dyn Read>> {
    if input.is_terminal() {
        return Err(io::Error::other(format!("it is a terminal; {instead}")));
    }
    Ok(Box::new(input))
}

#[cfg(not(unix))]
mod system {
    use std::fs::File;
    use std::io;
    use std::path::Path;

    pub fn open(path: &Path, _: &mut Vec<u8>) -> io::Result<File> {
        File::open(path)
    }
}

#[cfg(unix)]
mod system {
    use std::fs::{self, File, OpenOptions};
    use std::io::{self, ErrorKind, Read as _};
    use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
    use std::path::Path;
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    use nix::fcntl::{FcntlArg, OFlag, fcntl};

    /// How long a named pipe may be without a writer.
    const PATIENCE: Duration = Duration::from_secs(5);
    const LOOK: Duration = Duration::from_millis(20);

    /// Opens it without waiting for another program; what was read on the way comes into `bytes`.
    pub fn open(path: &Path, bytes: &mut Vec<u8>) -> io::Result<File> {
        let kind = fs::metadata(path)?.file_type();
        // A pipe of `<(helm template .)` has a writer already, and no name of its own.
        let is_named = kind.is_fifo() && fs::canonicalize(path).is_ok();
        if kind.is_file() || kind.is_fifo() && !is_named {
            return File::open(path);
        }
        let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(flags.bits())
            .open(path)?;
        if is_named {
            wait_for_writer(&file, bytes)?;
            fcntl(&file, FcntlArg::F_SETFL(OFlag::empty()))?;
        }
        Ok(file)
    }

    /// Waits for the first byte, or for a writer that has none yet.
    fn wait_for_writer(mut file: &File, bytes: &mut Vec<u8>) -> io::Result<()> {
        let begun = Instant::now();
        let mut first = [0];
        loop {
            match file.read(&mut first) {
                Ok(0) if begun.elapsed() < PATIENCE => sleep(LOOK),
                Ok(0) => {
                    let why = format!(
                        "no program has written to this pipe for {PATIENCE:?}; start the writer first"
                    );
                    return Err(io::Error::new(ErrorKind::TimedOut, why));
                }
                Ok(_) => {
                    bytes.extend(first);
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}
