//! Why does the body of an attempt break off?

use std::fmt;

/// Why a body broke off.
#[derive(Debug)]
#[non_exhaustive]
pub enum BodyError<E> {
    /// The body itself has failed. The request is not repeated.
    Body(E),
    /// Another attempt sends the body, and this one is given up.
    GivenUp,
}

impl<E: fmt::Display> fmt::Display for BodyError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Body(error) => error.fmt(f),
            Self::GivenUp => f.write_str("another attempt sends the body of the request"),
        }
    }
}

// Of a boxed error, too, which is none itself; so it cannot be the source.
impl<E: fmt::Debug + fmt::Display> std::error::Error for BodyError<E> {}
