//! What does an error of the service below say about trying again?

use std::error::Error;

use becalm::classify::{Cause, Classifier, FailureKind};
use becalm::http as semantics;
use becalm::support::is_gone;
use becalm::{Attempt, Failure};

use super::boxed::Boxed;
use super::collect::BrokenOff;

/// The classifier of errors of the service below, by what their chain of sources holds.
///
/// - An error of hyper-util's client while connecting (feature `hyper-util`) is unsent, and what
///   [`connect::classify`](becalm::classify::connect::classify) says of it.
/// - A stream of HTTP/2 that the server has reset with `REFUSED_STREAM`, or that comes after the last one that its
///   `GOAWAY` names (feature `h2`, of the h2 0.4 that hyper 1 stands on), was not processed (RFC 9113 section 8.7).
/// - A `Buffer` of tower whose worker is gone fails for ever: permanent.
/// - A `LoadShed` of tower that has no place is throttled. By its words, which prove nothing: a request with an effect is not
///   repeated.
/// - An answer that broke off ([`BrokenOff`]) is transient and may have taken effect.
/// - Otherwise the first `std::io::Error` in the chain says it: a refused connection is unsent.
/// - Every other error is transient and may have taken effect. hyper's "canceled" is one of them.
///
/// Each says what has failed, for the lists of a policy ([`becalm::http::unanswered`]).
///
/// What a tower stack has boxed becomes an error again as [`Boxed`]. A classifier of your own goes to
/// [`RetryLayer::classify_by`](super::RetryLayer::classify_by).
#[derive(Debug, Clone, Copy, Default)]
pub struct Transport;

#[diagnostic::do_not_recommend]
impl<E: Error + 'static> Classifier<E> for Transport {
    fn classify(&self, _: Attempt, error: &E) -> Failure {
        of_chain(error)
    }

    fn as_error<'e>(&self, error: &'e E) -> Option<&'e (dyn Error + 'static)> {
        Some(error)
    }
}

