//! Which files were given to be read? None of them is written over, and none is read twice.

#[cfg_attr(not(unix), path = "given/elsewhere.rs")]
#[cfg_attr(unix, path = "given/unix.rs")]
mod system;

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use system::{Identity, identity};

/// The files that a command reads.
#[derive(Debug, Default)]
pub struct Given(HashSet<Identity>);

impl Given {
    /// Adds a file, unless it is there already: whether it was added. "-" is standard input; one that is missing is refused by
    /// whoever opens it.
    pub fn add(&mut self, path: &Path) -> bool {
        let Some(file) = identity(path) else {
            return true;
        };
        self.0.insert(file)
    }

    /// Refuses to write into a file that is read. Nothing is written over in a terminal, a pipe or `/dev/null`.
    ///
    /// # Errors
    ///
    /// A sentence that names the file.
    pub fn spare(&self, path: &Path) -> Result<(), String> {
        let is_kept = path != Path::new("-") && fs::metadata(path).is_ok_and(|it| it.is_file());
        if is_kept && identity(path).is_some_and(|it| self.0.contains(&it)) {
            let path = path.display();
            return Err(format!(
                "{path} is read, and would be written over; name another file to write"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_is_one_by_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let [one, link, other] = ["one", "link", "other"].map(|it| folder.path().join(it));
        fs::write(&one, "").unwrap();
        fs::hard_link(&one, &link).unwrap();
        let mut given = Given::default();
        assert!(given.add(&one) && given.spare(&other).is_ok());
        assert!(!given.add(&link) && !given.add(&folder.path().join(".").join("one")));
        assert!(given.spare(&link).unwrap_err().contains("is read"));
        assert!(
            given.add(&other) && given.add(&other.join("x")),
            "what is missing is nobody's"
        );
        assert!(given.add(Path::new("-")) && !given.add(Path::new("-")));
    }

    #[test]
    fn what_keeps_nothing_is_not_written_over() {
        let null = Path::new("/dev/null");
        let mut given = Given::default();
        assert!(given.add(null) && given.spare(null).is_ok());
    }
}
