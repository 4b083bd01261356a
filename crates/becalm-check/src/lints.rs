//! Which dangers does the mapped policy have, and at which lines?

use becalm::lint::Lint;

use crate::code;
use crate::document::Span;
use crate::finding::{Finding, Severity};
use crate::mapping::{Mapping, Origin};

/// The lints of the policy, each at the key that it is about where the file has that, otherwise where
/// the retries are configured. A policy may leave its total time to its caller; a system that does has nobody to ask.
pub fn of(mapping: &Mapping) -> Vec<Finding> {
    let lints = mapping.policy.lints();
    let is_told = lints.iter().any(|it| it.code == "no-deadline");
    let is_unbounded = mapping.policy.attempts > 1 && mapping.policy.deadline.is_none();
    let findings = lints.iter().map(|lint| finding(mapping, lint));
    findings
        .chain((is_unbounded && !is_told).then(|| no_total_time(mapping)))
        .collect()
}

fn no_total_time(mapping: &Mapping) -> Finding {
    let sentence = format!(
        "{}: nothing bounds how long all attempts of a call take together",
        mapping.name
    );
    let remedy =
        remedy(mapping.system, "no-deadline").unwrap_or("set a time-out for the whole call");
    Finding::new(
        &mapping.file,
        mapping.span,
        code::NO_TOTAL_TIME,
        sentence,
        remedy,
    )
}

fn finding(mapping: &Mapping, lint: &Lint) -> Finding {
    let (sentence, own) = lint
        .message
        .rsplit_once("; ")
        .unwrap_or((&lint.message, ""));
    let remedy = remedy(mapping.system, lint.code)
        .map_or_else(|| format!("as a policy: {own}"), ToOwned::to_owned);
    Finding {
        file: mapping.file.clone(),
        span: place(mapping, lint.code),
        code: lint.code,
        severity: Severity::Warning,
        sentence: format!("{}: {sentence}", mapping.name),
        remedy: if own.is_empty() {
            String::new()
        } else {
            remedy
        },
    }
}

fn place(mapping: &Mapping, code: &str) -> Span {
    let keys = KEYS.iter().find(|(it, _)| *it == code);
    let keys = keys.map_or(&[][..], |(_, keys)| keys);
    let told = |key: &&str| {
        let (_, origin) = mapping.origins.iter().find(|(it, _)| it == key)?;
        match origin {
            Origin::Line(span) | Origin::Derived(span, _) => Some(*span),
            _ => None,
        }
    };
    keys.iter().find_map(told).unwrap_or(mapping.span)
}

/// Which keys a lint is about, the most telling first.
const KEYS: &[(&str, &[&str])] = &[
    ("no-bound", &["attempts"]),
    ("unlimited-without-budget", &["attempts"]),
    ("no-budget", &["budget"]),
    ("retries-at-once", &["base", "floor"]),
    ("no-jitter", &["jitter", "base"]),
    ("jitter-after-cap", &["jitter", "cap"]),
    ("narrow-jitter", &["jitter", "base"]),
    ("no-growth", &["multiplier", "backoff", "base"]),
    ("large-budget", &["budget"]),
    ("concurrency-alone", &["budget"]),
    ("nested-retries", &["nested"]),
    ("hedge-without-budget", &["hedge"]),
    ("breaker-opened-by-one-call", &["breaker"]),
    ("breaker-hair-trigger", &["breaker"]),
    ("repeats-non-idempotent", &["retry_on"]),
    ("repeats-what-may-be-done", &["retry_on"]),
    ("budget-never-grants", &["budget"]),
    ("budget-runs-out", &["budget"]),
    (
        "attempt-timeout-fills-deadline",
        &["attempt_timeout", "deadline"],
    ),
    ("waits-exceed-deadline", &["deadline", "attempts"]),
    ("no-deadline", &["attempt_timeout"]),
    ("long-waits", &["cap", "base"]),
];

/// What helps in the words of the system, where those of a policy are not its own.
fn remedy(system: &str, lint: &str) -> Option<&'static str> {
    let found = REMEDIES
        .iter()
        .find(|(it, code, _)| *it == system && *code == lint);
    found.map(|(_, _, remedy)| *remedy)
}

