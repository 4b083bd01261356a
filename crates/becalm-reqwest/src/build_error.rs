//! Why could a client not be built?

use std::fmt;

use becalm::http::InvalidOrigin;
use becalm::support::to_the_root;

/// Why a client could not be built.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// reqwest could not build its own.
    Reqwest(reqwest::Error),
    /// reqwest's builder has a redirect policy, which would be lost.
    RedirectPolicy,
    /// A text of [`scope_to`](super::ClientBuilder::scope_to) or [`credentials`](super::ClientBuilder::credentials) is no origin.
    InvalidOrigin(InvalidOrigin),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reqwest(error) => f.write_str(&to_the_root(error)),
            Self::RedirectPolicy => f.write_str(
                "reqwest's builder has a redirect policy of its own, which would be lost: set it with \
                 becalm_reqwest::ClientBuilder::redirect",
            ),
            Self::InvalidOrigin(error) => error.fmt(f),
        }
    }
}

/// The sentence says all that lies below.
impl std::error::Error for BuildError {}
