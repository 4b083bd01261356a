//! What may one request set for itself?

use std::time::Duration;

use becalm::call::CallOptions;
use becalm::shared::Shared;
use becalm::throttle::Priority;
use becalm::{IdempotencyKey, Operation, http as semantics};
use http::request::Parts;

/// The settings of one request, put into its extensions. What is not set is the policy's.
///
/// ```
/// use becalm_tower::client::RetryOptions;
///
/// let mut request = http::Request::post("http://shop.example/orders").body(())?;
/// request.extensions_mut().insert(RetryOptions::new().keyed());
/// # Ok::<(), http::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
#[must_use = "options are put into the extensions of a request"]
pub struct RetryOptions {
    operation: Option<Operation>,
    attempts: Option<u32>,
    deadline: Option<Duration>,
    priority: Priority,
}

impl RetryOptions {
    /// Options that leave everything to the policy and to the request's method and headers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Declares whether the request may be repeated, and how. Default: as the policy's list of
    /// [methods](becalm::retry_on::RetryOn::methods) says, or else its method and its `Idempotency-Key` (RFC 9110
    /// section 9.2.2; see [`becalm::http::operation`]).
    pub fn operation(mut self, operation: Operation) -> Self {
        self.operation = Some(operation);
        self
    }

    /// Gives all attempts one new key, in an `Idempotency-Key` header
    /// (draft-ietf-httpapi-idempotency-key-header-07), by which the server recognises a repetition.
    /// For servers that know it: to others the header says nothing, and a POST is done twice.
    ///
    /// A request that has such a header already keeps its own.
    pub fn keyed(self) -> Self {
        self.operation(Operation::Keyed(IdempotencyKey::random()))
    }

    /// Sets how many attempts the request may make, the first included. 1 means no repetition.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = Some(attempts);
        self
    }

    /// Sets the longest time of the request up to the head of its answer, with all attempts and waits.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Declares what [`operation`](Self::operation) does where nothing is declared yet: for a driver that
    /// knows the request's method better.
    pub fn or_operation(mut self, operation: Operation) -> Self {
        self.operation.get_or_insert(operation);
        self
    }

    /// Cuts the [deadline](Self::deadline), or where none is set `otherwise`, the policy's, to this limit.
    pub fn within(mut self, limit: Duration, otherwise: Option<Duration>) -> Self {
        let deadline = self.deadline.or(otherwise);
        self.deadline = Some(deadline.map_or(limit, |deadline| deadline.min(limit)));
        self
    }

    /// Sets how soon an adaptive throttle may shed this request. Default
    /// [`Critical`](Priority::Critical).
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// The options of the call with this request, which gets its key.
    pub(super) fn of_call(self, policy: &Shared, head: &mut Parts) -> CallOptions {
        let operation = semantics::declare(self.operation, policy, &head.method, &mut head.headers);
        CallOptions::new()
            .operation(operation)
            .attempts(self.attempts)
            .deadline(self.deadline)
            .priority(self.priority)
    }
}
