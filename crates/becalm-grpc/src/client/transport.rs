//! What does the error of a call without an answer say about trying again?

use std::error::Error;
use std::io;

use becalm::classify::{Classifier, Effect, Failure, grpc};
use becalm::support::is_gone;
use becalm::{Attempt, classify::connect};
use becalm_tower::client::Transport;
use h2::Reason;
use tonic::{Code, ConnectError, Status, TimeoutExpired};

use super::answer::cause;

/// Classifies the errors of a channel, which are those of calls that got no answer.
///
/// - What could not connect, or not within the channel's `connect_timeout`, is unsent, and what
///   [`connect::classify`](becalm::classify::connect::classify) says; so is what becalm-tower's [`Transport`] proves, by
///   `REFUSED_STREAM` or `GOAWAY`. That may be tried again whatever the method.
/// - Any other is transient and may have taken effect: `UNAVAILABLE` alone is no proof.
/// - A [`Status`] in the chain of sources, as interceptors leave it, is what its code says ([`grpc::classify`]).
///
/// Where a policy lists codes ([`RetryOn::codes`](becalm::retry_on::RetryOn::codes)), what is not unsent has the
/// [status](tonic::Code) that gRPC gives it: of a stream that was reset as gRPC over HTTP/2 maps it, of a time-out
/// `DEADLINE_EXCEEDED`, of anything else `UNAVAILABLE`.
#[derive(Debug, Clone, Copy, Default)]
pub struct ByStatus;

impl<E: Error + 'static> Classifier<E> for ByStatus {
    fn as_error<'e>(&self, error: &'e E) -> Option<&'e (dyn Error + 'static)> {
        Some(error)
    }

    fn classify(&self, attempt: Attempt, error: &E) -> Failure {
        let known = if chain(error).any(is_gone) {
            Failure::permanent()
        } else if let Some(ConnectError(below)) = find(error) {
            connect::classify(&**below)
        } else if let Some(late) = late_dial(error) {
            connect::classify(late)
        } else if let Some(status) = find::<Status>(error) {
            let code = status.code();
            grpc::classify(code as i32).because(cause(code))
        } else {
            Transport.classify(attempt, error)
        };
        if known.effect == Effect::Unsent {
            known
        } else {
            known.because(cause(code(error)))
        }
    }
}

/// The status of a call that ended with this error and without an answer.
pub(super) fn code(error: &(dyn Error + 'static)) -> Code {
    if let Some(status) = find::<Status>(error) {
        return status.code();
    }
    if find::<TimeoutExpired>(error).is_some() {
        return Code::DeadlineExceeded;
    }
    match find::<h2::Error>(error) {
        Some(error) if error.is_reset() => of_reset(error.reason()),
        _ => Code::Unavailable,
    }
}

/// grpc/grpc, `doc/PROTOCOL-HTTP2.md`, *Errors*.
fn of_reset(reason: Option<Reason>) -> Code {
    match reason {
        Some(Reason::REFUSED_STREAM) => Code::Unavailable,
        Some(Reason::CANCEL) => Code::Cancelled,
        Some(Reason::ENHANCE_YOUR_CALM) => Code::ResourceExhausted,
        Some(Reason::INADEQUATE_SECURITY) => Code::PermissionDenied,
        Some(Reason::STREAM_CLOSED) | None => Code::Unknown,
        Some(_) => Code::Internal,
    }
}

/// The end of a dial that took longer than `Endpoint::connect_timeout`, with a connector of one's own. It is no [`ConnectError`] but
/// hyper-timeout's, and is found in nothing but tonic's error; on a connection that is there hyper's stands between.
fn late_dial<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a io::Error> {
    let above = chain(error).take_while(|error| !error.is::<io::Error>());
    let of_tonic = above.last()?;
    let late: &io::Error = of_tonic.source()?.downcast_ref()?;
    let is_late = of_tonic.to_string() == "transport error"
        && late.get_ref()?.to_string() == "deadline has elapsed";
    is_late.then_some(late)
}

/// The first error of this type in the chain.
fn find<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    chain(error).find_map(|error| error.downcast_ref())
}

fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}
