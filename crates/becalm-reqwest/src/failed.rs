//! How did an attempt fail? With an answer that means failure, or with none.

use std::fmt;

use becalm::GaveUp;
use becalm::support::Answered;
use reqwest::Response;

/// The error of a call that ended without an answer to hand on: the reason, the record of the attempts,
/// and reqwest's last error. Of an answer that was let go, that is the error of its
/// [status](reqwest::Error::status).
pub type NoAnswer = GaveUp<reqwest::Error>;

/// How an attempt failed.
pub(super) enum Failed<E = reqwest::Error> {
    Answer(Response),
    /// An answer of which nothing is held but what its status says.
    LetGo(Option<E>),
    Error(E),
    /// An earlier attempt has used up the body, and nothing was sent.
    BodyGone,
}

impl<E: From<reqwest::Error>> Failed<E> {
    /// Takes the answer, if there is one that is still held.
    pub fn let_go(&mut self) -> Option<Response> {
        let Self::Answer(answer) = self else {
            return None;
        };
        let said = Self::LetGo(answer.error_for_status_ref().err().map(E::from));
        match std::mem::replace(self, said) {
            Self::Answer(answer) => Some(answer),
            _ => None,
        }
    }

    pub fn into_error(mut self) -> Option<E> {
        drop(self.let_go());
        match self {
            Self::LetGo(error) => error,
            Self::Error(error) => Some(error),
            Self::Answer(_) | Self::BodyGone => None,
        }
    }
}

/// For observers.
impl<E: fmt::Display> fmt::Display for Failed<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer(answer) => Answered::new(answer.status(), answer.headers()).fmt(f),
            Self::LetGo(Some(error)) | Self::Error(error) => error.fmt(f),
            Self::LetGo(None) => f.write_str("the answer means failure"),
            Self::BodyGone => f.write_str("the body of the request is gone"),
        }
    }
}
