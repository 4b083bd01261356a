//! What kind of failure is an IO error while connecting?

use std::io::{Error, ErrorKind};

use super::{Cause, Classify, Failure, FailureKind};

/// Classifies an IO error of `connect`, of a name's resolution or of a TLS handshake, when nothing of
/// the operation has been sent yet.
///
/// Every failure is unsent, a time-out among them: over an open connection it would prove nothing.
/// Apart from the effect an error is what its own [`Classify`] says, but for two kinds that mean
/// something else here:
///
/// | kind | class | reason |
/// |---|---|---|
/// | `NotFound` | transient | the Unix socket of a server that restarts (unix(7), `ENOENT`) |
/// | `AddrInUse` | transient | no local port is free for this destination at the moment (ip(7)) |
///
/// A certificate that is refused (`InvalidData` of rustls) stays permanent.
///
/// ```
/// use becalm::classify::{Classify, Effect, connect};
/// use std::io::{Error, ErrorKind};
/// let late = Error::from(ErrorKind::TimedOut);
/// assert_eq!(connect::classify(&late).effect, Effect::Unsent);
/// assert_eq!(late.classify().effect, Effect::Unknown);
/// ```
pub fn classify(error: &Error) -> Failure {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::AddrInUse => Failure::transient(),
        _ => error.classify(),
    }
    .unsent()
    .because(Cause::Kind(match error.kind() {
        ErrorKind::TimedOut => FailureKind::ConnectTimeout,
        _ => FailureKind::Connect,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::{Class, Effect};

    #[test]
    fn c10_what_fails_while_connecting_was_not_sent() {
        for (kind, class) in [
            (ErrorKind::NotFound, Class::Transient),
            (ErrorKind::ConnectionRefused, Class::Transient),
            (ErrorKind::TimedOut, Class::Transient),
            (ErrorKind::ConnectionReset, Class::Transient),
            (ErrorKind::HostUnreachable, Class::Transient),
            (ErrorKind::UnexpectedEof, Class::Transient),
            (ErrorKind::AddrInUse, Class::Transient),
            (ErrorKind::Other, Class::Transient),
            (ErrorKind::PermissionDenied, Class::Permanent),
            (ErrorKind::InvalidInput, Class::Permanent),
            (ErrorKind::InvalidData, Class::Permanent),
        ] {
            let failure = classify(&Error::from(kind));
            assert_eq!(
                (failure.class, failure.effect),
                (class, Effect::Unsent),
                "{kind}"
            );
        }
    }
}
