//! What kind of failure is this, and may it have taken effect?
//!
//! An error says so itself ([`Classify`]), or a classifier says it beside the call. What the codes of
//! well-known protocols mean stands in tables that need no client of any of them: [`connect`],
//! [`http_status`], [`grpc`], [`websocket`], [`redis`], and for databases [`sqlstate`], [`mysql`],
//! [`sqlite`]. Each is a plain function from the code to a [`Failure`]; those of databases and gRPC
//! also say what is contention, which is no sign of overload.

mod cause;
#[cfg(feature = "std")]
pub mod connect;
pub mod grpc;
pub mod http_status;
mod loss;
pub mod mysql;
pub mod redis;
#[cfg(feature = "anyhow")]
mod report;
pub mod sqlite;
pub mod sqlstate;
pub mod websocket;

pub use cause::{Cause, FailureKind};
pub use loss::Loss;

use core::fmt::Display;
use core::time::Duration;

use crate::attempt::Attempt;
use crate::hint::Hint;
use crate::names::names;

names! {
    /// What a failure says about trying again.
    Class: "class";
    /// Likely to pass by itself: a reset connection, a 503.
    Transient = "transient";
    /// The other side asks for less: a 429. May have a longer base of its own
    /// ([`Policy::throttled_base`](crate::Policy::throttled_base)).
    Throttled = "throttled";
    /// Will fail again however often it is tried: a 404. Never retried.
    Permanent = "permanent";
}

names! {
    /// Whether the failed attempt may have taken effect.
    #[derive(Default)]
    Effect: "effect";
    /// Proved to have had no effect: it never reached the operation (connect failure, HTTP/2
    /// `REFUSED_STREAM`, 425), was refused in place of being executed, or was rolled back. Lifts the
    /// gate on operations that are not idempotent.
    Unsent = "unsent";
    /// May have taken effect. The default: without proof, assume it did.
    #[default]
    Unknown = "unknown";
}

/// A failed attempt, as the decision sees it: class, effect, the server's hint, and what has failed.
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
    /// What the failure says about trying again.
    pub class: Class,
    /// Whether the attempt may have taken effect.
    pub effect: Effect,
    /// The server's own word about the next attempt.
    pub hint: Option<Hint>,
    /// What has failed, if the driver knows it: for the lists of a [`RetryOn`](crate::retry_on::RetryOn).
    pub cause: Option<Cause>,
    /// What it was lost with, if others were, too: their retries are paid for together.
    pub loss: Option<Loss>,
    /// Whether it speaks for the health of the other side, as a permanent failure does.
    pub healthy: bool,
}

impl Failure {
    /// A failure of this class, of unknown effect, without a hint.
    pub const fn new(class: Class) -> Self {
        Self {
            class,
            effect: Effect::Unknown,
            hint: None,
            cause: None,
            loss: None,
            healthy: false,
        }
    }

    /// A failure that is likely to pass by itself.
    pub const fn transient() -> Self {
        Self::new(Class::Transient)
    }

    /// A failure with which the other side asks for less load.
    pub const fn throttled() -> Self {
        Self::new(Class::Throttled)
    }

    /// A failure that trying again cannot mend.
    pub const fn permanent() -> Self {
        Self::new(Class::Permanent)
    }

    /// Says that the attempt is proved not to have reached the operation.
    #[must_use]
    pub const fn unsent(mut self) -> Self {
        self.effect = Effect::Unsent;
        self
    }

    /// Adds the server's hint.
    #[must_use]
    pub const fn hint(mut self, hint: Hint) -> Self {
        self.hint = Some(hint);
        self
    }

    /// Says what it was lost with: one connection, or one redial that many wait for.
    ///
    /// The budget pays once for all retries after one loss, and not for each. What bounds them is the attempts of each
    /// call and the pace of the redials, so a driver says it of failures alone that wait for a paced redial.
    #[must_use]
    pub const fn lost_with(mut self, loss: Loss) -> Self {
        self.loss = Some(loss);
        self
    }

    /// Says that the other side is well, and has refused this attempt for a reason of its own: a token that has ended, a copy of the
    /// request that is being done. Breaker, throttle and adaptive limit count it as an answer.
    #[must_use]
    pub const fn healthy(mut self) -> Self {
        self.healthy = true;
        self
    }

    /// Says what has failed.
    #[must_use]
    pub const fn because(mut self, cause: Cause) -> Self {
        self.cause = Some(cause);
        self
    }

    /// Adds a hint of the server: "not before this delay has passed".
    #[must_use]
    pub const fn retry_after(self, delay: Duration) -> Self {
        self.hint(Hint::AtLeast(delay))
    }
}

