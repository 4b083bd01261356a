//! What kind of failure is this, and may it have taken effect?
//!
//! An error says so itself ([`Classify`]), or a classifier says it beside the call. What the codes of
//! well-known protocols mean stands in tables that need no client of any of them: [`connect`],
//! [`http_status`], [`grpc`], [`websocket`], [`redis`], and for databases [`sqlstate`], [`mysql`],
//! [`sqlite`]. Each is a plain function from the code to a [`Failure`]; those of databases and gRPC
//! also say what is contention, which is no sign of overload.

#[cfg(feature = "std")]
pub mod connect;
pub mod grpc;
pub mod http_status;
pub mod mysql;
pub mod redis;
pub mod sqlite;
pub mod sqlstate;
pub mod websocket;

use core::str::FromStr;
use core::time::Duration;

use crate::hint::Hint;
use crate::stop::{UnknownName, named};

/// What a failure says about trying again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Class {
    /// Likely to pass by itself: a reset connection, a 503.
    Transient,
    /// The other side asks for less: a 429. May have a longer base of its own
    /// ([`Policy::throttled_base`](crate::Policy::throttled_base)).
    Throttled,
    /// Will fail again however often it is tried: a 404. Never retried.
    Permanent,
}

impl Class {
    /// Every class.
    pub const ALL: &'static [Self] = &[Self::Transient, Self::Throttled, Self::Permanent];

    /// The name in events and metrics: one of a closed set.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Throttled => "throttled",
            Self::Permanent => "permanent",
        }
    }
}

/// The name in events and metrics, as [`as_str`](Class::as_str) gives it.
impl FromStr for Class {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        named(name, "class", Self::ALL, Self::as_str)
    }
}

/// Whether the failed attempt may have taken effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Effect {
    /// Proved to have had no effect: it never reached the operation (connect failure, HTTP/2
    /// `REFUSED_STREAM`, 425), was refused in place of being executed, or was rolled back. Lifts the
    /// gate on operations that are not idempotent.
    Unsent,
    /// May have taken effect. The default: without proof, assume it did.
    #[default]
    Unknown,
}

impl Effect {
    /// Every effect.
    pub const ALL: &'static [Self] = &[Self::Unsent, Self::Unknown];

    /// The name in events and metrics: one of a closed set.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unsent => "unsent",
            Self::Unknown => "unknown",
        }
    }
}

/// The name in events and metrics, as [`as_str`](Effect::as_str) gives it.
impl FromStr for Effect {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        named(name, "effect", Self::ALL, Self::as_str)
    }
}

/// A failed attempt, as the decision sees it: class, effect and the server's hint.
///
/// ```
/// use becalm::classify::Failure;
/// use core::time::Duration;
/// let too_many_requests = Failure::throttled().retry_after(Duration::from_secs(3));
/// let refused = Failure::transient().unsent();
/// # let _ = (too_many_requests, refused);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// What it says about trying again.
    pub class: Class,
    /// Whether it may have taken effect.
    pub effect: Effect,
    /// The server's own word about the next attempt.
    pub hint: Option<Hint>,
}

impl Failure {
    /// A failure of this class, of unknown effect, without a hint.
    pub const fn new(class: Class) -> Self {
        Self {
            class,
            effect: Effect::Unknown,
            hint: None,
        }
    }

    /// A failure that is likely to pass by itself.
    pub const fn transient() -> Self {
        Self::new(Class::Transient)
    }

    /// A failure by which the other side asks for less.
    pub const fn throttled() -> Self {
        Self::new(Class::Throttled)
    }

    /// A failure that trying again cannot mend.
    pub const fn permanent() -> Self {
        Self::new(Class::Permanent)
    }

    /// The same, proved not to have reached the operation.
    #[must_use]
    pub const fn unsent(mut self) -> Self {
        self.effect = Effect::Unsent;
        self
    }

    /// The same, with the server's hint.
    #[must_use]
    pub const fn hint(mut self, hint: Hint) -> Self {
        self.hint = Some(hint);
        self
    }

    /// The same, with "not before this delay has passed" from the server.
    #[must_use]
    pub const fn retry_after(self, delay: Duration) -> Self {
        self.hint(Hint::AtLeast(delay))
    }
}

/// What one attempt came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The call is done.
    Success,
    /// It failed; the decision follows.
    Failure(Failure),
}

