//! Each kind of error, in each wrapping.

use std::boxed::Box;
use std::error::Error as StdError;
use std::io::Error;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::classify::Effect;
use crate::hint::Hint;
use crate::{Policy, time::FakeSleeper};

/// The error in each wrapping that connectors have.
fn wrapped(error: impl Fn() -> Box<dyn StdError + Send + Sync>) -> [Box<dyn StdError>; 5] {
    let shared: Arc<dyn StdError + Send + Sync> = error().into();
    [
        error(),
        Box::new(Error::other(error())),
        Box::new(Error::other(Error::other(error()))),
        Box::new(Error::new(ErrorKind::InvalidData, Error::other(error()))),
        Box::new(Error::other(shared)),
    ]
}

#[test]
fn c10_what_fails_while_connecting_was_not_sent() {
    for (kind, class) in [
        (ErrorKind::NotFound, Class::Transient),
        (ErrorKind::ConnectionRefused, Class::Transient),
        (ErrorKind::TimedOut, Class::Transient),
        (ErrorKind::ConnectionReset, Class::Transient),
        (ErrorKind::HostUnreachable, Class::Transient),
        (ErrorKind::NetworkUnreachable, Class::Transient),
        (ErrorKind::UnexpectedEof, Class::Transient),
        (ErrorKind::AddrInUse, Class::Transient),
        (ErrorKind::PermissionDenied, Class::Permanent),
        (ErrorKind::InvalidInput, Class::Permanent),
        (ErrorKind::InvalidData, Class::Permanent),
    ] {
        for error in wrapped(|| Error::from(kind).into()) {
            let failure = classify(&*error);
            assert_eq!(
                (failure.class, failure.effect),
                (class, Effect::Unsent),
                "{error:?}"
            );
        }
    }
    // It says nothing of itself, and not that what it is in is right.
    assert_eq!(recognise(&Error::from(ErrorKind::Other)), None);
    let table_full = Error::from_raw_os_error(24);
    assert_eq!(recognise(&table_full), None);
}

#[test]
fn what_is_inside_says_it_by_its_words() {
    for (words, class) in [
        ("invalid peer certificate: Expired", Class::Permanent),
        ("received fatal alert: HandshakeFailure", Class::Permanent),
        ("received fatal alert: InternalError", Class::Transient),
        (
            "error:0A000086:SSL routines:tls_post_process_server_certificate:certificate verify failed:../ssl/statem/statem_clnt.c:1890: (self-signed certificate)",
            Class::Permanent,
        ),
        (
            "error:0A000126:SSL routines:ssl3_read_n:unexpected eof while reading:../ssl/record/rec_layer_s3.c:322:",
            Class::Transient,
        ),
        (
            "error:10000438:SSL routines:OPENSSL_internal:TLSV1_ALERT_INTERNAL_ERROR",
            Class::Transient,
        ),
        (
            "error:1000007d:SSL routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED",
            Class::Permanent,
        ),
        (
            "tunnel error: proxy authorization required",
            Class::Permanent,
        ),
        ("SOCKS error: connection not allowed", Class::Permanent),
        ("HTTP/2 was not negotiated.", Class::Permanent),
    ] {
        for error in wrapped(|| words.into()) {
            let failure = classify(&*error);
            assert_eq!(
                (failure.class, failure.effect),
                (class, Effect::Unsent),
                "{error:?}"
            );
        }
    }
    for unknown in [
        "tunnel error: unsuccessful",
        "SOCKS error: host unreachable",
        "whatever",
    ] {
        let error: Box<dyn StdError + Send + Sync> = unknown.into();
        assert_eq!(recognise(&*error), None, "{unknown}");
    }
}

#[test]
fn a_name_that_does_not_resolve_may_exist_in_a_moment() {
    let none = "could not resolve to any addresses";
    for error in [
        Error::new(ErrorKind::InvalidInput, none),
        Error::other("failed to lookup address information: Name or service not known"),
    ] {
        assert_eq!(classify(&error).class, Class::Transient, "{error}");
    }
}

#[test]
fn the_tls_of_windows_says_it_by_codes() {
    for (code, class) in [
        (0x8009_0325, Some(Class::Permanent)), // SEC_E_UNTRUSTED_ROOT
        (0x8009_0322, Some(Class::Permanent)), // SEC_E_WRONG_PRINCIPAL
        (0x8009_0326, Some(Class::Permanent)), // SEC_E_ILLEGAL_MESSAGE
        (0x800b_0101, Some(Class::Permanent)), // CERT_E_EXPIRED
        (0x8009_0304, Some(Class::Transient)), // SEC_E_INTERNAL_ERROR
        (10_061, None),                        // WSAECONNREFUSED
    ] {
        let code = i32::from_ne_bytes(u32::to_ne_bytes(code));
        assert_eq!(said::judge_code(code), class, "{code}");
    }
}

#[test]
fn the_answer_of_a_proxy_says_it_and_when_to_come_back() {
    let wait = Hint::AtLeast(Duration::from_secs(7));
    for (status, class) in [
        (301, Class::Permanent),
        (403, Class::Permanent),
        (407, Class::Permanent),
        (429, Class::Throttled),
        (501, Class::Permanent),
        (502, Class::Transient),
        (503, Class::Transient),
    ] {
        for error in wrapped(|| ProxyRefused::new(status, Some(wait)).into()) {
            let failure = classify(&*error);
            let found = (failure.class, failure.effect, failure.hint);
            assert_eq!(found, (class, Effect::Unsent, Some(wait)), "{error:?}");
        }
    }
}

#[test]
fn what_a_retry_below_has_found_permanent_is_so() {
    let gave_up = |kind| {
        let login = Policy::default().builder().sleeper(FakeSleeper::auto());
        let login = login.build().expect("a valid policy");
        let called = login.retry_blocking(|_| Err::<(), _>(Error::from(kind)));
        called.expect_err("it fails").with_causes()
    };
    for error in wrapped(|| gave_up(ErrorKind::PermissionDenied).into()) {
        assert_eq!(classify(&*error).class, Class::Permanent, "{error:?}");
    }
    assert_eq!(recognise(&gave_up(ErrorKind::ConnectionReset)), None);
}
