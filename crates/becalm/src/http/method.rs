//! May this request be sent twice?

use std::format;

use ::http::{HeaderMap, HeaderName, HeaderValue, Method};

use crate::hint::structured::string_item;
use crate::idempotency::{InvalidKey, Operation};
use crate::shared::Shared;

static IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
static REPEATABILITY_ID: HeaderName = HeaderName::from_static("repeatability-request-id");
static REPEATABILITY_SENT: HeaderName = HeaderName::from_static("repeatability-first-sent");

/// Says whether a request may be repeated, and how, by its method and headers.
///
/// A request with exactly one `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header-07,
/// quoted or not) is keyed by its caller, whatever its method. So is one with both
/// `Repeatability-Request-ID` and `Repeatability-First-Sent` (OASIS Repeatable Requests 1.0, which
/// wants both). The caller must send the same values on every attempt.
///
/// Without a key GET, HEAD, OPTIONS, TRACE, PUT and DELETE are idempotent (RFC 9110 section
/// 9.2.2), and QUERY (RFC 10008) with an `http` crate that knows it, from 1.5 on. POST,
/// PATCH, CONNECT and every other method are not: declare [`Operation::Idempotent`] yourself where
/// you know better.
pub fn operation(method: &Method, headers: &HeaderMap) -> Operation {
    let has_repeatability =
        || has_one_value(headers, &REPEATABILITY_ID) && has_one_value(headers, &REPEATABILITY_SENT);
    let is_keyed =
        !headers.is_empty() && (has_one_value(headers, &IDEMPOTENCY_KEY) || has_repeatability());
    if is_keyed {
        Operation::KeyedByCaller
    } else if method.is_idempotent() {
        Operation::Idempotent
    } else {
        Operation::NotIdempotent
    }
}

/// What repeating a request does: as its caller has declared, or else as the [methods](crate::retry_on::RetryOn::methods) of the policy
/// in force do, or else by method and headers ([`operation`]).
///
/// Writes a key that was declared into `Idempotency-Key`. A request that has a key keeps its own, since that is what
/// the server sees.
pub fn declare(
    declared: Option<Operation>,
    policy: &Shared,
    method: &Method,
    headers: &mut HeaderMap,
) -> Operation {
    let said = operation(method, headers);
    match declared {
        Some(Operation::Keyed(_)) if said == Operation::KeyedByCaller => said,
        Some(Operation::Keyed(key)) => {
            if let Ok(value) = HeaderValue::try_from(format!("\"{key}\"")) {
                headers.insert(&IDEMPOTENCY_KEY, value);
            }
            Operation::Keyed(key)
        }
        Some(declared) => declared,
        None => match policy.retry_on() {
            Some(lists) => lists.operation(method.as_str(), said),
            None => said,
        },
    }
}

/// What a server reads from `Idempotency-Key`: `None` where there is none.
///
/// The key is a String of RFC 9651 between double quotes, and here it is what stands between them, as
/// it stands there (draft-ietf-httpapi-idempotency-key-header-07, section 2.1). Parameters after it are
/// ignored.
///
/// # Errors
///
/// [`InvalidKey::Quotes`]: the field is no String, an empty one, or there are several.
pub fn idempotency_key(headers: &HeaderMap) -> Result<Option<&str>, InvalidKey> {
    let mut lines = headers.get_all(&IDEMPOTENCY_KEY).iter();
    let key = match (lines.next(), lines.next()) {
        (None, _) => return Ok(None),
        (Some(line), None) => string_item(line.as_bytes()),
        _ => None,
    };
    let key = key.and_then(|key| core::str::from_utf8(key).ok());
    key.filter(|key| !key.is_empty())
        .ok_or(InvalidKey::Quotes)
        .map(Some)
}

/// One line that is not blank. Several leave open which one the server obeys.
fn has_one_value(headers: &HeaderMap, name: &HeaderName) -> bool {
    let mut lines = headers.get_all(name).iter();
    let is_blank = |value: &[u8]| matches!(value.trim_ascii(), b"" | b"\"\"");
    match (lines.next(), lines.next()) {
        (Some(value), None) => !is_blank(value.as_bytes()),
        _ => false,
    }
}
