//! Why has a login brought nothing?

use core::fmt;
use std::error::Error;
use std::sync::Arc;

/// Why a login has brought nothing.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum NoLogin {
    /// It has failed so.
    Failed(Arc<dyn Error + Send + Sync>),
    /// It has taken longer than its time limit.
    TooLate,
    /// It has panicked, or its runtime has ended.
    Gone,
}

impl fmt::Display for NoLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => error.fmt(f),
            Self::TooLate => f.write_str("the login took longer than its time limit"),
            Self::Gone => f.write_str("the login panicked, or its runtime has ended"),
        }
    }
}

/// The sentence of one that has failed is that of its error.
impl Error for NoLogin {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Failed(error) => error.source(),
            Self::TooLate | Self::Gone => None,
        }
    }
}
