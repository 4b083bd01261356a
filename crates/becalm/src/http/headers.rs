//! What do the response's headers say about the next attempt?

use std::borrow::Cow;
use std::time::Duration;

use ::http::header::{DATE, RETRY_AFTER};
use ::http::{HeaderMap, HeaderName, HeaderValue};

use crate::hint::{self, Hint};
use crate::scope::Told;
use crate::time::UnixTime;

/// Says "no" by being there.
static NACK: HeaderName = name("finagle-http-nonretryable-nack");
/// What proxies say that have no room.
static OVERLOADED: [HeaderName; 4] = [
    name("x-envoy-overloaded"),
    name("x-envoy-local-overloaded"),
    name("x-envoy-ratelimited"),
    name("finagle-http-nack"),
];
static ADVICE: [HeaderName; 2] = [name("x-should-retry"), name("stripe-should-retry")];
/// What names milliseconds, with what reads it.
static FINE: [(HeaderName, Reads); 3] = [
    (name("retry-after-ms"), hint::retry_after_ms),
    (name("x-ms-retry-after-ms"), hint::retry_after_ms),
    (name("x-amz-retry-after"), hint::amz_retry_after),
];
static RATE_LIMIT: HeaderName = name("ratelimit");
static RESET_AFTER: HeaderName = name("x-ratelimit-reset-after");
static TOLD: HeaderName = name(Told::NAME);
/// What is left of a quota, and when it is reset.
static QUOTAS: [(HeaderName, HeaderName); 3] = [
    (name("x-ratelimit-remaining"), name("x-ratelimit-reset")),
    (name("x-rate-limit-remaining"), name("x-rate-limit-reset")),
    (name("ratelimit-remaining"), name("ratelimit-reset")),
];

type Reads = fn(&str) -> Option<Duration>;

/// A name that is made once: from a text it would be made for each answer.
const fn name(text: &'static str) -> HeaderName {
    HeaderName::from_static(text)
}

/// Reads the server's hint from the headers of a failed response.
///
/// The first of these that is there and obeys its grammar:
///
/// 1. "do not retry" in any form that [`should_retry`] knows: [`Hint::Stop`];
/// 2. `retry-after-ms`, then `x-ms-retry-after-ms`: milliseconds, also with a fraction (OpenAI,
///    Azure);
/// 3. `x-amz-retry-after`: whole milliseconds (AWS);
/// 4. `retry-after`: whole seconds or a date (RFC 9110 section 10.2.3). A date is counted from the
///    response's `Date` if there is exactly one that can be read, otherwise from `wall`;
/// 5. a quota of which nothing is left: `ratelimit` with `r=0`
///    (draft-ietf-httpapi-ratelimit-headers-10, by which `retry-after` goes before it), then
///    `x-ratelimit-reset-after` (Discord), then `x-ratelimit-reset`, `x-rate-limit-reset` and
///    `ratelimit-reset` ([`rate_limit_reset`](hint::rate_limit_reset)), each of these only beside
///    its `remaining` of 0 (GitHub, X, Okta, Envoy).
/// 6. `becalm-retry: gave-up=..`: [`Hint::Below`], a layer below the server could not retry.
///
/// The finer ones come first because servers that send them repeat the value in `retry-after`,
/// rounded. Of several lines of one header the longest delay counts: never early. No header that is
/// in use names a spread of its own ([`Hint::Spread`]). `wall` is the wall clock, such as
/// `SystemTime::now`; it is read only for headers that may hold a date, the last three of 5 and
/// `retry-after`.
pub fn hint<W: Into<UnixTime>>(headers: &HeaderMap, wall: impl FnOnce() -> W) -> Option<Hint> {
    if should_retry(headers) == Some(false) {
        return Some(Hint::Stop);
    }
    FINE.iter()
        .find_map(|(name, read)| longest(headers, name, read))
        .or_else(|| coarse(headers, wall))
        .map(Hint::AtLeast)
        .or_else(|| told(headers).map(Told::hint))
}

