//! Why can a drill not begin?

use std::fmt;
use std::io;

use becalm::policy::InvalidPolicy;
#[cfg(feature = "http")]
use becalm_reqwest::BuildError;

/// Why the drill cannot begin.
#[derive(Debug)]
#[non_exhaustive]
pub enum Unready {
    /// A service cannot listen.
    Listen(io::Error),
    /// A policy is refused.
    Policy(InvalidPolicy),
    /// reqwest cannot build a client.
    #[cfg(feature = "http")]
    Client(BuildError),
}

impl From<io::Error> for Unready {
    fn from(error: io::Error) -> Self {
        Self::Listen(error)
    }
}

impl From<InvalidPolicy> for Unready {
    fn from(invalid: InvalidPolicy) -> Self {
        Self::Policy(invalid)
    }
}

#[cfg(feature = "http")]
impl From<BuildError> for Unready {
    fn from(error: BuildError) -> Self {
        Self::Client(error)
    }
}

impl fmt::Display for Unready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen(error) => write!(
                f,
                "cannot listen on a port of 127.0.0.1: {error}; allow this process to open sockets"
            ),
            Self::Policy(invalid) => write!(f, "the policy is refused: {invalid}"),
            #[cfg(feature = "http")]
            Self::Client(error) => write!(f, "reqwest cannot build its client: {error}"),
        }
    }
}

impl std::error::Error for Unready {}
