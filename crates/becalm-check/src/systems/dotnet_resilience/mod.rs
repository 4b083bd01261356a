//! What do sections of an `appsettings.json` say to the resilience handlers of .NET's HTTP clients?
//!
//! `HttpStandardResilienceOptions`, `HttpStandardHedgingResilienceOptions`, their validators and
//! `HttpClientResiliencePredicates` of dotnet/extensions 10.9.0, and the options, `RetryHelper` and `RetryResilienceStrategy` of
//! App-vNext/Polly 8.

mod hedging;
mod options;
mod protection;
mod retrying;
mod sections;

use becalm::Policy;
use becalm::classify::FailureKind;
use becalm::preset::Preset;
use becalm::retry_on::{Codes, Failures, Methods, RetryOn};

use crate::code;
use crate::document::{Document, Span};
use crate::evidence::Evidence;
use crate::list::list;
use crate::mapping::{Draft, Origin};
use crate::reading::Reading;
use crate::scalars::Scalars;
use crate::system::{Follows, Form, Schema, System};
use options::Options;
use sections::{Kind, Section, sections};

pub(super) const DOTNET_RESILIENCE: System = System {
    name: "dotnet-resilience",
    title: "Microsoft.Extensions.Http.Resilience",
    versions: &["10.9"],
    evidence: Evidence::Read,
    form: Form::Tree,
    remedies: REMEDIES,
    fewer: Some("lower `MaxRetryAttempts`"),
    elsewhere: &["no-budget", "hedge-without-budget", "breaker-no-jitter"],
    follows: Follows::Attempts,
    schema: Schema {
        scalars: Scalars::Json,
        ..Schema::OPEN
    },
};

/// What helps against a lint, by its code.
const REMEDIES: &[(&str, &str)] = &[
    (
        "no-budget",
        "lower `MaxRetryAttempts` or `MaxHedgedAttempts`: the handlers have no budget",
    ),
    ("no-jitter", "set `UseJitter` to true"),
    ("no-growth", "set `BackoffType` to Exponential"),
    (
        "hints-ignored",
        "set `ShouldRetryAfterHeader` to true; a hedging handler heeds no Retry-After",
    ),
    (
        "attempt-timeout-fills-deadline",
        "lower `AttemptTimeout` or `MaxRetryAttempts`, or raise `TotalRequestTimeout`",
    ),
    (
        "waits-exceed-deadline",
        "lower `MaxRetryAttempts` or `Delay`, or raise `TotalRequestTimeout`",
    ),
    (
        "repeats-non-idempotent",
        "call `options.Retry.DisableForUnsafeHttpMethods()` where the handler is added, and hedge only what is safe to repeat",
    ),
    (
        "repeats-what-may-be-done",
        "call `options.Retry.DisableForUnsafeHttpMethods()` where the handler is added, and hedge only what is safe to repeat",
    ),
    (
        "unlimited-without-budget",
        "set a smaller `MaxRetryAttempts`",
    ),
    (
        "hedge-without-budget",
        "lower `MaxHedgedAttempts`, or raise `Delay`",
    ),
    (
        "hedge-never-starts",
        "lower `Delay` of `Hedging`, or raise the `Timeout` of `Endpoint`",
    ),
    (
        "breaker-no-jitter",
        "set `BreakDurationGenerator` in code, with a part drawn at random",
    ),
    (
        "breaker-hair-trigger",
        "raise `FailureRatio` or `MinimumThroughput`",
    ),
    ("long-waits", "lower `MaxDelay` or `Delay`"),
    ("breaker-open-long", "lower `BreakDuration`"),
    ("breaker-probes-often", "raise `BreakDuration`"),
    (
        "breaker-needs-traffic",
        "lower `MinimumThroughput`, or raise `SamplingDuration`",
    ),
    (
        "breaker-opened-by-one-call",
        "raise `MinimumThroughput` above the number of attempts",
    ),
    (
        "bulkhead-long-queue",
        "lower `QueueLimit`, or raise `PermitLimit`",
    ),
    ("hedge-eager", "raise `Delay` of `Hedging`"),
];

/// By a section that no other system has. Settings are JSON.
pub(super) fn recognises(document: &Document<'_>) -> bool {
    let is_json = document.text.trim_start().starts_with(['{', '/']);
    let has_any = |tree| sections(tree).next().is_some();
    is_json && document.tree.is_some_and(has_any)
}

const KEYS: &[&str] = list!(
    "attempts base cap jitter hint budget deadline attempt_timeout retry_on bulkhead breaker"
);

pub(super) fn read(reading: &mut Reading<'_>) {
    reading.misread = code::REFUSED;
    let Some(tree) = reading.document.tree else {
        return;
    };
    for section in sections(tree) {
        let options = Options::of(section.given);
        options.check_strategies(reading);
        match section.kind {
            Kind::Standard => standard(reading, &section, options),
            Kind::Hedging => hedging::hedging(reading, &section, options),
        }
    }
}

fn standard(reading: &mut Reading<'_>, section: &Section<'_>, options: Options<'_>) {
    options.check(
        reading,
        "the section",
        list!("RateLimiter TotalRequestTimeout Retry CircuitBreaker AttemptTimeout"),
    );
    let mut draft = Draft::of(preset("polly-http-standard"), KEYS);
    repeated(&mut draft);
    retrying::retrying(reading, &mut draft, options);
    protection::times(reading, &mut draft, options, &["AttemptTimeout"]);
    protection::limits(reading, &mut draft, options);
    protection::breaker(reading, &mut draft, options, &["CircuitBreaker"]);
    in_code(reading, section.span);
    end(reading, draft, section);
}

fn preset(name: &str) -> Policy {
    Preset::by_name(name).map_or_else(|_| Policy::default(), Preset::policy)
}

/// `IsTransient`: an `HttpRequestException`, the time-out of an attempt or of a connection, and these statuses, whatever the
/// method.
fn repeated(draft: &mut Draft) {
    use FailureKind::{Connect, ConnectTimeout, RefusedStream, Reset, TimedOut};
    let failures = [Connect, ConnectTimeout, RefusedStream, Reset, TimedOut];
    let listed = RetryOn::new()
        .methods(Methods::Any)
        .statuses(
            [408, 429]
                .into_iter()
                .chain(500..600)
                .collect::<becalm::retry_on::Statuses>(),
        )
        .codes(Codes::default())
        .failures(failures.into_iter().collect::<Failures>());
    draft.policy.retry_on = listed.into();
    draft.origin("retry_on", Origin::Default);
}

fn in_code(reading: &mut Reading<'_>, span: Span) {
    let sentence = "which client has this section is said in code, and so is `ShouldHandle`: where it is not set a POST is repeated as well";
    reading.find(span, code::IN_CODE, sentence, "");
}

fn end(reading: &mut Reading<'_>, draft: Draft, section: &Section<'_>) {
    let names = section.path.iter().map(|it| (*it).to_owned()).collect();
    let name = if section.path.is_empty() {
        "the section".to_owned()
    } else {
        format!("section {}", section.path.join(":"))
    };
    reading.map(draft, name, names, section.span);
}