impl Verdict {
    /// The failure. An error cannot be the value of a call, so one that a classifier takes for
    /// success is permanent.
    #[cfg(feature = "std")]
    pub(crate) fn into_failure(self) -> Failure {
        match self {
            Self::Failure(failure) => failure,
            Self::Success => Failure::permanent(),
        }
    }
}

impl From<Failure> for Verdict {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// An error that knows its class, effect and hint.
///
/// ```
/// use becalm::classify::{Classify, Failure};
///
/// enum ShopError { Busy, NoSuchOrder }
///
/// impl Classify for ShopError {
///     fn classify(&self) -> Failure {
///         match self {
///             ShopError::Busy => Failure::transient(),
///             ShopError::NoSuchOrder => Failure::permanent(),
///         }
///     }
/// }
/// ```
pub trait Classify {
    /// What kind of failure this is.
    fn classify(&self) -> Failure;
}

/// Turns the result of an attempt into a verdict: by the error's own [`Classify`]
/// ([`ByTrait`], the default) or by a closure, which also sees `Ok` values that mean failure.
pub trait Classifier<T, E> {
    /// What the attempt came to.
    fn verdict(&self, result: Result<&T, &E>) -> Verdict;
}

/// The default classifier: `Ok` is success, an error classifies itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct ByTrait;

impl<T, E: Classify> Classifier<T, E> for ByTrait {
    #[inline]
    fn verdict(&self, result: Result<&T, &E>) -> Verdict {
        match result {
            Ok(_) => Verdict::Success,
            Err(error) => Verdict::Failure(error.classify()),
        }
    }
}

impl<T, E, F: Fn(Result<&T, &E>) -> Verdict> Classifier<T, E> for F {
    #[inline]
    fn verdict(&self, result: Result<&T, &E>) -> Verdict {
        self(result)
    }
}

/// By kind. Only a refused connection, and an address that cannot be had for one, prove that
/// nothing was sent: an unreachable host or network is also what a connection reports that has
/// carried a request already. A driver that knows it was only connecting adds
/// [`Failure::unsent`].
///
/// What only a change of program, file or rights can mend is permanent; everything else, names that
/// do not resolve and full tables among it, is likely to pass.
#[cfg(feature = "std")]
impl Classify for std::io::Error {
    fn classify(&self) -> Failure {
        use std::io::ErrorKind as Kind;
        match self.kind() {
            Kind::ConnectionRefused | Kind::AddrNotAvailable => Failure::transient().unsent(),
            Kind::NotFound
            | Kind::PermissionDenied
            | Kind::AlreadyExists
            | Kind::AddrInUse
            | Kind::InvalidInput
            | Kind::InvalidData
            | Kind::Unsupported
            | Kind::NotADirectory
            | Kind::IsADirectory
            | Kind::DirectoryNotEmpty
            | Kind::ReadOnlyFilesystem
            | Kind::FileTooLarge
            | Kind::ArgumentListTooLong
            | Kind::NotSeekable
            | Kind::WriteZero => Failure::permanent(),
            _ => Failure::transient(),
        }
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use std::io::{Error, ErrorKind};

    #[test]
    fn an_io_error_is_unsent_only_where_that_is_proved() {
        for kind in [ErrorKind::ConnectionRefused, ErrorKind::AddrNotAvailable] {
            assert_eq!(
                Error::from(kind).classify(),
                Failure::transient().unsent(),
                "{kind}"
            );
        }
        for kind in [
            ErrorKind::HostUnreachable,
            ErrorKind::NetworkUnreachable,
            ErrorKind::NetworkDown,
            ErrorKind::NotConnected,
            ErrorKind::ConnectionReset,
            ErrorKind::TimedOut,
        ] {
            assert_eq!(Error::from(kind).classify(), Failure::transient(), "{kind}");
        }
    }

    #[test]
    fn what_no_repetition_mends_is_permanent_and_what_may_pass_is_not() {
        for kind in [
            ErrorKind::NotFound,
            ErrorKind::PermissionDenied,
            ErrorKind::InvalidData,
        ] {
            assert_eq!(Error::from(kind).classify(), Failure::permanent(), "{kind}");
        }
        // Too many open files, and a name that did not resolve, have no stable kind.
        let table_full = Error::from_raw_os_error(24);
        assert_eq!(table_full.classify(), Failure::transient());
    }
}
