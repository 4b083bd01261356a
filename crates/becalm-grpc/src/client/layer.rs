//! What is set for all calls of a channel that repeats them?

use std::sync::Arc;

use becalm::budget::{Budgets, RetryBudget};
use becalm::policy::InvalidPolicy;
use becalm::run::RetrierBuilder;
use becalm::{Budget, Retrier};
use becalm_tower::client as tower;
use tower_layer::Layer;

use super::methods::Methods;
use super::retry::{Method, Retry, Settings};
use super::transport::ByStatus;
use crate::service_config::{InvalidName, Name, ServiceConfig};

/// How much of a call's messages is kept for a repetition, by default: 256 KiB, as grpc-go keeps for a call.
const REPLAY_LIMIT: usize = 256 * 1024;

/// Repeats the calls of the channel below, which is tonic's `Channel` or any service like it: `SomethingClient::new` of
/// generated code takes what [`layer`](Layer::layer) makes.
///
/// - **What is repeated**: unary and server-streaming calls, until an answer begins. A status without messages before it
///   (`Trailers-Only`) is no beginning; headers are, and commit the call (gRFC A6).
/// - **Client-streaming and bidirectional calls pass untouched**: without retries, time limits or guards. HTTP/2 does not tell the kinds of calls
///   apart, so the rule is: a call is repeated if all its messages are there when it begins. A client's stream that is
///   complete at once is one of these; a bidirectional call that waits for answers never is.
/// - **A message above the [`replay_limit`](Self::replay_limit)** is sent once, within the policy's time limits and guards. What fails then ends with
///   [`BodyNotReplayable`](becalm::StopReason::BodyNotReplayable), in the [`Stopped`](becalm::run::Stopped) of the answer, the sentence
///   of the status and the observer's event. A stream above it that goes on passes untouched.
/// - **Which methods**: gRPC does not say which may be done twice. Without a word of yours only what was proved not to have
///   been sent is repeated (a refused connection, `REFUSED_STREAM`, a `GOAWAY` that names an earlier stream as the last):
///   `UNAVAILABLE` proves nothing. Your word is
///   [`idempotent`](Self::idempotent), a `retryPolicy` of a [service config](Self::of_config),
///   [`RetryOptions`](super::RetryOptions) in the extensions of one request, or a policy that lists `POST`, which is the
///   method of every call, or any ([`RetryOn::methods`](becalm::retry_on::RetryOn::methods)).
/// - **Hints**: `grpc-retry-pushback-ms` is obeyed exactly; negative, unreadable or several, it ends the call (gRFC A6).
///   Without it, `google.rpc.RetryInfo` in the details of the status is the least wait.
/// - **Every attempt** past the first carries `grpc-previous-rpc-attempts`, and each with a time limit `grpc-timeout`: the
///   least of the caller's own, what is left of the deadline, and the attempt time-out. gRPC means the whole answer by
///   it, a stream included: a method whose stream lasts needs a policy whose limits are as long.
/// - **At the end** the caller has the last answer as it came; or, where there was none, a status whose source is the
///   give-up ([`Record`](super::Record)) with the record of the attempts. `DEADLINE_EXCEEDED` is a time limit's,
///   `RESOURCE_EXHAUSTED` a guard's that had no room, `UNAVAILABLE` an open breaker's.
/// - **A call counts as succeeded** for budgets and breakers once its answer has begun, whatever its stream ends with.
///
/// An interceptor below it runs for each attempt, and so can send the latest credentials, which one
/// [login](becalm::login) fetches for all calls; one above it runs once for the call. A
/// [`ScopeLayer`](tower::ScopeLayer) below it tells servers of the attempt; it goes by the origin of a request, which
/// generated clients name if they are made by `with_origin`.
///
/// ```
/// use becalm::Policy;
/// use becalm_grpc::client::RetryLayer;
/// let orders = Policy::default().retrier()?;
/// let slow = Policy::default().attempts(2).retrier()?;
/// let layer = RetryLayer::new(&orders)
///     .idempotent(["/shop.v1.Orders/Get", "/shop.v1.Reports/*"])?
///     .methods(["/shop.v1.Reports/*"], &slow)?;
/// # let _ = layer;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct RetryLayer {
    settings: Arc<Settings>,
}

impl RetryLayer {
    /// A layer that repeats the calls of all methods as this retrier says: one dependency, one budget.
    pub fn new(retrier: &Retrier) -> Self {
        Self::with(Methods::of(Some(Method::new(retrier))))
    }

