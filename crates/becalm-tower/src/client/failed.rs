//! How did an attempt fail? With an answer that means failure, or with none.

use std::error::Error;
use std::fmt;

use becalm::GaveUp;
use becalm::support::Answered;
use http::Response;

/// The error of a call that ended without an answer to hand on: the reason, the record of the attempts,
/// and the last failure, of an answer its head.
pub type NoAnswer<E> = GaveUp<Failed<Response<()>, E>>;

/// How an attempt failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Failed<R, E> {
    /// The server answered, and the answer means failure.
    Answer(R),
    /// The server redirects a request with a key and an effect (301, 302, 307, 308), and has not done it. What follows redirects
    /// would send it without the key that [`RetryLayer`](super::RetryLayer) has written, or as a GET, whose success is not that of
    /// the request. `Location` is in the head.
    Redirected(R),
    /// The service below has failed.
    Transport(E),
    /// The body of the request was used up in an earlier attempt, and nothing was sent.
    BodyGone,
}

impl<D, E> Failed<Response<D>, E> {
    /// Leaves the head of the answer.
    pub(super) fn without_body(self) -> Failed<Response<()>, E> {
        match self {
            Self::Answer(response) => Failed::Answer(response.map(drop)),
            Self::Redirected(response) => Failed::Redirected(response.map(drop)),
            Self::Transport(error) => Failed::Transport(error),
            Self::BodyGone => Failed::BodyGone,
        }
    }
}

/// The status, that of gRPC where it is an answer of gRPC, or what the service below says.
impl<D, E: fmt::Display> fmt::Display for Failed<Response<D>, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer(response) => Answered::new(response.status(), response.headers())
                .judged(response.extensions().get())
                .fmt(f),
            Self::Redirected(response) => write!(
                f,
                "the request was not done: its server redirects it ({}), and what has a key is for the server that it was \
                 sent to",
                response.status()
            ),
            Self::Transport(error) => error.fmt(f),
            Self::BodyGone => f.write_str("the body of the request is gone"),
        }
    }
}

impl<D: fmt::Debug, E: Error + 'static> Error for Failed<Response<D>, E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Transport(error) => error.source(),
            Self::Answer(_) | Self::Redirected(_) | Self::BodyGone => None,
        }
    }
}
