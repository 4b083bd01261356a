//! What does the command itself say about the next attempt?
//!
//! It may write a `Retry-After` value into the file that `BECALM_HINT_FILE` names.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, SystemTime};

use becalm::hint::retry_after;
use tempfile::TempPath;

/// More than any `Retry-After` value takes; the rest of a longer file is not read.
const LONGEST: u64 = 256;

/// The file by which a command gives a hint. Gone with the value.
#[derive(Debug)]
pub struct HintFile(TempPath);

impl HintFile {
    /// A new file that only this user can read.
    ///
    /// # Errors
    ///
    /// There is no place for temporary files.
    pub fn new() -> io::Result<Self> {
        let file = tempfile::Builder::new().prefix("becalm-hint-").tempfile()?;
        Ok(Self(file.into_temp_path()))
    }

    /// What `BECALM_HINT_FILE` is set to.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Empties the file, so that no attempt speaks for an earlier one.
    pub fn clear(&self) {
        // A command may have put another file in its place, or taken it away.
        let _ = File::create(&self.0);
    }

    /// How long the command wants to be left alone. Whatever is no `Retry-After` value (RFC 9110
    /// section 10.2.3) is no hint.
    pub fn read(&self) -> Option<Duration> {
        let mut text = String::new();
        File::open(&self.0)
            .ok()?
            .take(LONGEST)
            .read_to_string(&mut text)
            .ok()?;
        retry_after(text.trim(), SystemTime::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_value_is_read_and_garbage_is_not() {
        let file = HintFile::new().unwrap();
        assert_eq!(file.read(), None);
        for (text, hint) in [
            ("3\n", Some(Duration::from_secs(3))),
            ("  120  ", Some(Duration::from_secs(120))),
            ("Sun, 06 Nov 1994 08:49:37 GMT\n", Some(Duration::ZERO)),
            ("99999999999999999999999", Some(Duration::MAX)),
            ("soon", None),
            ("-3", None),
            ("", None),
        ] {
            fs::write(file.path(), text).unwrap();
            assert_eq!(file.read(), hint, "{text:?}");
        }
        fs::write(file.path(), b"\xff\xfe").unwrap();
        assert_eq!(file.read(), None);
        fs::write(file.path(), " ".repeat(1 << 20)).unwrap();
        assert_eq!(file.read(), None);
    }

    #[test]
    fn no_attempt_speaks_for_an_earlier_one_and_nothing_is_left() {
        let file = HintFile::new().unwrap();
        fs::write(file.path(), "3").unwrap();
        file.clear();
        assert_eq!(file.read(), None);
        fs::remove_file(file.path()).unwrap();
        file.clear();
        assert_eq!(file.read(), None);
        let path = file.path().to_owned();
        drop(file);
        assert!(!path.exists());
    }
}