    /// A layer that repeats what a gRPC service config says, method by method. One throttle is shared by all of them, as
    /// gRPC's methods share it; a config without `retryThrottling` bounds nothing. Methods that it does not name pass
    /// untouched. What it says and becalm does not do is in [`ServiceConfig::not_done`].
    ///
    /// # Errors
    ///
    /// A policy is invalid. The reader has refused those already.
    ///
    /// ```
    /// use becalm_grpc::client::RetryLayer;
    /// let config = r#"{ "methodConfig": [{ "name": [{ "service": "shop.v1.Orders" }], "retryPolicy": {
    ///     "maxAttempts": 4, "initialBackoff": "0.1s", "maxBackoff": "1s", "backoffMultiplier": 2,
    ///     "retryableStatusCodes": ["UNAVAILABLE"] } }],
    ///     "retryThrottling": { "maxTokens": 10, "tokenRatio": 0.1 } }"#;
    /// let layer = RetryLayer::of_config(&config.parse()?)?;
    /// # let _ = layer;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_config(config: &ServiceConfig) -> Result<Self, InvalidPolicy> {
        Self::of_config_with(config, |builder| builder)
    }

    /// As [`of_config`](Self::of_config), where each method's retrier gets a name, an observer or a clock.
    ///
    /// # Errors
    ///
    /// A policy is invalid.
    pub fn of_config_with(
        config: &ServiceConfig,
        with: impl Fn(RetrierBuilder) -> RetrierBuilder,
    ) -> Result<Self, InvalidPolicy> {
        let throttle: Option<Arc<dyn RetryBudget>> = match config.throttling() {
            Budget::None => None,
            budget => Some(Arc::new(Budgets::new(budget))),
        };
        let mut methods = Methods::of(None);
        for entry in config.methods() {
            let mut builder = with(entry.policy().clone().builder());
            if let Some(throttle) = &throttle {
                builder = builder.retry_budget(Arc::clone(throttle));
            }
            let method = Method::new(&builder.build()?);
            for name in entry.names() {
                methods.insert(name, method.clone());
            }
        }
        Ok(Self::with(methods))
    }

    fn with(methods: Methods<Method>) -> Self {
        let settings = Settings {
            replay_limit: REPLAY_LIMIT,
            methods,
            idempotent: Methods::of(None),
        };
        Self {
            settings: Arc::new(settings),
        }
    }

    /// Declares that these methods may be done twice: each `/package.Service/Method`, or `/package.Service/*`.
    ///
    /// # Errors
    ///
    /// One of them is no name of methods.
    pub fn idempotent<'a>(
        mut self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, InvalidName> {
        let settings = Arc::make_mut(&mut self.settings);
        for name in names {
            settings.idempotent.insert(&name.parse::<Name>()?, ());
        }
        Ok(self)
    }

    /// Repeats the calls of these methods as this retrier says: each `/package.Service/Method`, or `/package.Service/*`;
    /// the most specific name holds.
    ///
    /// # Errors
    ///
    /// One of them is no name of methods.
    pub fn methods<'a>(
        mut self,
        names: impl IntoIterator<Item = &'a str>,
        retrier: &Retrier,
    ) -> Result<Self, InvalidName> {
        let method = Method::new(retrier);
        let settings = Arc::make_mut(&mut self.settings);
        for name in names {
            settings
                .methods
                .insert(&name.parse::<Name>()?, method.clone());
        }
        Ok(self)
    }

    /// Sets how many bytes of encoded messages are kept for a repetition, for each call. Default 256 KiB. A longer message is sent
    /// once.
    #[must_use]
    pub fn replay_limit(mut self, bytes: usize) -> Self {
        Arc::make_mut(&mut self.settings).replay_limit = bytes;
        self
    }
}

impl Method {
    fn new(retrier: &Retrier) -> Self {
        let retrier = retrier.classify_by(ByStatus);
        // Of what comes here all was kept already.
        let layer = tower::RetryLayer::classify_by(&retrier).replay_limit(usize::MAX);
        Self { retrier, layer }
    }
}

impl<S: Clone> Layer<S> for RetryLayer {
    type Service = Retry<S>;

    fn layer(&self, channel: S) -> Retry<S> {
        Retry::new(channel, Arc::clone(&self.settings))
    }
}
