//! Which statuses do the names of Spring's `HttpStatus` and its `Series` stand for?
//!
//! spring-projects/spring-framework 7.0.9 and 6.2.0, `spring-web/.../http/HttpStatus.java`.

use crate::list::list;

/// The status of this name, in any letters and with or without its underscores. Numbers are no names.
pub fn status(name: &str) -> Option<u16> {
    let mut all = STATUSES.iter();
    let found = all.find(|(it, _)| letters(it).eq(letters(name)));
    found.map(|(_, it)| *it)
}

/// The hundreds of the series of this name: 5 for `SERVER_ERROR`.
pub fn series(name: &str) -> Option<u16> {
    let is_called = |it: &&str| letters(it).eq(letters(name));
    let place = SERIES.iter().position(is_called)?;
    u16::try_from(place + 1).ok()
}

/// As `LenientStringToEnumConverterFactory` compares names.
fn letters(name: &str) -> impl Iterator<Item = char> {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase)
}

const SERIES: &[&str] = list!("INFORMATIONAL SUCCESSFUL REDIRECTION CLIENT_ERROR SERVER_ERROR");

const STATUSES: &[(&str, u16)] = &[
    ("CONTINUE", 100),
    ("SWITCHING_PROTOCOLS", 101),
    ("PROCESSING", 102),
    ("CHECKPOINT", 103),
    ("EARLY_HINTS", 103),
    ("OK", 200),
    ("CREATED", 201),
    ("ACCEPTED", 202),
    ("NON_AUTHORITATIVE_INFORMATION", 203),
    ("NO_CONTENT", 204),
    ("RESET_CONTENT", 205),
    ("PARTIAL_CONTENT", 206),
    ("MULTI_STATUS", 207),
    ("ALREADY_REPORTED", 208),
    ("IM_USED", 226),
    ("MULTIPLE_CHOICES", 300),
    ("MOVED_PERMANENTLY", 301),
    ("FOUND", 302),
    ("MOVED_TEMPORARILY", 302),
    ("SEE_OTHER", 303),
    ("NOT_MODIFIED", 304),
    ("USE_PROXY", 305),
    ("TEMPORARY_REDIRECT", 307),
    ("PERMANENT_REDIRECT", 308),
    ("BAD_REQUEST", 400),
    ("UNAUTHORIZED", 401),
    ("PAYMENT_REQUIRED", 402),
    ("FORBIDDEN", 403),
    ("NOT_FOUND", 404),
    ("METHOD_NOT_ALLOWED", 405),
    ("NOT_ACCEPTABLE", 406),
    ("PROXY_AUTHENTICATION_REQUIRED", 407),
    ("REQUEST_TIMEOUT", 408),
    ("CONFLICT", 409),
    ("GONE", 410),
    ("LENGTH_REQUIRED", 411),
    ("PRECONDITION_FAILED", 412),
    ("CONTENT_TOO_LARGE", 413),
    ("PAYLOAD_TOO_LARGE", 413),
    ("REQUEST_ENTITY_TOO_LARGE", 413),
    ("REQUEST_URI_TOO_LONG", 414),
    ("URI_TOO_LONG", 414),
    ("UNSUPPORTED_MEDIA_TYPE", 415),
    ("REQUESTED_RANGE_NOT_SATISFIABLE", 416),
    ("EXPECTATION_FAILED", 417),
    ("I_AM_A_TEAPOT", 418),
    ("INSUFFICIENT_SPACE_ON_RESOURCE", 419),
    ("METHOD_FAILURE", 420),
    ("DESTINATION_LOCKED", 421),
    ("MISDIRECTED_REQUEST", 421),
    ("UNPROCESSABLE_CONTENT", 422),
    ("UNPROCESSABLE_ENTITY", 422),
    ("LOCKED", 423),
    ("FAILED_DEPENDENCY", 424),
    ("TOO_EARLY", 425),
    ("UPGRADE_REQUIRED", 426),
    ("PRECONDITION_REQUIRED", 428),
    ("TOO_MANY_REQUESTS", 429),
    ("REQUEST_HEADER_FIELDS_TOO_LARGE", 431),
    ("UNAVAILABLE_FOR_LEGAL_REASONS", 451),
    ("INTERNAL_SERVER_ERROR", 500),
    ("NOT_IMPLEMENTED", 501),
    ("BAD_GATEWAY", 502),
    ("SERVICE_UNAVAILABLE", 503),
    ("GATEWAY_TIMEOUT", 504),
    ("HTTP_VERSION_NOT_SUPPORTED", 505),
    ("VARIANT_ALSO_NEGOTIATES", 506),
    ("INSUFFICIENT_STORAGE", 507),
    ("LOOP_DETECTED", 508),
    ("BANDWIDTH_LIMIT_EXCEEDED", 509),
    ("NOT_EXTENDED", 510),
    ("NETWORK_AUTHENTICATION_REQUIRED", 511),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_in_any_letters_and_numbers_are_not() {
        assert_eq!(status("SERVICE_UNAVAILABLE"), Some(503));
        assert_eq!(status("service-unavailable"), Some(503));
        assert_eq!([status("503"), status(""), status("NOPE")], [None; 3]);
        assert_eq!(
            [
                series("SERVER_ERROR"),
                series("client-error"),
                series("5XX")
            ],
            [Some(5), Some(4), None]
        );
    }
}
