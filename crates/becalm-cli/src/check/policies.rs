//! Which files do the policies become?

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use becalm_check::Mapping;
use becalm_check::shown::{policy_file, printable};

use crate::given::Given;
use crate::stream::Stream;

/// The policies with their files, none of which is written yet.
pub struct Policies {
    directory: PathBuf,
    files: Vec<(PathBuf, String)>,
}

impl Policies {
    /// One for each mapping that a file can hold, by the name of the file that it comes from and its number in there.
    ///
    /// # Errors
    ///
    /// A sentence where one of them would take the place of a file that was read.
    pub fn of(mappings: &[Mapping], given: &Given, directory: &Path) -> Result<Self, String> {
        let mut numbers = HashMap::new();
        let mut taken = HashSet::new();
        let mut files = Vec::new();
        for mapping in mappings {
            let Some(text) = policy_file(mapping) else {
                continue;
            };
            let stem = stem(&mapping.file);
            let number: &mut u32 = numbers.entry(stem.clone()).or_default();
            let name = loop {
                *number += 1;
                let name = match *number {
                    1 => format!("{stem}.toml"),
                    number => format!("{stem}-{number}.toml"),
                };
                if taken.insert(name.clone()) {
                    break name;
                }
            };
            let path = directory.join(name);
            if given.spare(&path).is_err() {
                return Err(format!(
                    "--out: a policy would take the place of {}, which is checked; name another directory",
                    shown(&path)
                ));
            }
            files.push((path, text));
        }
        Ok(Self {
            directory: directory.to_owned(),
            files,
        })
    }

    /// Writes them.
    ///
    /// # Errors
    ///
    /// A sentence that names the directory.
    pub fn write(self, stream: Stream) -> Result<(), String> {
        let refused = |error: std::io::Error| {
            let directory = shown(&self.directory);
            format!("cannot write into {directory}: {error}; name another directory")
        };
        fs::create_dir_all(&self.directory).map_err(refused)?;
        for (path, text) in &self.files {
            fs::write(path, text).map_err(refused)?;
            stream.write(&format!("policy: {}\n", shown(path)));
        }
        Ok(())
    }
}

fn shown(path: &Path) -> String {
    printable(&path.display().to_string()).into_owned()
}

/// The file's own name without its end, of letters that any system and any terminal takes.
fn stem(file: &str) -> String {
    let stem = Path::new(file).file_stem().and_then(|it| it.to_str());
    let is_plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    let letters = stem.unwrap_or("policy").chars();
    letters.map(|c| if is_plain(c) { c } else { '-' }).collect()
}
