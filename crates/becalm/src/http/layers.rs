//! What do headers carry between the layers of different processes?

use std::io::Write;
use std::time::Duration;

use ::http::{HeaderMap, HeaderName, HeaderValue};

use super::grpc::grpc_timeout;
use super::headers::{should_retry, whole_field};
use crate::scope::{Scope, ScopeHeader, Told};
use crate::stop::StopReason;
use crate::time::{ClockId, Instant};

static SCOPE: HeaderName = HeaderName::from_static(ScopeHeader::NAME);
static RETRY: HeaderName = HeaderName::from_static(Told::NAME);
static SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");
/// What counts attempts, and what is to be added.
static COUNTS: [(HeaderName, u64); 3] = [
    (HeaderName::from_static("x-envoy-attempt-count"), 0),
    (HeaderName::from_static("grpc-previous-rpc-attempts"), 1),
    (HeaderName::from_static("x-stainless-retry-count"), 1),
];
static OF_AMZ: HeaderName = HeaderName::from_static("amz-sdk-request");
static OF_TIMEOUT: HeaderName = HeaderName::from_static("x-envoy-is-timeout-retry");
static ENVOY_TIMEOUT: HeaderName = HeaderName::from_static("x-envoy-expected-rq-timeout-ms");
/// The longest scope has 61 bytes.
const LONGEST_SCOPE: usize = 64;

/// The scope of a request that came with these headers at `now` on this clock: [`Scope::decode`]
/// of `becalm-scope`, and what other systems say of the same things.
///
/// | header | from | says |
/// |---|---|---|
/// | `x-envoy-attempt-count: N` | Envoy | attempt N |
/// | `x-envoy-is-timeout-retry: true` | Envoy | a retry |
/// | `x-envoy-expected-rq-timeout-ms: N` | Envoy | N ms remain (0 means no limit) |
/// | `grpc-previous-rpc-attempts: N` | gRPC (proposal A6) | attempt N + 1 |
/// | `grpc-timeout: 100m` | gRPC over HTTP/2 | 100 ms remain |
/// | `x-stainless-retry-count: N` | OpenAI, Anthropic and other SDKs built with Stainless | attempt N + 1 |
/// | `amz-sdk-request: attempt=N; max=M` | AWS SDKs | attempt N |
///
/// Of several the latest attempt and the shortest time count. An attempt past the first, counted by
/// whichever layer, repeats: retriers below run once. Garbage is ignored. Like [`Scope::decode`], this
/// has somebody above to tell even if there is no such header.
///
/// ```
/// use becalm::{http, time::StdSleeper, Sleeper};
/// # use ::http::Request;
/// let clock = StdSleeper::new();
/// let request = Request::get("/orders/17")
///     .header("becalm-scope", "attempt=1, repeated")
///     .header("x-envoy-attempt-count", "2")
///     .body(())?;
/// let scope = http::scope(request.headers(), clock.now(), clock.clock());
/// assert_eq!(scope.attempt(), 2);
/// assert!(scope.is_repeated_above() && !scope.is_first_try());
/// # Ok::<(), ::http::Error>(())
/// ```
pub fn scope(headers: &HeaderMap, now: Instant, clock: ClockId) -> Scope {
    let mut said = own(headers);
    for (name, offset) in &COUNTS {
        for count in texts(headers, name).filter_map(number) {
            said.at_attempt(count.saturating_add(*offset));
        }
    }
    for attempt in texts(headers, &OF_AMZ).filter_map(amz_attempt) {
        said.at_attempt(attempt);
    }
    if texts(headers, &OF_TIMEOUT).any(|text| text == "true") {
        said.at_retry();
    }
    let of_envoy = texts(headers, &ENVOY_TIMEOUT)
        .filter_map(number)
        .filter(|millis| *millis > 0)
        .map(Duration::from_millis);
    if let Some(remaining) = of_envoy.chain(grpc_timeout(headers)).min() {
        said.within(remaining);
    }
    Scope::from_remote(&said, now, clock)
}

/// Writes the scope into the headers of a request that is sent at `now` on this clock: see
/// [`Scope::encode`].
///
/// Replaces the field that may be there: one that came with an incoming request speaks of the
/// layers above that one, and must not be forwarded as it is.
pub fn write_scope(headers: &mut HeaderMap, scope: Scope, now: Instant, clock: ClockId) {
    let value = scope.encode(now, clock).and_then(value_of);
    match value {
        Some(value) => headers.insert(&SCOPE, value),
        None => headers.remove(&SCOPE),
    };
}

/// Writes into the headers of a failed response why a layer below could not retry, if the layers above
/// are [told](StopReason::is_told_above): `becalm-retry`, and where they are forbidden to retry
/// `x-should-retry: false`, for SDKs built with Stainless.
///
/// The reason is [`GaveUp::reason`](crate::GaveUp::reason), or
/// [`Scope::told_below`] of the request's scope after the work.
pub fn write_told(headers: &mut HeaderMap, reason: StopReason) {
    let answer = Told::because(reason).map(|answer| answer.to_string());
    if let Some(Ok(value)) = answer.map(HeaderValue::try_from) {
        headers.insert(&RETRY, value);
        if reason == StopReason::DoNotRetry {
            headers.insert(&SHOULD_RETRY, HeaderValue::from_static("false"));
        }
    }
}

/// Why a layer below could not retry, or that the server forbids it, as the headers of a failed response
/// [tell](write_told): what [`Scope::telling`] takes. Every form of "do not retry" counts
/// ([`should_retry`]).
pub fn told(headers: &HeaderMap) -> Option<StopReason> {
    match should_retry(headers) {
        Some(false) => Some(StopReason::DoNotRetry),
        _ => super::headers::told(headers).map(Told::reason),
    }
}

/// Written where it lies, so that it is copied once.
fn value_of(header: ScopeHeader) -> Option<HeaderValue> {
    let mut written = [0; LONGEST_SCOPE];
    let mut rest = &mut written[..];
    write!(rest, "{header}").ok()?;
    let length = LONGEST_SCOPE - rest.len();
    HeaderValue::from_bytes(&written[..length]).ok()
}

fn own(headers: &HeaderMap) -> ScopeHeader {
    whole_field(headers, &SCOPE)
        .map_or_else(ScopeHeader::default, |field| ScopeHeader::read(&field))
}

fn texts<'a>(headers: &'a HeaderMap, name: &'a HeaderName) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(name).into_iter();
    lines.filter_map(|line| line.to_str().ok()).map(str::trim)
}

/// Digits and nothing else; more than fit saturate.
fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

/// AWS SDKs' `attempt=2; max=3`.
fn amz_attempt(text: &str) -> Option<u64> {
    let mut parts = text.split(';').map(str::trim);
    number(parts.find_map(|part| part.strip_prefix("attempt="))?)
}
