//! What does an answer to a handshake mean that is no connection?

use std::fmt;
use std::time::SystemTime;

use becalm::classify::Class;
use becalm::classify::websocket::classify_handshake;
use becalm::{Failure, http};
use tokio_tungstenite::tungstenite::http::{HeaderMap, Response};

/// What was answered to a handshake in place of 101: for [`Client::answering`](crate::Client::answering).
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Answer<'a> {
    /// Its status.
    pub status: u16,
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// As much of its body as has come with its head.
    pub body: &'a [u8],
    /// A connection of this socket was open before, and the [patience](crate::Client::restart_patience) with such answers is not over: this
    /// may be a proxy's word while its backend restarts.
    pub worked_before: bool,
}

impl<'a> Answer<'a> {
    pub(crate) fn of(answer: &'a Response<Option<Vec<u8>>>, worked_before: bool) -> Self {
        Self {
            status: answer.status().as_u16(),
            headers: answer.headers(),
            body: answer.body().as_deref().unwrap_or_default(),
            worked_before,
        }
    }

    /// What it means by default: by its status ([`classify_handshake`]) and with the wait that it asks for. Where the address has worked
    /// before, what would be permanent is transient, but for what is said of this client or of this address on purpose: 401 and 407,
    /// which a new login mends, 410 and 451.
    pub fn failure(&self) -> Failure {
        let mut failure = classify_handshake(self.status);
        let is_meant = matches!(self.status, 401 | 407 | 410 | 451);
        if failure.class == Class::Permanent && self.worked_before && !is_meant {
            failure = Failure::transient().unsent();
        }
        failure.hint = http::hint(self.headers, SystemTime::now);
        failure
    }
}

/// For an answer of any lifetime, as the method is not.
pub(crate) fn by_default(answer: &Answer<'_>) -> Failure {
    answer.failure()
}

/// Without headers and body, which may hold a login.
impl fmt::Debug for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer")
            .field("status", &self.status)
            .field("worked_before", &self.worked_before)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_final_for_an_address_that_never_worked_may_pass_for_one_that_did() {
        use Class::{Permanent, Throttled, Transient};
        let classes = |status| {
            let headers = HeaderMap::new();
            let answer = |worked_before| Answer {
                status,
                headers: &headers,
                body: b"",
                worked_before,
            };
            [false, true].map(|worked_before| answer(worked_before).failure().class)
        };
        for status in [200, 204, 301, 302, 400, 403, 404, 405, 421, 426, 501, 511] {
            assert_eq!(classes(status), [Permanent, Transient], "{status}");
        }
        for status in [401, 407, 410, 451] {
            assert_eq!(classes(status), [Permanent; 2], "{status}");
        }
        for status in [408, 500, 502, 503, 504] {
            assert_eq!(classes(status), [Transient; 2], "{status}");
        }
        assert_eq!(classes(429), [Throttled; 2]);
    }
}
