//! May this request be sent twice?

use ::http::{HeaderMap, Method};

use crate::idempotency::Operation;

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
    let is_keyed = has_one_value(headers, "idempotency-key")
        || has_one_value(headers, "repeatability-request-id")
            && has_one_value(headers, "repeatability-first-sent");
    if is_keyed {
        Operation::KeyedByCaller
    } else if method.is_idempotent() {
        Operation::Idempotent
    } else {
        Operation::NotIdempotent
    }
}

/// One line that is not blank. Several leave open which one the server obeys.
fn has_one_value(headers: &HeaderMap, name: &str) -> bool {
    let mut lines = headers.get_all(name).iter();
    let is_blank = |value: &[u8]| matches!(value.trim_ascii(), b"" | b"\"\"");
    match (lines.next(), lines.next()) {
        (Some(value), None) => !is_blank(value.as_bytes()),
        _ => false,
    }
}
