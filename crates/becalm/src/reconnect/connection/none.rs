//! What does a command learn that gets no connection?

use core::fmt;
use std::error::Error;
use std::sync::Arc;

use crate::causes::unsaid;
use crate::classify::{Classify, Failure, Loss};
use crate::stop::StopReason;

/// There is no connection, and the command has not been sent.
#[derive(Debug)]
#[non_exhaustive]
pub enum NoConnection<E> {
    /// The time that the command gave it is over. With it the error of the last dial, if one has failed, and the
    /// loss whose redial it has waited for, which all who wait for it pay together.
    TooLate(Option<Arc<E>>, Option<Loss>),
    /// Dialling was given up, for this reason, after this error.
    GaveUp(StopReason, Option<Arc<E>>),
}

impl<E> NoConnection<E> {
    /// The error of the last dial, if one has failed.
    pub fn error(&self) -> Option<&E> {
        let (Self::TooLate(error, _) | Self::GaveUp(_, error)) = self;
        error.as_deref()
    }
}

impl<E> Clone for NoConnection<E> {
    fn clone(&self) -> Self {
        match self {
            Self::TooLate(error, loss) => Self::TooLate(error.clone(), *loss),
            Self::GaveUp(reason, error) => Self::GaveUp(*reason, error.clone()),
        }
    }
}

/// Nothing was sent. It may pass, unless dialling again does not help.
impl<E> Classify for NoConnection<E> {
    fn classify(&self) -> Failure {
        match self {
            Self::GaveUp(StopReason::Permanent | StopReason::DoNotRetry, _) => {
                Failure::permanent().unsent()
            }
            Self::TooLate(_, loss) => Failure {
                loss: *loss,
                ..Failure::transient().unsent()
            },
            Self::GaveUp(..) => Failure::transient().unsent(),
        }
    }
}

impl<E: fmt::Display> fmt::Display for NoConnection<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLate(..) => f.write_str("no connection in time")?,
            Self::GaveUp(reason, _) => write!(f, "gave up connecting because {reason}")?,
        }
        match self.error() {
            Some(error) => write!(f, ": {error:#}"),
            None => Ok(()),
        }
    }
}

impl<E: Error + 'static> Error for NoConnection<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        unsaid(self, self.error()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn a_chain_of_sources_says_the_last_dial_once() {
        let refused = Arc::new(io::Error::from(io::ErrorKind::ConnectionRefused));
        let none = NoConnection::GaveUp(StopReason::AttemptsExhausted, Some(refused));
        assert!(none.to_string().ends_with(": connection refused"), "{none}");
        assert!(none.source().is_none());
    }
}
