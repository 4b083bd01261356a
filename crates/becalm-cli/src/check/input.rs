//! Which files are checked?

use std::path::Path;

use becalm_check::File;
use becalm_check::document::LONGEST;

/// A file that was read.
#[derive(Debug)]
pub struct Input {
    name: String,
    text: String,
}

impl Input {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// A sentence that names the file.
    pub fn read(path: &Path) -> Result<Self, String> {
        use std::io::Read as _;

        let refused = |why: String| format!("cannot read {}: {why}", path.display());
        let file = std::fs::File::open(path).map_err(|error| refused(error.to_string()))?;
        let most = u64::try_from(LONGEST).unwrap_or(u64::MAX);
        let mut bytes = Vec::new();
        // One byte more than is read, so that a file that is too long is told from one that is not.
        let read = file.take(most.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| refused(error.to_string()))?;
        let text =
            String::from_utf8(bytes).map_err(|_| refused("it is no text in UTF-8".into()))?;
        let name = path.display().to_string();
        Ok(Self { name, text })
    }

    /// Its name as it was given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What stands in it.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn file(&self) -> File<'_> {
        File::new(&self.name, &self.text)
    }
}