/// How one attempt ended: well, or with this failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The call is done.
    Success,
    /// It failed; the decision follows.
    Failure(Failure),
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
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say which of its failures are worth a retry",
    label = "becalm does not know what this error means",
    note = "for an error of your own: `impl becalm::Classify for {Self}`",
    note = "for an error of another crate: a client of becalm, where there is one (`becalm-reqwest`, `becalm-tower`, `becalm-grpc`, \
            `becalm-redis`, `becalm-sqlx`, `becalm-ws`); or `.classify_with(|attempt, error: &{Self}| ..)` on the call or \
            the retrier; or `.classify_by(..)` with a type of your own",
    note = "where only the operation knows: let it return `Err((Failure, error))`",
    note = "for `anyhow::Error`: the feature `anyhow` of becalm, and `.await.map_err(becalm::GaveUp::into_anyhow)?` (the `.await` stays)"
)]
pub trait Classify {
    /// What kind of failure this is.
    fn classify(&self) -> Failure;

    /// This error with its sources: `Some(self)` where it is an `Error`. A give-up then says all that lies below it, down to
    /// the root cause.
    fn as_error(&self) -> Option<&(dyn core::error::Error + 'static)> {
        None
    }
}

/// Says what each error of a type means for a retry: for errors of other crates.
///
/// A named type serves all calls of one static retrier, whatever they return on success
/// ([`Retrier::classify_by`](crate::Retrier::classify_by)); a closure serves one
/// ([`classify_with`](crate::Retrier::classify_with)).
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say what the error `{E}` means for a retry",
    label = "becalm does not know what this error means",
    note = "for a boxed error, as tower's time-outs, buffers and `load_shed` have it: put `.map_err(becalm_tower::client::Boxed::new)` \
            right below `.layer(RetryLayer::new(..))`",
    note = "for any other: a type of your own that implements `becalm::classify::Classifier<{E}>`"
)]
pub trait Classifier<E> {
    /// What kind of failure this is, of this attempt.
    fn classify(&self, attempt: Attempt, error: &E) -> Failure;

    /// The error with its sources: `Some(error)` where it is an `Error`. A give-up then says all that lies below it, down to
    /// the root cause.
    fn as_error<'e>(&self, error: &'e E) -> Option<&'e (dyn core::error::Error + 'static)> {
        let _ = error;
        None
    }
}

/// The default classifier: an error classifies itself.
///
/// An operation may also return `Err((failure, error))`, where only it knows what happened. On a
/// retrier with a classifier of its own, such a call asks for this one: `.classify_by(ByTrait)`.
#[derive(Debug, Clone, Copy, Default)]
pub struct ByTrait;

impl<E: Classify> Classifier<E> for ByTrait {
    #[inline]
    fn classify(&self, _: Attempt, error: &E) -> Failure {
        error.classify()
    }

    fn as_error<'e>(&self, error: &'e E) -> Option<&'e (dyn core::error::Error + 'static)> {
        error.as_error()
    }
}

/// The classifier that asks a closure about each error.
#[derive(Debug, Clone, Copy)]
pub struct ByError<F>(pub(crate) F);

impl<E, F: Fn(Attempt, &E) -> Failure> Classifier<E> for ByError<F> {
    #[inline]
    fn classify(&self, attempt: Attempt, error: &E) -> Failure {
        (self.0)(attempt, error)
    }
}

/// What an engine asks about an error. Every [`Classifier`] is one; there is no need to implement it.
#[diagnostic::on_unimplemented(
    message = "becalm does not know what the error `{E}` means for a retry",
    note = "for an error of your own: `impl becalm::Classify for {E}`, and `Display`",
    note = "for an error of another crate: `.classify_with(|attempt, error: &{E}| ..)` on the call or the \
            retrier, or `.classify_by(..)` with a type that implements `becalm::classify::Classifier<{E}>`",
    note = "where only the operation knows: let it return `Err((Failure, error))`"
)]
pub trait Judge<E> {
    /// What a give-up keeps of the error.
    type Error;

    /// What the error means, of this attempt, and what observers see of it.
    fn judge<'a>(&self, attempt: Attempt, error: &'a E) -> (Failure, &'a dyn Display);

    /// What the give-up keeps of it.
    fn keep(&self, error: E) -> Self::Error;

    /// The error with its sources, where the classifier knows them ([`Classifier::as_error`]).
    fn as_error<'e>(&self, error: &'e E) -> Option<&'e (dyn core::error::Error + 'static)> {
        let _ = error;
        None
    }
}

impl<E: Display, C: Classifier<E>> Judge<E> for C {
    type Error = E;

    fn judge<'a>(&self, attempt: Attempt, error: &'a E) -> (Failure, &'a dyn Display) {
        (self.classify(attempt, error), error)
    }

    fn keep(&self, error: E) -> E {
        error
    }

    fn as_error<'e>(&self, error: &'e E) -> Option<&'e (dyn core::error::Error + 'static)> {
        Classifier::as_error(self, error)
    }
}

