//! What does a proxy's answer to CONNECT mean?

use core::fmt;
use std::error::Error;

use crate::classify::{Cause, Classify, Failure, FailureKind, http_status};
use crate::hint::Hint;

/// A proxy has answered CONNECT, and not with 2xx: there is no tunnel (RFC 9110 section 9.3.6).
///
/// The error of a connector that reads the answer, such as becalm-tower's `Tunnel` or one of your own. The judge of this
/// module finds it in whatever the client makes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxyRefused {
    status: u16,
    hint: Option<Hint>,
}

impl ProxyRefused {
    /// It has answered with this status, and has named this wait.
    pub const fn new(status: u16, hint: Option<Hint>) -> Self {
        Self { status, hint }
    }

    /// The status of its answer.
    pub const fn status(&self) -> u16 {
        self.status
    }
}

impl fmt::Display for ProxyRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the proxy answered CONNECT with {}", self.status)
    }
}

impl Error for ProxyRefused {}

/// By its status ([`http_status`]), unsent: nothing has reached the server.
impl Classify for ProxyRefused {
    fn classify(&self) -> Failure {
        let mut failure = http_status::classify(self.status).unsent();
        failure.hint = self.hint;
        failure.because(Cause::Kind(FailureKind::Connect))
    }

    fn as_error(&self) -> Option<&(dyn Error + 'static)> {
        Some(self)
    }
}