fn of_chain(error: &(dyn Error + 'static)) -> Failure {
    // The server has answered: whatever lies below proves nothing any more.
    if chain(error).any(<dyn Error>::is::<BrokenOff>) {
        return Failure::transient().because(Cause::Kind(FailureKind::Reset));
    }
    // Its source may say what was the end of it, long ago.
    if chain(error).any(is_gone) {
        return Failure::permanent();
    }
    #[cfg(feature = "hyper-util")]
    if let Some(failure) = while_connecting(error) {
        return failure;
    }
    #[cfg(feature = "h2")]
    if is_refused(error) {
        let refused = Cause::Kind(FailureKind::RefusedStream);
        return Failure::transient().unsent().because(refused);
    }
    semantics::unanswered(chain(error))
}

#[cfg(feature = "hyper-util")]
fn while_connecting(error: &(dyn Error + 'static)) -> Option<Failure> {
    use becalm::classify::connect;
    use hyper_util::client::legacy;

    let is_connect = |error: &&(dyn Error + 'static)| {
        let error = error.downcast_ref::<legacy::Error>();
        error.is_some_and(legacy::Error::is_connect)
    };
    let connecting = chain(error).find(is_connect)?;
    // A layer around the connector may have boxed what is in it.
    let boxed = chain(connecting).filter_map(|error| error.downcast_ref());
    let inner = boxed.map(|Boxed(inner)| &**inner as &(dyn Error + 'static));
    Some(connect::classify(inner.last().unwrap_or(connecting)))
}

#[cfg(feature = "h2")]
fn is_refused(error: &(dyn Error + 'static)) -> bool {
    // h2 gives a GOAWAY of the other side to the streams after the last that it names, and to those that are
    // still to be opened, but to no other.
    let is_refused = |error: &h2::Error| {
        let is_refused = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
        error.is_remote() && (error.is_go_away() || is_refused)
    };
    chain(error).any(|error| error.downcast_ref().is_some_and(is_refused))
}

fn chain<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> + Clone {
    std::iter::successors(Some(error), |&error| match error.downcast_ref() {
        Some(Boxed(inner)) => Some(&**inner),
        None => error.source(),
    })
}

#[cfg(test)]
mod tests {
    use std::io::{self, ErrorKind};

    use becalm::classify::{Class, Classify};

    use super::*;

    fn because(failure: Failure, kind: FailureKind) -> Failure {
        failure.because(Cause::Kind(kind))
    }

    fn classified(error: &(dyn Error + 'static)) -> Failure {
        of_chain(error)
    }

    #[test]
    fn the_first_io_error_in_the_chain_says_it() {
        for kind in [
            ErrorKind::ConnectionRefused,
            ErrorKind::ConnectionReset,
            ErrorKind::InvalidData,
        ] {
            let error = io::Error::from(kind);
            let expected = error.classify();
            assert_eq!(classified(&error), expected);
            let below = io::Error::other(std::io::Error::from(kind));
            let expected = because(below.classify(), FailureKind::Reset);
            assert_eq!(classified(&below), expected);
        }
        let broken = because(Failure::transient(), FailureKind::Reset);
        assert_eq!(classified(&std::fmt::Error), broken);
        let refused = io::Error::from(ErrorKind::ConnectionRefused);
        let boxed = Boxed::new(Boxed::new(refused));
        assert!(boxed.get_ref().is::<io::Error>());
        let unsent = because(Failure::transient().unsent(), FailureKind::Connect);
        assert_eq!(classified(&boxed), unsent);
        // Nothing is proved any more by what breaks the body of an answer.
        let broken_off = Boxed::new(BrokenOff(boxed.into()));
        assert_eq!(classified(&broken_off), broken);
    }

    #[test]
    fn a_layer_below_that_sheds_asks_for_less() {
        use tower::load_shed::error::Overloaded;

        let throttled = because(Failure::throttled(), FailureKind::Reset);
        let boxed = Boxed::new(Overloaded::new());
        assert_eq!(classified(&boxed), throttled);
        let wrapped = io::Error::other(Overloaded::new());
        assert_eq!(classified(&wrapped), throttled);
        let another = io::Error::other("the service overloaded its stack");
        assert_ne!(classified(&another), throttled);
    }

    #[test]
    fn a_retry_below_that_has_given_up_for_good_is_not_repeated() {
        for (kind, class) in [
            (ErrorKind::InvalidData, Class::Permanent),
            (ErrorKind::ConnectionReset, Class::Transient),
        ] {
            let below = becalm::Policy::default().attempts(1).retrier();
            let below = below.expect("a valid policy");
            let called = below.retry_blocking(|_| Err::<(), _>(io::Error::from(kind)));
            let gave_up = called.expect_err("it fails").with_causes();
            assert!(gave_up.source().is_none());
            assert_eq!(classified(&gave_up).class, class, "{gave_up}");
        }
    }

    #[cfg(feature = "hyper-util")]
    #[tokio::test]
    async fn what_hyper_util_could_not_connect_was_not_sent() {
        use http_body_util::Empty;
        use hyper_util::client::legacy::Client;
        use hyper_util::rt::{TokioExecutor, TokioIo};

        for (kind, expected) in [
            (
                ErrorKind::TimedOut,
                because(Failure::transient().unsent(), FailureKind::ConnectTimeout),
            ),
            (
                ErrorKind::InvalidData,
                because(Failure::permanent().unsent(), FailureKind::Connect),
            ),
        ] {
            // As hyper-rustls wraps it, below a layer that boxes errors.
            let connector = tower::service_fn(move |_: http::Uri| {
                let error = Boxed::new(io::Error::other(io::Error::from(kind)));
                std::future::ready(Err::<TokioIo<tokio::net::TcpStream>, _>(error))
            });
            let client = Client::builder(TokioExecutor::new()).build(connector);
            let request =
                http::Request::get("http://shop.example").body(Empty::<bytes::Bytes>::new());
            let error = client
                .request(request.expect("valid"))
                .await
                .expect_err("it cannot connect");
            assert_eq!(classified(&error), expected, "{kind}");
        }
    }
}
