//! What does an application know of an answer that HTTP does not say?

use std::fmt;
use std::sync::Arc;

use ::http::{HeaderMap, StatusCode};

use crate::classify::Verdict;

/// An answer, for a judge of your own.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Answer<'a> {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// All of its body, where that belongs to the attempt and was read.
    pub body: Option<&'a [u8]>,
    /// Its trailers, where they were read.
    pub trailers: Option<&'a HeaderMap>,
}

/// Says what answers mean, for the clients of becalm. `None` leaves an answer to [`verdict`](super::verdict).
#[derive(Clone)]
pub struct Judge(Arc<Says>);

type Says = dyn Fn(&Answer<'_>) -> Option<Verdict> + Send + Sync;

impl<'a> Answer<'a> {
    /// An answer whose body is not read.
    pub const fn new(status: StatusCode, headers: &'a HeaderMap) -> Self {
        Self {
            status,
            headers,
            body: None,
            trailers: None,
        }
    }

    /// With all of its body.
    #[must_use]
    pub const fn body(mut self, body: &'a [u8]) -> Self {
        self.body = Some(body);
        self
    }

    /// With its trailers.
    #[must_use]
    pub const fn trailers(mut self, trailers: &'a HeaderMap) -> Self {
        self.trailers = Some(trailers);
        self
    }
}

impl Judge {
    /// This function is the judge.
    pub fn new(judge: impl Fn(&Answer<'_>) -> Option<Verdict> + Send + Sync + 'static) -> Self {
        Self(Arc::new(judge))
    }

    /// What this answer means.
    pub fn judge(&self, answer: &Answer<'_>) -> Option<Verdict> {
        (self.0)(answer)
    }
}

impl fmt::Debug for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Judge").finish_non_exhaustive()
    }
}
