//! How is an answer that means failure told in a sentence? In the words of its protocol.

use std::fmt;

use ::http::{HeaderMap, HeaderValue, StatusCode};

use super::grpc::{grpc_code, is_grpc};
use crate::classify::{Cause, Failure, Verdict};
use crate::retry_on::Codes;

/// How much of a message is shown: it is a stranger's text.
const SHOWN: usize = 200;

/// "the server answered 503 Service Unavailable", or of gRPC, which answers 200, the name of its code and its message.
#[derive(Debug, Clone, Copy)]
pub struct Answered<'a> {
    status: StatusCode,
    code: Option<u8>,
    message: Option<&'a HeaderValue>,
}

impl<'a> Answered<'a> {
    /// An answer with this head.
    pub fn new(status: StatusCode, headers: &'a HeaderMap) -> Self {
        let code = grpc_code(headers).filter(|_| status == StatusCode::OK && is_grpc(headers));
        let message = code.and_then(|_| headers.get("grpc-message"));
        Self {
            status,
            code,
            message,
        }
    }

    /// What was found out in its trailers, if that says more.
    #[must_use]
    pub fn judged(mut self, verdict: Option<&Verdict>) -> Self {
        let Some(Verdict::Failure(Failure { cause, .. })) = verdict else {
            return self;
        };
        if let (StatusCode::OK, None, Some(Cause::Code(code))) = (self.status, self.code, cause) {
            self.code = Some(*code);
        }
        self
    }
}

impl fmt::Display for Answered<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(code) = self.code else {
            return write!(f, "the server answered {}", self.status);
        };
        let name = code_name(code).unwrap_or("OK");
        write!(f, "the server answered {name} (grpc-status {code})")?;
        match self.message.map(decoded) {
            Some(message) if !message.is_empty() => write!(f, ": {message}"),
            _ => Ok(()),
        }
    }
}

/// The name of a code that means failure.
pub(super) fn code_name(code: u8) -> Option<&'static str> {
    Codes::default().and(code.into()).names().next()
}

/// The text of a `Status-Message`, which is percent-encoded UTF-8 (gRPC over HTTP/2). What is not in this form is taken as it is.
fn decoded(value: &HeaderValue) -> String {
    let mut rest = value.as_bytes();
    let mut bytes = Vec::new();
    while let [first, after @ ..] = rest {
        if bytes.len() >= SHOWN {
            break;
        }
        let escaped = after.split_first_chunk().filter(|_| *first == b'%');
        let escaped = escaped.and_then(|(digits, after)| Some((byte(*digits)?, after)));
        let (read, after) = escaped.unwrap_or((*first, after));
        bytes.push(read);
        rest = after;
    }
    let text = String::from_utf8_lossy(&bytes);
    let shown = text
        .chars()
        .map(|char| if char.is_control() { ' ' } else { char });
    let mut shown: String = shown.collect();
    if !rest.is_empty() {
        shown.push_str("..");
    }
    shown
}

/// Of two hexadecimal digits.
fn byte(digits: [u8; 2]) -> Option<u8> {
    let [high, low] = digits.map(|digit| char::from(digit).to_digit(16));
    u8::try_from(high? * 16 + low?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn head(lines: &[(&'static str, &[u8])]) -> HeaderMap {
        let read = |(name, value): &(&'static str, &[u8])| {
            let value = HeaderValue::from_bytes(value).expect("a value");
            (::http::HeaderName::from_static(name), value)
        };
        lines.iter().map(read).collect()
    }

    #[test]
    fn an_answer_of_grpc_is_told_by_its_code_and_its_message() {
        let kind = ("content-type", &b"application/grpc"[..]);
        for (lines, expected) in [
            (&[][..], "200 OK"),
            (&[kind], "200 OK"),
            (&[("grpc-status", b"14")], "200 OK"),
            (
                &[kind, ("grpc-status", b"14")],
                "UNAVAILABLE (grpc-status 14)",
            ),
            (&[kind, ("grpc-status", b"99")], "UNKNOWN (grpc-status 2)"),
            (
                &[
                    kind,
                    ("grpc-status", b"8"),
                    ("grpc-message", b"no%20room%3a%0a%C3%A4%zz%"),
                ],
                "RESOURCE_EXHAUSTED (grpc-status 8): no room: \u{e4}%zz%",
            ),
        ] {
            let headers = head(lines);
            let told = Answered::new(StatusCode::OK, &headers).to_string();
            assert_eq!(told, format!("the server answered {expected}"));
        }
        let headers = head(&[kind, ("grpc-status", b"14")]);
        let told = Answered::new(StatusCode::BAD_GATEWAY, &headers).to_string();
        assert_eq!(told, "the server answered 502 Bad Gateway");
        let headers = head(&[kind]);
        let of_trailers = Failure::transient().because(Cause::Code(14)).into();
        let told = Answered::new(StatusCode::OK, &headers).judged(Some(&of_trailers));
        assert_eq!(
            told.to_string(),
            "the server answered UNAVAILABLE (grpc-status 14)"
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_told_in_one_short_line(bytes: Vec<u8>, code: Vec<u8>) {
            let value = |bytes: &[u8]| HeaderValue::from_bytes(bytes).ok();
            let mut headers = head(&[("content-type", b"application/grpc")]);
            headers.extend(value(&code).map(|code| (::http::HeaderName::from_static("grpc-status"), code)));
            headers.extend(value(&bytes).map(|text| (::http::HeaderName::from_static("grpc-message"), text)));
            let told = Answered::new(StatusCode::OK, &headers).to_string();
            prop_assert!(!told.contains(char::is_control) && told.chars().count() < SHOWN + 100);
        }
    }
}