const REMEDIES: &[(&str, &str, &str)] = &[
    (
        "envoy",
        "no-budget",
        "set `circuit_breakers.thresholds.retry_budget` of the cluster",
    ),
    (
        "envoy",
        "concurrency-alone",
        "set `num_retries: 1`, and a budget where the clients are: Envoy has none that looks at traffic",
    ),
    ("envoy", "no-deadline", "set the route's `timeout`"),
    (
        "envoy",
        "hints-ignored",
        "set `rate_limited_retry_back_off` with the header `Retry-After`",
    ),
    (
        "envoy",
        "attempt-timeout-fills-deadline",
        "lower `per_try_timeout` or `num_retries`, or raise the route's `timeout`",
    ),
    (
        "envoy",
        "waits-exceed-deadline",
        "lower `num_retries` or `base_interval`, or raise the route's `timeout`",
    ),
    (
        "envoy",
        "repeats-non-idempotent",
        "give POST and PATCH a route of their own, whose `retry_on` is \"connect-failure,refused-stream\"",
    ),
    (
        "envoy",
        "repeats-what-may-be-done",
        "set `retry_on` to \"connect-failure,refused-stream,unavailable,retriable-status-codes\" with the status 503",
    ),
    (
        "istio",
        "no-budget",
        "set `trafficPolicy.retryBudget` in a DestinationRule",
    ),
    (
        "istio",
        "concurrency-alone",
        "set `attempts: 1`, and a budget where the clients are: Istio has none that looks at past traffic",
    ),
    ("istio", "no-deadline", "set the route's `timeout`"),
    (
        "istio",
        "hints-ignored",
        "lower `attempts`: Istio heeds no Retry-After",
    ),
    (
        "istio",
        "attempt-timeout-fills-deadline",
        "lower `perTryTimeout` or `attempts`, or raise the route's `timeout`",
    ),
    (
        "istio",
        "waits-exceed-deadline",
        "lower `attempts` or `backoff`, or raise the route's `timeout`",
    ),
    (
        "istio",
        "repeats-non-idempotent",
        "match POST and PATCH in a route of their own, whose `retryOn` is \"connect-failure,refused-stream\"",
    ),
    (
        "istio",
        "repeats-what-may-be-done",
        "set `retryOn` to \"connect-failure,refused-stream,unavailable,503\"",
    ),
    (
        "envoy-gateway",
        "concurrency-alone",
        "set `numRetries: 1`, and a budget where the clients are: Envoy has none that looks at traffic",
    ),
    (
        "envoy-gateway",
        "hints-ignored",
        "lower `numRetries`: Envoy Gateway heeds no Retry-After",
    ),
    (
        "envoy-gateway",
        "attempt-timeout-fills-deadline",
        "lower `perRetry.timeout` or `numRetries`, or raise `timeout.http.requestTimeout`",
    ),
    (
        "envoy-gateway",
        "repeats-non-idempotent",
        "match POST and PATCH in a route of their own with a policy whose triggers are connect-failure and refused-stream",
    ),
    (
        "envoy-gateway",
        "repeats-what-may-be-done",
        "set the triggers connect-failure, refused-stream, unavailable and retriable-status-codes, with the status 503",
    ),
    (
        "gateway-api",
        "no-budget",
        "set `retryConstraint` in an XBackendTrafficPolicy, where the implementation has it",
    ),
    ("gateway-api", "no-deadline", "set `timeouts.request`"),
    (
        "gateway-api",
        "hints-ignored",
        "ask the implementation: the specification says nothing of Retry-After",
    ),
    (
        "gateway-api",
        "attempt-timeout-fills-deadline",
        "set `backendRequest` to less than `request`, so that there is room for a retry",
    ),
    (
        "gateway-api",
        "repeats-non-idempotent",
        "match POST and PATCH in a rule of their own without `retry`",
    ),
    (
        "gateway-api",
        "repeats-what-may-be-done",
        "set `codes: [503]`, and match what is not idempotent in a rule of its own without `retry`",
    ),
    (
        "spring-cloud-gateway",
        "no-budget",
        "lower `retries`: Spring Cloud Gateway has no budget",
    ),
    (
        "spring-cloud-gateway",
        "no-jitter",
        "set `jitter`, which the gateway on WebFlux has",
    ),
    (
        "spring-cloud-gateway",
        "retries-at-once",
        "set `backoff`, and `jitter` where the gateway has it",
    ),
    (
        "spring-cloud-gateway",
        "no-growth",
        "set a `factor` of 2, and a `maxBackoff` above `firstBackoff`",
    ),
    (
        "spring-cloud-gateway",
        "hints-ignored",
        "lower `retries`: the filter heeds no Retry-After",
    ),
    (
        "spring-cloud-gateway",
        "no-deadline",
        "set `timeout`, after which the gateway on WebFlux begins no attempt",
    ),
    (
        "spring-cloud-gateway",
        "attempt-timeout-fills-deadline",
        "lower `response-timeout` or `retries`, or raise `timeout`",
    ),
    (
        "spring-cloud-gateway",
        "waits-exceed-deadline",
        "lower `retries` or `firstBackoff`, or raise `timeout`",
    ),
    (
        "spring-cloud-gateway",
        "repeats-non-idempotent",
        "leave POST and PATCH out of `methods`",
    ),
    (
        "spring-cloud-gateway",
        "repeats-what-may-be-done",
        "leave POST and PATCH out of `methods`, or give them a route of their own with `statuses: SERVICE_UNAVAILABLE`, an empty `series` and `exceptions: java.net.ConnectException`",
    ),
    (
        "resilience4j",
        "no-budget",
        "lower `maxAttempts`: Resilience4j has no budget",
    ),
    (
        "resilience4j",
        "no-jitter",
        "set `enableRandomizedWait: true`",
    ),
    ("resilience4j", "retries-at-once", "set `waitDuration`"),
    (
        "resilience4j",
        "no-growth",
        "set an `exponentialBackoffMultiplier` of 1.5 or 2",
    ),
    (
        "resilience4j",
        "hints-ignored",
        "name a class for `intervalBiFunction`, which sees the exception and with it the Retry-After",
    ),
    (
        "resilience4j",
        "no-deadline",
        "set a time-out around the call in code: a TimeLimiter inside the retry ends an attempt",
    ),
    (
        "resilience4j",
        "attempt-timeout-fills-deadline",
        "lower `timeoutDuration` or `maxAttempts`",
    ),
    (
        "resilience4j",
        "repeats-non-idempotent",
        "give what is not idempotent an instance of its own, whose `retryExceptions` name what is said before the work begins",
    ),
    (
        "resilience4j",
        "repeats-what-may-be-done",
        "name in `retryExceptions` what is said before the work begins, such as java.net.ConnectException",
    ),
    (
        "dotnet-resilience",
        "no-budget",
        "lower `MaxRetryAttempts` or `MaxHedgedAttempts`: the handlers have no budget",
    ),
    ("dotnet-resilience", "no-jitter", "set `UseJitter` to true"),
    (
        "dotnet-resilience",
        "no-growth",
        "set `BackoffType` to Exponential",
    ),
    (
        "dotnet-resilience",
        "hints-ignored",
        "set `ShouldRetryAfterHeader` to true; a hedging handler heeds no Retry-After",
    ),
    (
        "dotnet-resilience",
        "attempt-timeout-fills-deadline",
        "lower `AttemptTimeout` or `MaxRetryAttempts`, or raise `TotalRequestTimeout`",
    ),
    (
        "dotnet-resilience",
        "waits-exceed-deadline",
        "lower `MaxRetryAttempts` or `Delay`, or raise `TotalRequestTimeout`",
    ),
    (
        "dotnet-resilience",
        "repeats-non-idempotent",
        "call `options.Retry.DisableForUnsafeHttpMethods()` where the handler is added, and hedge only what is safe to repeat",
    ),
    (
        "dotnet-resilience",
        "repeats-what-may-be-done",
        "call `options.Retry.DisableForUnsafeHttpMethods()` where the handler is added, and hedge only what is safe to repeat",
    ),
    (
        "dotnet-resilience",
        "unlimited-without-budget",
        "set a smaller `MaxRetryAttempts`",
    ),
    (
        "dotnet-resilience",
        "hedge-without-budget",
        "lower `MaxHedgedAttempts`, or raise `Delay`",
    ),
    (
        "dotnet-resilience",
        "hedge-never-starts",
        "lower `Delay` of `Hedging`, or raise the `Timeout` of `Endpoint`",
    ),
    (
        "dotnet-resilience",
        "breaker-no-jitter",
        "set `BreakDurationGenerator` in code, with a part drawn at random",
    ),
    (
        "dotnet-resilience",
        "breaker-hair-trigger",
        "raise `FailureRatio` or `MinimumThroughput`",
    ),
    (
        "resilience4j",
        "waits-exceed-deadline",
        "lower `maxAttempts` or `waitDuration`, or raise `timeoutDuration`",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::System;

    #[test]
    fn rows_are_about_lints_and_systems_that_there_are() {
        let lints = Lint::CODES;
        assert!(KEYS.iter().all(|(lint, _)| lints.contains(lint)));
        for (system, lint, _) in REMEDIES {
            assert!(System::all().any(|it| it.name == *system), "{system}");
            assert!(lints.contains(lint), "{lint}");
        }
    }
}