/// What names whole seconds or a date.
fn coarse<W: Into<UnixTime>>(headers: &HeaderMap, wall: impl FnOnce() -> W) -> Option<Duration> {
    let is_spent =
        |remaining: &HeaderName| headers.get_all(remaining).iter().any(|left| is(left, "0"));
    let resets = QUOTAS
        .iter()
        .filter(|(remaining, reset)| headers.contains_key(reset) && is_spent(remaining))
        .map(|(_, reset)| reset);
    let may_be_date = headers.contains_key(RETRY_AFTER) || resets.clone().next().is_some();
    let origin = may_be_date.then(|| {
        let now = wall().into();
        date(headers, now).unwrap_or(now)
    });
    let by_date = |name: &HeaderName, read: fn(&str, UnixTime) -> Option<Duration>| {
        longest(headers, name, |text| read(text, origin?))
    };
    by_date(&RETRY_AFTER, hint::retry_after)
        .or_else(|| hint::rate_limit(whole_field(headers, &RATE_LIMIT)?))
        .or_else(|| {
            let seconds = longest(headers, &RESET_AFTER, hint::rate_limit_reset_after);
            seconds.filter(|_| is_spent(&QUOTAS[0].0))
        })
        .or_else(|| {
            resets
                .filter_map(|name| by_date(name, hint::rate_limit_reset))
                .max()
        })
}

/// Reads the server's own word on whether to retry at all, whatever the status says.
///
/// - `becalm-retry: do-not-retry`: [`Told`], of a server further down;
/// - `finagle-http-nonretryable-nack`, with any value (Finagle);
/// - `x-should-retry` (OpenAI, Anthropic and other APIs built with Stainless) and
///   `stripe-should-retry`, each `true` or `false`.
///
/// Anything else is ignored. Where several disagree, `false` counts.
pub fn should_retry(headers: &HeaderMap) -> Option<bool> {
    let is_forbidden = told(headers).is_some_and(|told| told.hint() == Hint::Stop);
    if is_forbidden || headers.contains_key(&NACK) {
        return Some(false);
    }
    let advice = |word: &str| {
        let mut lines = ADVICE.iter().flat_map(|name| headers.get_all(name));
        lines.any(|value| is(value, word))
    };
    if advice("false") {
        Some(false)
    } else {
        advice("true").then_some(true)
    }
}

/// Whether a proxy or server says that it refused this request because it has no room. It asks for less load.
///
/// - `x-envoy-overloaded`: the breaker of a cluster, or its maintenance mode (Envoy, Istio);
/// - `x-envoy-local-overloaded`: the overload manager of the proxy itself (Envoy);
/// - `x-envoy-ratelimited`: a rate limit, whatever status it was told to answer with (Envoy);
/// - `finagle-http-nack`: the admission of a server (Finagle).
///
/// Each says so by being there, unless its value is `false`.
pub fn is_overloaded(headers: &HeaderMap) -> bool {
    OVERLOADED.iter().any(|name| {
        let mut lines = headers.get_all(name).iter();
        lines.any(|value| !is(value, "false"))
    })
}

/// All lines of a structured field as one (RFC 9651 section 4.2); `None` where there is none.
pub(super) fn whole_field<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<Cow<'a, [u8]>> {
    let mut lines = headers.get_all(name).iter().map(HeaderValue::as_bytes);
    let mut field = Cow::Borrowed(lines.next()?);
    for line in lines {
        let field = field.to_mut();
        field.extend_from_slice(b", ");
        field.extend_from_slice(line);
    }
    Some(field)
}

/// Whether this word is all there is, in any case of letters.
fn is(value: &HeaderValue, word: &str) -> bool {
    let text = value.as_bytes().trim_ascii();
    text.eq_ignore_ascii_case(word.as_bytes())
}

pub(super) fn told(headers: &HeaderMap) -> Option<Told> {
    whole_field(headers, &TOLD).and_then(Told::decode)
}

/// The response's own `Date`.
fn date(headers: &HeaderMap, now: UnixTime) -> Option<UnixTime> {
    let mut lines = headers.get_all(DATE).iter();
    let (line, None) = (lines.next()?, lines.next()) else {
        return None;
    };
    hint::http_date(line.to_str().ok()?.trim(), now)
}

/// The longest delay that the lines of this header name.
fn longest(
    headers: &HeaderMap,
    name: &HeaderName,
    read: impl Fn(&str) -> Option<Duration>,
) -> Option<Duration> {
    let texts = headers.get_all(name).into_iter().map(HeaderValue::to_str);
    texts.filter_map(|text| read(text.ok()?)).max()
}
