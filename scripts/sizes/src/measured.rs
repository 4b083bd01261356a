//! What is measured of a crate?

use crate::arrows::{Arrows, arrows};
use crate::circles::circles;
use crate::functions::{Function, functions};
use crate::lines::lines_of_code;
use crate::public::{Public, public};
use crate::sources::{FileId, Sources};
use quote::ToTokens;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// A crate's figures.
pub struct Measured {
    /// The folder of the crate, which has its name.
    pub name: String,
    /// The paths of its files below `src`.
    pub files: Vec<PathBuf>,
    /// Its lines of code.
    pub lines: usize,
    /// Which of its files names what of which.
    pub arrows: Arrows,
    /// The circles among its files.
    pub circles: Vec<BTreeSet<FileId>>,
    /// What its users reach.
    pub public: Public,
    /// Its functions, the longest first, each with its file.
    pub functions: Vec<(Function, FileId)>,
}

impl Measured {
    /// Measures the crate in `folder`.
    pub fn of(folder: &Path) -> io::Result<Self> {
        let sources = Sources::read(&folder.join("src"))?;
        let (mut lines, mut all) = (0, Vec::new());
        for (id, file) in sources.files.iter().enumerate() {
            let code = lines_of_code(&file.text, file.syntax.to_token_stream());
            lines += code.len();
            all.extend(
                functions(file, &code)
                    .into_iter()
                    .map(|function| (function, id)),
            );
        }
        all.sort_by(|a, b| b.cmp(a));
        let arrows = arrows(&sources);
        Ok(Self {
            name: folder
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            lines,
            circles: circles(&arrows),
            arrows,
            public: public(&sources),
            functions: all,
            files: sources.files.into_iter().map(|file| file.path).collect(),
        })
    }
}
