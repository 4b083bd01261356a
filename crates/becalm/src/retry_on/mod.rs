//! What is repeated, where a policy says it instead of becalm's own classification?
//!
//! [`RetryOn`] is a part of a [`Policy`](crate::Policy): methods, statuses, gRPC codes and kinds of failures. The
//! decision asks it; drivers only say what has failed ([`Cause`]). Guards do not ask it: a 503 that is not repeated
//! counts for a breaker like any other.

mod codes;
mod failures;
mod methods;
mod statuses;

pub use codes::Codes;
pub use failures::Failures;
pub use methods::Methods;
pub use statuses::Statuses;
#[cfg(feature = "serde")]
pub(crate) use {codes::code_names, methods::remedy as method_remedy};

use alloc::string::ToString;
use alloc::sync::Arc;
use core::fmt;

use crate::classify::{Cause, Class, Failure, FailureKind};
use crate::idempotency::Operation;
use crate::setters::setters;

/// What a policy repeats. A list that is left out (`None`, the default of all four) leaves its matter to becalm's own
/// classification; an empty one repeats nothing of it.
///
/// What is on a list is repeated even if becalm calls it permanent, and what is not ends the call. A failure that no
/// list is about, such as a database's, is classified as ever. The laws stand above: a server's "do not retry"
/// ends the call, and an operation that may have been done is repeated only if it is idempotent or keyed, which
/// `methods` declares.
///
/// ```
/// use becalm::Policy;
/// use becalm::classify::FailureKind;
/// use becalm::retry_on::{Failures, Methods, RetryOn, Statuses};
///
/// let listed = RetryOn::new()
///     .methods(Methods::of(["GET", "PUT"]))
///     .statuses("429, 502-504".parse::<Statuses>()?)
///     .failures(Failures::from_iter([FailureKind::Connect, FailureKind::TimedOut]));
/// let policy = Policy::default().retry_on(listed);
/// assert!(policy.validate().is_ok());
/// assert!(policy.to_string().contains("on methods GET, PUT; statuses 429, 502-504; failures connect, timeout"));
/// # Ok::<(), becalm::policy::Unreadable>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RetryOn {
    /// Which HTTP methods may be done twice: a declaration. Default: those that RFC 9110 section 9.2.2 calls idempotent.
    pub methods: Option<Methods>,
    /// Which HTTP statuses are repeated. Default: as [`http_status`](crate::classify::http_status::classify) has it.
    pub statuses: Option<Statuses>,
    /// Which status codes of gRPC are repeated. Default: as [`grpc`](crate::classify::grpc::classify) has it.
    pub codes: Option<Codes>,
    /// Which failures without an answer are repeated. Default: those that are likely to pass.
    pub failures: Option<Failures>,
}

impl RetryOn {
    /// Lists nothing, and leaves all to becalm's own classification.
    pub const fn new() -> Self {
        Self {
            methods: None,
            statuses: None,
            codes: None,
            failures: None,
        }
    }

    /// The class that this failure has for the decision: one that is listed is no longer permanent, and one that is not
    /// listed, although its matter is, is permanent.
    pub fn class_of(&self, failure: &Failure) -> Class {
        let own = failure.class;
        let is_listed = match failure.cause {
            Some(Cause::Status(status)) => self.statuses.map(|listed| listed.contains(status)),
            Some(Cause::Code(code)) => self.codes.map(|listed| listed.contains(code.into())),
            Some(Cause::Kind(kind)) => self.failures.map(|listed| listed.contains(kind)),
            None => None,
        };
        let throttled = FailureKind::Throttled;
        let repeats_throttled = self.failures.is_some_and(|it| it.contains(throttled));
        match (is_listed, own) {
            (Some(true), Class::Permanent) => Class::Transient,
            (Some(false), Class::Throttled) if repeats_throttled => own,
            (Some(false), _) => Class::Permanent,
            (Some(true) | None, own) => own,
        }
    }

    /// What repeating a request with this HTTP method does, of which the method and the headers themselves say `known`: a
    /// listed method is declared idempotent, any other is not. A key stays a key.
    pub fn operation(&self, method: &str, known: Operation) -> Operation {
        match &self.methods {
            Some(_) if known.is_keyed() => known,
            Some(listed) if listed.contains(method) => Operation::Idempotent,
            Some(_) => Operation::NotIdempotent,
            None => known,
        }
    }

    pub(crate) fn says_nothing(&self) -> bool {
        *self == Self::new()
    }
}

setters! {
    /// Setters: each returns the lists with one changed; `None` leaves its matter to becalm's own classification.
    impl RetryOn;
    /// Lists the HTTP methods that may be done twice.
    methods: Option<Methods>;
    /// Lists the HTTP statuses that are repeated.
    statuses: Option<Statuses>;
    /// Lists the status codes of gRPC that are repeated.
    codes: Option<Codes>;
    /// Lists the failures without an answer that are repeated.
    failures: Option<Failures>;
}

impl From<RetryOn> for Option<Arc<RetryOn>> {
    fn from(lists: RetryOn) -> Self {
        Some(Arc::new(lists))
    }
}

/// Each list with its name, as in `statuses 429, 5xx; failures none`.
impl fmt::Display for RetryOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lists = [
            ("methods", self.methods.as_ref().map(ToString::to_string)),
            ("statuses", self.statuses.map(|it| it.to_string())),
            ("codes", self.codes.map(|it| it.to_string())),
            ("failures", self.failures.map(|it| it.to_string())),
        ];
        let said = lists
            .into_iter()
            .filter_map(|(name, list)| Some((name, list?)));
        for (at, (name, list)) in said.enumerate() {
            let apart = if at == 0 { "" } else { "; " };
            let list = if list.is_empty() { "none" } else { &list };
            write!(f, "{apart}{name} {list}")?;
        }
        Ok(())
    }
}
