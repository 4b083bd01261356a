//! What does an error of reqwest say about trying again?

use std::error::Error;

use becalm::Failure;
use becalm::classify::{Cause, FailureKind, connect};
use becalm::http::unanswered;

/// By its kind, and by what its chain of sources holds.
///
/// | error | failure |
/// |---|---|
/// | no connection (`is_connect`) | unsent, as [`connect::classify`] says |
/// | a refused stream, or one after the last that a GOAWAY names (feature `h2`) | transient, unsent |
/// | the request is wrong (`is_builder`), too many redirects, the request's own body fails | permanent |
/// | an IO error | what it says itself |
/// | any other, reqwest's own time-outs among them | transient |
///
/// Each says what has failed, for the lists of a policy.
pub(super) fn classify(error: &reqwest::Error) -> Failure {
    if error.is_builder() || error.is_redirect() || is_of_the_body(error) {
        Failure::permanent()
    } else if error.is_connect() {
        let failure = connect::classify(error);
        if error.is_timeout() {
            failure.because(Cause::Kind(FailureKind::ConnectTimeout))
        } else {
            failure
        }
    } else if http2::is_refused(error) {
        let refused = Cause::Kind(FailureKind::RefusedStream);
        Failure::transient().unsent().because(refused)
    } else {
        let failure = unanswered(chain(error));
        if error.is_timeout() {
            failure.because(Cause::Kind(FailureKind::TimedOut))
        } else {
            failure
        }
    }
}

/// The body that was to be sent has failed: over HTTP/1 its error, one of reqwest's own, is below
/// another, and over HTTP/2 hyper resets the stream.
fn is_of_the_body(error: &reqwest::Error) -> bool {
    let mut below = chain(error)
        .skip(1)
        .filter_map(|error| error.downcast_ref());
    below.any(reqwest::Error::is_body) || http2::is_reset_here(error)
}

#[cfg(feature = "h2")]
mod http2 {
    use h2::{Error, Reason};

    /// The server says that it has not processed the request (RFC 9113 section 8.7).
    pub fn is_refused(error: &reqwest::Error) -> bool {
        of(error).is_some_and(|error| {
            // h2 gives a GOAWAY of the other side to the streams after the last that it names, and to
            // those that are still to be opened, but to no other.
            let is_refused = error.is_reset() && error.reason() == Some(Reason::REFUSED_STREAM);
            error.is_remote() && (error.is_go_away() || is_refused)
        })
    }

    /// Neither the server nor h2 did it.
    pub fn is_reset_here(error: &reqwest::Error) -> bool {
        of(error).is_some_and(|error| {
            let is_ours = !error.is_remote() && !error.is_library();
            is_ours && error.is_reset() && error.reason() == Some(Reason::INTERNAL_ERROR)
        })
    }

    fn of(error: &reqwest::Error) -> Option<&Error> {
        super::chain(error).find_map(|error| error.downcast_ref())
    }
}

/// Without the type of the error there is no proof.
#[cfg(not(feature = "h2"))]
mod http2 {
    pub fn is_refused(_: &reqwest::Error) -> bool {
        false
    }

    pub fn is_reset_here(_: &reqwest::Error) -> bool {
        false
    }
}

fn chain(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> + Clone {
    std::iter::successors(Some(error as &(dyn Error + 'static)), |&error| {
        error.source()
    })
}
