//! Why has a login brought nothing?

use core::fmt;
use std::error::Error;
use std::sync::Arc;

use crate::causes::to_the_root;

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
            Self::Failed(error) => f.write_str(&to_the_root(&**error)),
            Self::TooLate => f.write_str("the login took longer than its time limit"),
            Self::Gone => f.write_str("the login panicked, or its runtime has ended"),
        }
    }
}

/// The sentence goes down to the root cause.
impl Error for NoLogin {}
