//! What kind of failure is an error while connecting, however it is wrapped?

mod proxy;
mod said;
mod within;

use std::error::Error;
use std::io::{self, ErrorKind};
use std::string::ToString;

use super::{Cause, Class, Classify, Failure, FailureKind};

pub use proxy::ProxyRefused;

use within::within;

/// Classifies an error of `connect`, of a name's resolution, of a proxy or of a TLS handshake, when nothing of the
/// operation has been sent yet. What [`recognise`] does not know is transient.
///
/// ```
/// use becalm::classify::{Class, Classify, Effect, connect};
/// use std::io::{Error, ErrorKind};
/// let late = Error::from(ErrorKind::TimedOut);
/// assert_eq!(connect::classify(&late).effect, Effect::Unsent);
/// assert_eq!(late.classify().effect, Effect::Unknown);
/// // However a connector wraps it:
/// let refused = Error::other(Error::new(ErrorKind::InvalidData, "invalid peer certificate: Expired"));
/// assert_eq!(connect::classify(&refused).class, Class::Permanent);
/// ```
pub fn classify(error: &(dyn Error + 'static)) -> Failure {
    recognise(error).unwrap_or_else(|| of_class(Class::Transient))
}

/// What is known of an error while connecting: that of the innermost error that says it. Errors are found that no source shows, such as
/// those that an IO error holds.
///
/// Every failure is unsent, a time-out among them: over an open connection it would prove nothing. Apart from the effect an
/// IO error is what its own [`Classify`] says, but for two kinds that mean something else here:
///
/// | what is found | class | reason |
/// |---|---|---|
/// | `NotFound` | transient | the Unix socket of a server that restarts (unix(7), `ENOENT`) |
/// | `AddrInUse` | transient | no local port is free for this destination at the moment (ip(7)) |
/// | a certificate that is refused, by either side | permanent | who the server is, and whom it trusts, does not pass |
/// | no version, cipher or protocol in common; plain text in place of TLS | permanent | it is another server |
/// | TLS: "internal error", "user canceled", closed | transient | a server that is being set up, or ends (RFC 8446 section 6) |
/// | a proxy's answer to CONNECT ([`ProxyRefused`]) | by its status | 403 and 407 are permanent, 502 and 503 are not |
/// | a proxy of SOCKS wants a login, does not allow it, or does not know how | permanent | its rules do not pass (RFC 1928 section 6) |
/// | an address that no connector takes | permanent | nothing was asked |
/// | a name that does not resolve | - | see below |
/// | a give-up of becalm's that ended with a permanent failure | permanent | a retry below has found it so |
///
/// An IO error of another kind, such as `Other`, says nothing by itself. Neither does a name that does not resolve. So
/// it stays transient: it may exist in a moment, and the system's resolver does not tell "there is none" from "I could not ask".
///
/// Where an error is of a type that becalm does not have, its words are looked at: those of rustls 0.23, OpenSSL 1.1 and 3, hyper-util 0.1,
/// hyper-rustls 0.27, hyper-tls 0.6, tonic 0.14 and tungstenite 0.30. The TLS of Windows has codes. Of the TLS of macOS nothing is
/// known, so that what it refuses is repeated.
pub fn recognise(error: &(dyn Error + 'static)) -> Option<Failure> {
    within(error).filter_map(by_itself).last()
}

/// What this error says without those below it.
fn by_itself(error: &(dyn Error + 'static)) -> Option<Failure> {
    if let Some(refused) = error.downcast_ref::<ProxyRefused>() {
        return Some(refused.classify());
    }
    match error.downcast_ref() {
        Some(error) => of_io(error),
        None => said::judge(&error.to_string()).map(of_class),
    }
}

fn of_io(error: &io::Error) -> Option<Failure> {
    let said = error.raw_os_error().and_then(said::judge_code);
    if said.is_some() {
        return said.map(of_class);
    }
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::AddrInUse => Some(of_class(Class::Transient)),
        ErrorKind::TimedOut => {
            let late = Cause::Kind(FailureKind::ConnectTimeout);
            Some(Failure::transient().unsent().because(late))
        }
        // Of the standard library and tokio: a resolver that has found no address.
        ErrorKind::InvalidInput if error.to_string().contains("not resolve to any address") => None,
        kind => match error.classify().class {
            Class::Transient => FailureKind::of_io(kind).map(|_| of_class(Class::Transient)),
            class => Some(of_class(class)),
        },
    }
}

fn of_class(class: Class) -> Failure {
    let connect = Cause::Kind(FailureKind::Connect);
    Failure::new(class).unsent().because(connect)
}

/// Whether an error that does not say that it is of connecting is permanent all the same: one side has refused the certificate of the
/// other, which over TLS 1.3 a server does when its client has begun to send (RFC 8446 section 4.4.2.4), or a retry below has given up
/// for good.
#[cfg(feature = "http")]
pub(crate) fn is_final(error: &(dyn Error + 'static)) -> bool {
    within(error).any(|error| said::is_final(&error.to_string()))
}

#[cfg(test)]
mod tests;