/// Of an operation that says itself what its error means. Of this classifier alone: beside every other
/// one Rust cannot rule out that a later standard library makes a pair `Display`, and so a thing to
/// classify.
impl<E: Display> Judge<(Failure, E)> for ByTrait {
    type Error = E;

    fn judge<'a>(
        &self,
        _: Attempt,
        (failure, error): &'a (Failure, E),
    ) -> (Failure, &'a dyn Display) {
        (*failure, error)
    }

    fn keep(&self, (_, error): (Failure, E)) -> E {
        error
    }
}

/// Judges the result of an operation whose `Ok` may mean failure, such as a response with status 503.
///
/// The give-up then keeps that value, as [`Rejected::Value`].
///
/// ```
/// use becalm::classify::{Failure, Rejected, Verdict, judged};
/// use becalm::{GaveUp, Policy, time::FakeSleeper};
///
/// fn fetch() -> std::io::Result<u16> {
///     Ok(503)
/// }
/// let orders = Policy::default().builder().sleeper(FakeSleeper::auto()).build()?;
/// let gave_up = orders
///     .retry_blocking(|_| {
///         judged(fetch(), |result| match result {
///             Ok(503) => Failure::transient().into(),
///             Ok(_) => Verdict::Success,
///             Err(_) => Failure::transient().into(),
///         })
///     })
///     .unwrap_err();
/// assert!(matches!(gave_up.into_error(), Some(Rejected::Value(503))));
/// # Ok::<(), becalm::policy::InvalidPolicy>(())
/// ```
pub fn judged<T, E>(
    result: Result<T, E>,
    judge: impl FnOnce(Result<&T, &E>) -> Verdict,
) -> Result<T, (Failure, Rejected<T, E>)> {
    match (judge(result.as_ref()), result) {
        (Verdict::Success, Ok(value)) => Ok(value),
        (Verdict::Failure(failure), Ok(value)) => Err((failure, Rejected::Value(value))),
        (Verdict::Failure(failure), Err(error)) => Err((failure, Rejected::Error(error))),
        // An error cannot be the value of a call.
        (Verdict::Success, Err(error)) => Err((Failure::permanent(), Rejected::Error(error))),
    }
}

/// What a [`judged`] call ended with: an error, or an `Ok` that means failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejected<T, E> {
    /// An `Ok` value that means failure.
    Value(T),
    /// An error.
    Error(E),
}

impl<T, E: Display> Display for Rejected<T, E> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Value(_) => f.write_str("the answer means failure"),
            Self::Error(error) => error.fmt(f),
        }
    }
}

impl<T: core::fmt::Debug, E: core::error::Error> core::error::Error for Rejected<T, E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Value(_) => None,
            Self::Error(error) => error.source(),
        }
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
        let failure = match self.kind() {
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
        };
        match FailureKind::of_io(self.kind()) {
            Some(kind) => failure.because(Cause::Kind(kind)),
            None => failure,
        }
    }

    fn as_error(&self) -> Option<&(dyn core::error::Error + 'static)> {
        Some(self)
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use std::io::{Error, ErrorKind};

    const CONNECT: Cause = Cause::Kind(FailureKind::Connect);

    #[test]
    fn an_io_error_is_unsent_only_where_that_is_proved() {
        for kind in [ErrorKind::ConnectionRefused, ErrorKind::AddrNotAvailable] {
            let failure = Failure::transient().unsent().because(CONNECT);
            assert_eq!(Error::from(kind).classify(), failure, "{kind}");
        }
        for (kind, cause) in [
            (ErrorKind::HostUnreachable, CONNECT),
            (ErrorKind::NetworkUnreachable, CONNECT),
            (ErrorKind::NetworkDown, CONNECT),
            (ErrorKind::NotConnected, Cause::Kind(FailureKind::Reset)),
            (ErrorKind::ConnectionReset, Cause::Kind(FailureKind::Reset)),
            (ErrorKind::TimedOut, Cause::Kind(FailureKind::TimedOut)),
        ] {
            let failure = Failure::transient().because(cause);
            assert_eq!(Error::from(kind).classify(), failure, "{kind}");
        }
    }

    #[test]
    fn what_no_repetition_mends_is_permanent_and_what_may_pass_is_not() {
        for kind in [
            ErrorKind::NotFound,
            ErrorKind::PermissionDenied,
            ErrorKind::InvalidData,
        ] {
            let class = Error::from(kind).classify().class;
            assert_eq!(class, Class::Permanent, "{kind}");
        }
        // Too many open files, and a name that did not resolve, have no stable kind.
        let table_full = Error::from_raw_os_error(24);
        assert_eq!(table_full.classify(), Failure::transient());
    }
}
