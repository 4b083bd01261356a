//! How much of a file is read?

/// The longest file that is read, in bytes. The longest generated configurations that are seen in
/// public have a few megabytes.
pub const LONGEST: usize = 16 * 1024 * 1024;

/// How deep a tree may be.
pub const DEEPEST: usize = 100;
