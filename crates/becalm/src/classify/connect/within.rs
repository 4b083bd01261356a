//! What is wrapped in an error? Each source, and what no source shows.

use std::error::Error;
use std::io;
use std::sync::Arc;

/// An error that is its own source would have no end.
const DEEPEST: usize = 64;

/// The error, and all that is in it, down to the root cause.
///
/// These are its sources, and what a source leaves out: an `io::Error` shows as its source what is below the error that it
/// holds, and not that error. An `Arc` or a `Box` that is an error does so, too.
pub fn within<'e>(
    error: &'e (dyn Error + 'static),
) -> impl Iterator<Item = &'e (dyn Error + 'static)> + Clone {
    std::iter::successors(Some(error), |&error| next(error)).take(DEEPEST)
}

fn next<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    if let Some(error) = error.downcast_ref::<io::Error>() {
        return error.get_ref().map(|held| held as _);
    }
    if let Some(shared) = error.downcast_ref::<Arc<dyn Error + Send + Sync>>() {
        return Some(&**shared);
    }
    if let Some(shared) = error.downcast_ref::<Arc<io::Error>>() {
        return Some(&**shared);
    }
    if let Some(boxed) = error.downcast_ref::<Box<io::Error>>() {
        return Some(&**boxed);
    }
    error.source()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt;

    #[derive(Debug)]
    struct Own;

    impl fmt::Display for Own {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("itself")
        }
    }

    impl Error for Own {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&Own)
        }
    }

    #[test]
    fn what_no_source_shows_is_found() {
        let other = io::Error::other(io::Error::from(io::ErrorKind::ConnectionRefused));
        assert!(other.source().is_none());
        let root = || io::Error::from(io::ErrorKind::ConnectionRefused);
        let shared: Arc<dyn Error + Send + Sync> = Arc::new(root());
        for error in [
            Box::new(root()) as Box<dyn Error>,
            Box::new(Box::new(root())),
            Box::new(Arc::new(root())),
            Box::new(shared),
            Box::new(io::Error::other(io::Error::other(root()))),
            Box::new(io::Error::other(Arc::new(root()))),
        ] {
            let last = within(&*error).last();
            let found: Option<&io::Error> = last.and_then(|error| error.downcast_ref());
            let kind = found.map(io::Error::kind);
            assert_eq!(kind, Some(io::ErrorKind::ConnectionRefused), "{error:?}");
        }
    }

    #[test]
    fn an_error_that_is_its_own_source_has_an_end() {
        assert_eq!(within(&Own).count(), DEEPEST);
    }
}
