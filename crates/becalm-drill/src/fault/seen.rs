//! What has a proxy seen, of its own work and of the calls of who is behind it?

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What came of requests since the proxy began. Where nobody can read them, what a client sends at once is one, and so is a
/// connection that comes while requests are held or reset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Connections of clients.
    pub connections: u64,
    /// Requests of which the head was read.
    pub requests: u64,
    /// Of these, those that the service got.
    pub forwarded: u64,
    /// Answers of the service, of which the head was passed on. Nobody can say where they cannot be read.
    pub answered: u64,
    /// Requests that the fault held for a while.
    pub held: u64,
    /// Requests that the fault answered, reset or lost.
    pub broken: u64,
    /// Requests whose client left before an answer began.
    pub left: u64,
    /// Requests for which no service was there, or which it broke off.
    pub unreachable: u64,
    /// Requests that are kept now, or on their way to the service since they were.
    pub pouring: u64,
    /// Connections that are open now.
    pub open: u64,
}

/// What a proxy has seen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    pub counts: Counts,
    /// How long the proxy has been there: the end of the last bucket, or within it.
    pub since: Duration,
    /// One for each step of the drill's (10 ms) since it began, up to the last in which something was.
    pub buckets: Vec<Bucket>,
    /// How many calls had one attempt, two and so on; the last are those of that many and more. Empty unless calls are
    /// counted.
    pub calls_by_attempts: Vec<u64>,
    /// How many requests said by `X-Request-Id`, by `traceparent` (W3C Trace Context, section 3.2), and by neither, which call they are of.
    pub identified: [u64; 3],
}

/// What was seen within 10 ms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// Calls that began: the first request of each.
    pub calls: u32,
    /// Of these calls, those that had a good answer (a status below 500, and not 429) until now.
    pub good: u32,
    /// Requests that came.
    pub attempts: u32,
    /// Calls that had their first good answer.
    pub answers: u32,
}

/// What a proxy tells: as much as has changed since it was asked last, so that a long drill's answers are no longer than a short
/// one's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct News {
    /// The buckets before this one are as they were.
    pub from: usize,
    /// Its buckets are those from that one on.
    pub seen: Seen,
}

impl News {
    /// All that was seen; `buckets` are those known until now, and then those known with this.
    pub fn onto(self, buckets: &mut Vec<Bucket>) -> Seen {
        buckets.truncate(self.from);
        buckets.extend(self.seen.buckets);
        Seen {
            buckets: buckets.clone(),
            ..self.seen
        }
    }
}
