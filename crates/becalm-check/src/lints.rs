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
    let remedy = remedy(mapping.system, lint.code).map(|it| left_to_do(mapping, it));
    let remedy = remedy.unwrap_or_else(|| format!("as a policy: {own}"));
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

/// The remedy without what the file does already: a single retry.
fn left_to_do(mapping: &Mapping, remedy: &str) -> String {
    let one_retry = remedy.split_once(": 1`, and ");
    match one_retry.filter(|_| mapping.policy.attempts <= 2) {
        Some((_, rest)) => format!("set {rest}"),
        None => remedy.to_owned(),
    }
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
        "linkerd",
        "no-bound",
        "set `timeout` of the route, which nothing else bounds",
    ),
    (
        "linkerd",
        "no-deadline",
        "set `timeout.linkerd.io/request`, or `timeout` of a profile's route",
    ),
    (
        "linkerd",
        "no-budget",
        "set a `retryBudget` in a ServiceProfile: the annotations have none",
    ),
    (
        "linkerd",
        "retries-at-once",
        "annotate the service with `retry.linkerd.io/http` in place of the profile, which waits 25 to 250 ms",
    ),
    (
        "linkerd",
        "no-growth",
        "annotate the service with `retry.linkerd.io/http` in place of the profile, whose waits grow",
    ),
    (
        "linkerd",
        "hints-ignored",
        "lower the budget or the limit: Linkerd heeds no Retry-After",
    ),
    (
        "linkerd",
        "large-budget",
        "set a `retryRatio` of 0.1 to 0.2, and a lower `minRetriesPerSecond` in a large fleet",
    ),
    (
        "linkerd",
        "repeats-non-idempotent",
        "give POST and PATCH a route of their own, without retries",
    ),
    (
        "linkerd",
        "repeats-what-may-be-done",
        "give POST and PATCH a route of their own, without retries, or one that repeats 503 alone",
    ),
    (
        "aws-config",
        "no-budget",
        "set `retry_mode = standard`, which has a quota",
    ),
    (
        "aws-config",
        "hints-ignored",
        "set `retry_mode = standard` with botocore 1.44, which heeds x-amz-retry-after",
    ),
    (
        "aws-config",
        "hints-clamped",
        "nothing to set: the SDKs bound what x-amz-retry-after asks for",
    ),
    (
        "aws-config",
        "no-deadline",
        "lower `max_attempts`, and pass a shorter `read_timeout` in code: nothing bounds a whole call",
    ),
    (
        "aws-config",
        "rate-waits-forever",
        "set `retry_mode = standard`, or bound the call in code",
    ),
    (
        "aws-config",
        "repeats-non-idempotent",
        "pass a client token where the operation has one; a client for the others gets `total_max_attempts: 1` in code",
    ),
    (
        "aws-config",
        "repeats-what-may-be-done",
        "pass a client token where the operation has one; a client for the others gets `total_max_attempts: 1` in code",
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

    #[test]
    fn who_makes_a_single_retry_is_not_told_to() {
        for (retries, remedy) in [
            (1, "set a budget where"),
            (2, "set `attempts: 1`, and a budget"),
        ] {
            let text = format!(
                "{{apiVersion: networking.istio.io/v1, kind: VirtualService, spec: {{http: [{{\
                 route: [{{destination: {{host: orders}}}}], retries: {{attempts: {retries}}}}}]}}}}\n---\n\
                 {{apiVersion: networking.istio.io/v1, kind: DestinationRule, spec: {{host: orders, \
                 trafficPolicy: {{connectionPool: {{http: {{maxRetries: 5}}}}}}}}}}\n"
            );
            let file = crate::File::new("orders.yaml", &text);
            let found = crate::check(&[file], &crate::Settings::default()).findings;
            let found = found.iter().find(|it| it.code == "concurrency-alone");
            let told = &found.expect("a budget of its own").remedy;
            assert!(told.starts_with(remedy), "{told}");
        }
    }
}
