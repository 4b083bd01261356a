//! How is it known what a system does?

use serde::Serialize;

/// How it is known what a system does with what its files say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Evidence {
    /// It was run with such files, and attempts, delays and refusals were counted.
    Run,
    /// Its source was read, not run.
    Read,
}
