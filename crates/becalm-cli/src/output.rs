//! Where do the report files go? Found out before the work, so that none is done in vain.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file that is known to be writable, and is written once.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    /// This process made the file, and has not written it yet.
    created: bool,
}

impl Output {
    /// Opens the file without touching what is in it.
    ///
    /// # Errors
    ///
    /// A sentence that names the file.
    pub fn open(path: &Path) -> Result<Self, String> {
        let created = match File::create_new(path) {
            Ok(_) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let opened = OpenOptions::new().append(true).open(path);
                opened.map_err(|error| refusal(path, &error))?;
                false
            }
            Err(error) => return Err(refusal(path, &error)),
        };
        Ok(Self {
            path: path.into(),
            created,
        })
    }

    /// Replaces what is in the file.
    ///
    /// # Errors
    ///
    /// A sentence that names the file.
    pub fn write(mut self, text: &str) -> Result<PathBuf, String> {
        let written = File::create(&self.path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| refusal(&self.path, &error))?;
        self.created = false;
        Ok(std::mem::take(&mut self.path))
    }
}

/// Work that does not come to its end leaves no empty file.
impl Drop for Output {
    fn drop(&mut self) {
        if self.created {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn refusal(path: &Path, error: &io::Error) -> String {
    format!(
        "cannot write {}: {error}; name another file",
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_when_written_and_left_alone_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.html");

        drop(Output::open(&path).unwrap());
        assert!(!path.exists(), "nothing is left of work that did not end");

        fs::write(&path, "an older and longer report").unwrap();
        let output = Output::open(&path).unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "an older and longer report"
        );
        output.write("new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");

        drop(Output::open(&path).unwrap());
        assert!(path.exists(), "a file that was there stays");
    }

    #[test]
    fn what_cannot_be_written_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("missing").join("report.html");
        assert!(Output::open(&path).unwrap_err().contains("missing"));
        assert!(Output::open(folder.path()).is_err());
    }
}
