//! aws-smithy-runtime: the retry strategies of the AWS SDKs, as their orchestrator asks them.
//!
//! They are no part of their own: an SDK's client asks one before its first request and after each
//! attempt. What the client does besides is not measured.

use std::sync::Arc;

use aws_smithy_async::time::{SharedTimeSource, SystemTimeSource};
use aws_smithy_runtime::client::retries::strategy::StandardRetryStrategy;
use aws_smithy_runtime::client::retries::{RetryPartition, TokenBucket};
use aws_smithy_runtime_api::client::interceptors::context::{
    self, Input, InterceptorContext, Output,
};
use aws_smithy_runtime_api::client::orchestrator::OrchestratorError;
use aws_smithy_runtime_api::client::retries::classifiers::{
    ClassifyRetry, RetryAction, SharedRetryClassifier,
};
use aws_smithy_runtime_api::client::retries::{RequestAttempts, RetryStrategy, ShouldAttempt};
use aws_smithy_runtime_api::client::runtime_components::{
    RuntimeComponents, RuntimeComponentsBuilder,
};
use aws_smithy_types::config_bag::{ConfigBag, Layer};
use aws_smithy_types::retry::{ErrorKind, RetryConfig};

use crate::operation::Failed;
use crate::peers::Throttle;

/// The package.
pub const PACKAGE: &str = "aws-smithy-runtime";

/// The standard strategy with the token bucket of 2026: 500 tokens, 14 for a retry.
pub fn standard() -> impl Throttle {
    strategy(&RetryConfig::standard())
}

/// The strategy with the rate limiter, which is idle until the first throttling error.
pub fn adaptive() -> impl Throttle {
    strategy(&RetryConfig::adaptive())
}

/// What one client holds.
#[derive(Clone)]
struct Client(Arc<Parts>);

struct Parts {
    strategy: StandardRetryStrategy,
    components: RuntimeComponents,
    /// The configuration of a call that has made one attempt, and of one that has made two.
    attempts: [ConfigBag; 2],
    success: InterceptorContext,
    failure: InterceptorContext,
}

fn strategy(config: &RetryConfig) -> impl Throttle + use<> {
    let bucket = TokenBucket::builder()
        .retry_cost(14)
        .timeout_retry_cost(14)
        .throttling_retry_cost(5)
        .build();
    Client(Arc::new(Parts {
        strategy: StandardRetryStrategy::new(),
        components: components(),
        attempts: [1, 2].map(|attempts| {
            let mut layer = Layer::new("a call");
            layer.store_put(config.clone());
            layer.store_put(RetryPartition::new("the bench"));
            layer.store_put(bucket.clone());
            layer.store_put(RequestAttempts::new(attempts));
            ConfigBag::of_layers(vec![layer])
        }),
        success: ended(Ok(Output::erase(7_u64))),
        failure: ended(Err(OrchestratorError::other(Failed))),
    }))
}

fn ended(outcome: Result<Output, OrchestratorError<context::Error>>) -> InterceptorContext {
    let mut context = InterceptorContext::new(Input::erase(()));
    context.set_output_or_error(outcome);
    context
}

/// The fewest that can be built.
fn components() -> RuntimeComponents {
    RuntimeComponentsBuilder::for_tests()
        .with_retry_classifier(SharedRetryClassifier::new(FailuresAreTransient))
        .with_time_source(Some(SharedTimeSource::new(SystemTimeSource::new())))
        .build()
        .expect("the components of a test")
}

#[derive(Debug)]
struct FailuresAreTransient;

impl ClassifyRetry for FailuresAreTransient {
    fn classify_retry(&self, context: &InterceptorContext) -> RetryAction {
        if context.is_failed() {
            RetryAction::retryable_error(ErrorKind::TransientError)
        } else {
            RetryAction::NoActionIndicated
        }
    }

    fn name(&self) -> &'static str {
        "failures are transient"
    }
}

impl Client {
    #[inline]
    fn begin(&self) {
        let Parts {
            strategy,
            components,
            attempts: [first, _],
            ..
        } = &*self.0;
        let may = strategy.should_attempt_initial_request(components, first);
        assert!(matches!(may, Ok(ShouldAttempt::Yes)));
    }

    #[inline]
    fn end(&self, attempts: usize, context: &InterceptorContext) -> bool {
        let Parts {
            strategy,
            components,
            attempts: after,
            ..
        } = &*self.0;
        let again = strategy.should_attempt_retry(context, components, &after[attempts - 1]);
        matches!(again, Ok(ShouldAttempt::YesAfterDelay(_)))
    }
}

impl Throttle for Client {
    #[inline]
    fn success(&mut self) {
        self.begin();
        self.end(1, &self.0.success);
    }

    #[inline]
    fn recovery(&mut self) -> bool {
        self.begin();
        let granted = self.end(1, &self.0.failure);
        if granted {
            self.end(2, &self.0.success);
        }
        granted
    }

    fn failure(&mut self) -> bool {
        self.begin();
        self.end(1, &self.0.failure)
    }
}
