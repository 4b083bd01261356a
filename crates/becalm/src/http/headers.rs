//! What do the response's headers say about the next attempt?

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ::http::{HeaderMap, HeaderValue};

use crate::hint::{self, Hint};
use crate::scope::Told;

/// Says "no" by being there.
const NACK: &str = "finagle-http-nonretryable-nack";
const ADVICE: [&str; 2] = ["x-should-retry", "stripe-should-retry"];

/// The server's own word in the headers of a failed response.
///
/// The first of these that is there and obeys its grammar:
///
/// 1. "do not retry" in any form that [`should_retry`] knows: [`Hint::Stop`];
/// 2. `retry-after-ms`, then `x-ms-retry-after-ms`: milliseconds, also with a fraction (OpenAI,
///    Azure);
/// 3. `x-amz-retry-after`: whole milliseconds (AWS);
/// 4. `retry-after`: whole seconds or a date (RFC 9110 section 10.2.3). A date is counted from the
///    response's `Date` if there is exactly one that can be read, otherwise from `wall`;
/// 5. `becalm-retry: gave-up=..`: [`Hint::Below`], a layer below the server could not retry.
///
/// The finer ones come first because servers that send them repeat the value in `retry-after`,
/// rounded. Of several lines of one header the longest delay counts: never early. `wall` is the
/// wall clock, such as `SystemTime::now`; it is read only if there is a `retry-after`.
pub fn hint(headers: &HeaderMap, wall: impl FnOnce() -> SystemTime) -> Option<Hint> {
    if should_retry(headers) == Some(false) {
        return Some(Hint::Stop);
    }
    longest(headers, "retry-after-ms", hint::retry_after_ms)
        .or_else(|| longest(headers, "x-ms-retry-after-ms", hint::retry_after_ms))
        .or_else(|| longest(headers, "x-amz-retry-after", hint::amz_retry_after))
        .or_else(|| retry_after(headers, wall))
        .map(Hint::AtLeast)
        .or_else(|| told(headers).next().map(Told::hint))
}

/// The server's own word on whether to retry at all, against or beyond what the status says.
///
/// - `becalm-retry: do-not-retry`: [`Told`], of a server further down;
/// - `finagle-http-nonretryable-nack`, with any value (Finagle);
/// - `x-should-retry` (OpenAI, Anthropic and other APIs built with Stainless) and
///   `stripe-should-retry`, each `true` or `false`.
///
/// Anything else is ignored. Where several disagree, `false` counts.
pub fn should_retry(headers: &HeaderMap) -> Option<bool> {
    let forbids = |told: Told| told.hint() == Hint::Stop;
    if told(headers).any(forbids) || headers.contains_key(NACK) {
        return Some(false);
    }
    let advice = |word: &str| {
        ADVICE
            .iter()
            .flat_map(|name| headers.get_all(*name))
            .any(|value| {
                value
                    .as_bytes()
                    .trim_ascii()
                    .eq_ignore_ascii_case(word.as_bytes())
            })
    };
    if advice("false") {
        Some(false)
    } else {
        advice("true").then_some(true)
    }
}

fn told(headers: &HeaderMap) -> impl Iterator<Item = Told> {
    let lines = headers.get_all(Told::NAME).into_iter();
    lines.filter_map(Told::decode)
}

fn retry_after(headers: &HeaderMap, wall: impl FnOnce() -> SystemTime) -> Option<Duration> {
    headers.get("retry-after")?;
    let now = since_epoch(wall());
    let origin = date(headers, now).unwrap_or(now);
    longest(headers, "retry-after", |text| {
        hint::retry_after(text, origin)
    })
}

/// The response's own `Date`.
fn date(headers: &HeaderMap, now: Duration) -> Option<Duration> {
    let mut lines = headers.get_all("date").iter();
    let (line, None) = (lines.next()?, lines.next()) else {
        return None;
    };
    hint::http_date(line.to_str().ok()?.trim(), now)
}

/// The longest delay that the lines of this header name.
fn longest(
    headers: &HeaderMap,
    name: &str,
    read: impl Fn(&str) -> Option<Duration>,
) -> Option<Duration> {
    let texts = headers.get_all(name).into_iter().map(HeaderValue::to_str);
    texts.filter_map(|text| read(text.ok()?)).max()
}

/// A clock set before 1970 reads as 1970.
fn since_epoch(wall: SystemTime) -> Duration {
    wall.duration_since(UNIX_EPOCH).unwrap_or_default()
}
