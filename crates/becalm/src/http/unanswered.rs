//! What has failed, where a request has no answer? By the errors of its client.

use std::error::Error;
use std::io;
use std::string::ToString;

use crate::classify::{Cause, Classify, Failure, FailureKind, connect};

/// Classifies a request without an answer on a connection that was there, by the error of its client and the sources of
/// that, in their order; for drivers.
///
/// The first `std::io::Error` says it; without one the failure is transient and may have taken effect. Of errors whose
/// types becalm does not have, the words of tower's `Buffer` tell that its worker is gone, which is permanent. So is
/// the refusal of a certificate, by either side: over TLS 1.3 a server's comes when the connection is there; and a give-up for good of a retry below. The words of tower's `LoadShed` tell
/// that there is no place, which is throttled. Those of hyper 1, tower and tokio tell a time-out and what is no answer (over
/// HTTP/1; over HTTP/2 hyper does not say) from a connection that ended, which anything else is taken for. Only the lists of a
/// [`RetryOn`](crate::retry_on::RetryOn) make a difference between them.
pub fn unanswered<'e>(errors: impl Iterator<Item = &'e (dyn Error + 'static)> + Clone) -> Failure {
    if errors.clone().any(is_gone) {
        return Failure::permanent();
    }
    if errors.clone().next().is_some_and(connect::is_final) {
        return Failure::permanent().because(Cause::Kind(FailureKind::Connect));
    }
    let io = errors
        .clone()
        .find_map(|error| error.downcast_ref::<io::Error>());
    let failure = match io {
        _ if errors.clone().any(is_shed) => Failure::throttled(),
        Some(error) => error.classify(),
        None => Failure::transient(),
    };
    if failure.cause.is_some() {
        return failure;
    }
    let mut kinds = errors.filter_map(|error| by_words(&error.to_string()));
    failure.because(Cause::Kind(kinds.next().unwrap_or(FailureKind::Reset)))
}

/// Whether this error says that a service ended and answers no request any more: what is in front of it will fail for ever. These
/// are the words of tower 0.5's `Buffer`, whose worker is gone.
pub fn is_gone(error: &(dyn Error + 'static)) -> bool {
    let words = error.to_string();
    words == "buffer's worker closed unexpectedly" || words.starts_with("buffered service failed: ")
}

/// Whether this error says that a layer below has no place for the request: the words of tower 0.5's `LoadShed`. They are no proof
/// that nothing was sent, since they may be those of a server, too.
fn is_shed(error: &(dyn Error + 'static)) -> bool {
    error.to_string() == "service overloaded"
}

fn by_words(words: &str) -> Option<FailureKind> {
    const TIMED_OUT: [&str; 2] = ["timed out", "deadline has elapsed"];
    const INVALID: [&str; 3] = [
        " parsed", // "invalid HTTP version parsed" and its kin
        "message head is too large",
        "received unexpected message from connection",
    ];
    let has = |of: &[&str]| of.iter().any(|part| words.contains(part));
    if has(&TIMED_OUT) {
        Some(FailureKind::TimedOut)
    } else {
        has(&INVALID).then_some(FailureKind::InvalidAnswer)
    }
}
