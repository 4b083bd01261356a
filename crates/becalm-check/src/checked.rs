//! What was found in files, and how were they read?

use std::collections::HashSet;

use crate::finding::Finding;
use crate::mapping::Mapping;
use crate::versions::As;

/// How files are read.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Settings {
    /// Which versions hold; the newest of a system that is not named.
    pub versions: Vec<As>,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Checked {
    /// In the order of the files, and of the lines in a file.
    pub findings: Vec<Finding>,
    /// In the order of the files, and of the documents in a file.
    pub mappings: Vec<Mapping>,
    /// Those that comments in the files let pass, with a reason.
    pub allowed: Vec<Finding>,
    /// Notes about systems that were told.
    pub(crate) told_once: HashSet<(&'static str, &'static str)>,
}
