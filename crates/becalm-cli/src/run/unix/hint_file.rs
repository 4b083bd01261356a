//! What does the command itself say about the next attempt?
//!
//! It may write into the file that `BECALM_HINT_FILE` names.

use std::fmt;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use becalm::duration;
use becalm::hint::retry_after;
use nix::fcntl::{Flock, FlockArg};
use nix::unistd::geteuid;
use tempfile::TempPath;

use super::WITHOUT_WAITING;
use crate::run::above::STOP;

/// More than any hint takes; the rest of a longer file is not read.
const LONGEST: u64 = 256;
/// So many files of others are looked at for what a killed becalm has left.
const LOOKED_AT: usize = 32;
const FIELD: &str = "retry-after:";

/// The file by which one attempt gives a hint. Gone with the value; where becalm is killed, by its guard, or when
/// the next one starts, which finds it without a lock.
#[derive(Debug)]
pub struct HintFile {
    path: TempPath,
    _lock: Flock<File>,
}

/// What a command says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// It wrote no hint.
    Nothing,
    /// It wants to be left alone for so long.
    Wait(Duration),
    /// It wants no other attempt.
    Stop,
}

/// What a command wrote that is no hint.
#[derive(Debug, PartialEq, Eq)]
pub struct NoHint(String);

impl fmt::Display for NoHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is no hint; write seconds, a duration such as 1m30s, or an HTTP date",
            self.0
        )
    }
}

impl HintFile {
    /// A new file that only this user can read.
    ///
    /// # Errors
    ///
    /// There is no place for temporary files.
    pub fn new() -> io::Result<Self> {
        Self::new_in(&folder()?)
    }

    fn new_in(folder: &Path) -> io::Result<Self> {
        remove_what_was_left(folder);
        let mut tries = 0;
        loop {
            let file = tempfile::Builder::new()
                .prefix("hint-")
                .tempfile_in(folder)?;
            let (file, path) = file.into_parts();
            // Another becalm may have taken it for a left one, before it was locked.
            match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(lock) if lock.metadata()?.nlink() > 0 => return Ok(Self { path, _lock: lock }),
                Err((_, error)) if tries > LOOKED_AT => return Err(error.into()),
                _ => tries += 1,
            }
        }
    }

    /// What `BECALM_HINT_FILE` is set to.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the command wrote.
    ///
    /// # Errors
    ///
    /// What it wrote is no hint.
    pub fn read(&self) -> Result<Said, NoHint> {
        let mut bytes = Vec::new();
        let read = open(&self.path).and_then(|file| file.take(LONGEST).read_to_end(&mut bytes));
        let text = String::from_utf8_lossy(&bytes);
        match text.trim() {
            "" => Ok(Said::Nothing),
            _ if read.is_err() => Ok(Said::Nothing),
            STOP => Ok(Said::Stop),
            text => hint(text)
                .map(Said::Wait)
                .ok_or_else(|| NoHint(text.to_owned())),
        }
    }
}

/// A `Retry-After` value (RFC 9110 section 10.2.3), alone or with the field's name as a server sends
/// it; a duration as in flags; seconds with a fraction.
fn hint(text: &str) -> Option<Duration> {
    let value = match text.get(..FIELD.len()) {
        Some(name) if name.eq_ignore_ascii_case(FIELD) => text[FIELD.len()..].trim_start(),
        _ => text,
    };
    retry_after(value, SystemTime::now())
        .or_else(|| duration::parse(value).ok())
        .or_else(|| duration::parse(&format!("{value}s")).ok())
}

/// A folder of this user's among the temporary files; those themselves, if another user is there.
fn folder() -> io::Result<PathBuf> {
    let temporary = std::env::temp_dir();
    let own = temporary.join(format!("becalm-{}", geteuid()));
    match DirBuilder::new().mode(0o700).create(&own) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let is_own = fs::symlink_metadata(&own)
        .is_ok_and(|found| found.is_dir() && found.uid() == geteuid().as_raw());
    Ok(if is_own { own } else { temporary })
}

/// The command, or another user, may have put anything in its place.
fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).custom_flags(WITHOUT_WAITING).open(path)
}

/// A becalm that lives holds the lock of its file.
fn remove_what_was_left(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    let hints = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with("hint-"))
    };
    let paths = entries.flatten().map(|entry| entry.path());
    for path in paths.filter(hints).take(LOOKED_AT) {
        let locked = open(&path).map(|file| Flock::lock(file, FlockArg::LockExclusiveNonblock));
        if let Ok(Ok(_lock)) = locked {
            let _ = fs::remove_file(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_and_garbage_is_told() {
        let file = HintFile::new().unwrap();
        assert_eq!(file.read(), Ok(Said::Nothing));
        let is = |nanos| Ok(Said::Wait(Duration::from_nanos(nanos)));
        let told = |text: &str| Err(NoHint(text.to_owned()));
        for (text, hint) in [
            ("3\n", is(3_000_000_000)),
            ("  120  ", is(120_000_000_000)),
            ("1s", is(1_000_000_000)),
            ("0.5", is(500_000_000)),
            ("1m30s", is(90_000_000_000)),
            ("Retry-After: 1\r\n", is(1_000_000_000)),
            ("retry-after:Sun, 06 Nov 1994 08:49:37 GMT", is(0)),
            ("Sun, 06 Nov 1994 08:49:37 GMT\n", is(0)),
            ("99999999999999999999999", Ok(Said::Wait(Duration::MAX))),
            ("soon", told("soon")),
            ("-3", told("-3")),
            ("3 4", told("3 4")),
            ("Retry-After:", told("Retry-After:")),
            ("stop\n", Ok(Said::Stop)),
            ("", Ok(Said::Nothing)),
        ] {
            fs::write(file.path(), text).unwrap();
            assert_eq!(file.read(), hint, "{text:?}");
        }
        fs::write(file.path(), b"\xff\xfe").unwrap();
        assert!(file.read().is_err());
        fs::write(file.path(), " ".repeat(1 << 20)).unwrap();
        assert_eq!(file.read(), Ok(Said::Nothing));
    }

    #[test]
    fn what_stands_in_its_place_is_not_waited_for_and_nothing_is_left() {
        let file = HintFile::new().unwrap();
        let path = file.path().to_owned();
        fs::remove_file(&path).unwrap();
        assert_eq!(file.read(), Ok(Said::Nothing));
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(file.read(), Ok(Said::Nothing));
        drop(file);
        assert!(!path.exists());
    }

    #[test]
    fn what_a_killed_one_left_goes_and_what_a_living_one_needs_stays() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("hint-left"), "").unwrap();
        fs::write(folder.path().join("notes"), "").unwrap();
        let living = HintFile::new_in(folder.path()).unwrap();
        let other = HintFile::new_in(folder.path()).unwrap();
        assert!(living.path().exists() && other.path().exists());
        assert!(folder.path().join("notes").exists());
        assert!(!folder.path().join("hint-left").exists());
    }
}
