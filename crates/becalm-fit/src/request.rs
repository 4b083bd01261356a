//! What is known of one request of a log?

/// One request, as one line of a log tells it.
///
/// Names are numbers here: a reader hashes addresses, paths and ids, so that nothing of them can reach a scenario or a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// When it began: microseconds since the Unix epoch.
    pub start: i64,
    /// How long it took: microseconds.
    pub duration: u64,
    /// How it ended.
    pub ended: Ended,
    /// Who sent it; 0 where the log does not say.
    pub client: u64,
    /// What was asked for, by method and path; 0 where the log does not say.
    pub target: u64,
    /// Its id, which its retries share; 0 where the log does not say.
    pub id: u64,
    /// Who answered it behind a proxy; 0 where the log does not say.
    pub upstream: u32,
    /// What of its time it was at that upstream; `None` where the log does not say.
    pub at_upstream: Option<AtUpstream>,
}

/// When an upstream had a request: the rest of its time is that of its client, who may be slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtUpstream {
    /// How long: microseconds.
    pub duration: u64,
    /// After how much of the request's time it began at the earliest: microseconds.
    pub earliest: u64,
    /// And at the latest. A proxy that takes a body in before it sends the request on does not say how long that took.
    pub latest: u64,
}

impl Request {
    /// When it ended: microseconds since the Unix epoch.
    pub fn end(&self) -> i64 {
        self.start.saturating_add_unsigned(self.duration)
    }

    /// What the service has of it, if clients take their time then. Nobody knows when it was done with a request whose client left:
    /// that is as it was.
    pub(crate) fn served(&self, client: Client) -> Self {
        let at = self
            .at_upstream
            .filter(|_| matches!(self.ended, Ended::Answered(_)));
        at.map_or(*self, |at| {
            let after = match client {
                Client::Behind => at.earliest,
                Client::Before => at.latest,
            };
            Self {
                start: self.start.saturating_add_unsigned(after),
                duration: at.duration,
                ..*self
            }
        })
    }

    /// Whether a client would try again after it.
    pub(crate) const fn has_failed(&self) -> bool {
        match self.ended {
            Ended::Answered(status) => status >= 500 || status == 429,
            Ended::Abandoned => true,
        }
    }
}

/// When slow clients take their time, where the log does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    /// While they take the answer, as far as it may be.
    Behind,
    /// While they send the request.
    Before,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// With an answer of this status.
    Answered(u16),
    /// Its client left before there was an answer.
    Abandoned,
}
