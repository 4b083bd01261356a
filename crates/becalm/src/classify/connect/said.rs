//! What do the words of an error mean, where becalm does not have its type?

use std::string::{String, ToString};

use crate::classify::Class;
use crate::stop::StopReason;

/// Of all that rustls and OpenSSL say of TLS, what passes: the server is in trouble, is being set up, or ends.
const PASS: [&str; 7] = [
    // rustls 0.23
    "received fatal alert: internalerror",
    "received fatal alert: usercanceled",
    "received fatal alert: closenotify",
    // OpenSSL 3, whose reasons follow "SSL routines:"
    "alert internal error",
    "alert user cancelled",
    "alert close notify",
    "unexpected eof",
];

/// What is said of TLS, proxies and addresses, and does not pass unless it says one of the words above.
const STAY: [&str; 30] = [
    // OpenSSL 1.1 and 3, BoringSSL: all of a handshake. Of the end of a connection OpenSSL 1.1 says no more than the second.
    "ssl routines:",
    "unexpected eof",
    // rustls 0.23: `Error`
    "invalid peer certificate: ",
    "invalid certificate revocation list: ",
    "received fatal alert: ",
    "received corrupt message of type ",
    "received unexpected message: got ",
    "received unexpected handshake message: got ",
    "peer is incompatible: ",
    "peer misbehaved: ",
    "peer doesn't support any known protocol",
    "peer sent no certificates",
    "peer sent excess record size",
    "cannot decrypt peer's message",
    // tungstenite 0.30: `TlsError`, of what rustls was given
    "rustls error: ",
    // rustls-pki-types and tungstenite 0.30, reqwest 0.13
    "invalid dns name",
    "invalid server name",
    // tonic 0.14: `TlsError`
    "http/2 was not negotiated",
    // hyper-util 0.1: the tunnel through a proxy. Of a status it says none but this one.
    "tunnel error: proxy authorization required",
    "tunnel error: proxy response headers too long",
    // hyper-util 0.1: SOCKS
    "socks error: credentials not accepted",
    "socks error: server does not support user/pass authentication",
    "socks error: server implements authentication incorrectly",
    "socks error: connection not allowed",
    "socks error: command not supported",
    "socks error: address type not supported",
    // hyper-util 0.1, hyper-rustls 0.27, hyper-tls 0.6: an address that no connector takes
    "invalid url, ",
    "unsupported scheme ",
    "missing scheme",
    "https required but uri was not https",
];

/// What an error with these words says of another dial, if it says anything.
pub fn judge(words: &str) -> Option<Class> {
    if has_given_up(words) {
        return Some(Class::Permanent);
    }
    let words = plain(words);
    let has = |parts: &[&str]| parts.iter().any(|part| words.contains(part));
    if !has(&STAY) {
        return None;
    }
    Some(if has(&PASS) {
        Class::Transient
    } else {
        Class::Permanent
    })
}

/// Whether these are the words of a give-up of becalm's, for a reason that holds for those above as well.
fn has_given_up(words: &str) -> bool {
    let for_good = [
        StopReason::Permanent,
        StopReason::DoNotRetry,
        StopReason::NotIdempotent,
        StopReason::Cancelled,
    ];
    let is_reason = |reason: &StopReason| words.contains(&reason.to_string());
    words.starts_with("gave up ") && for_good.iter().any(is_reason)
}

/// Whether these are the words of a side that refuses the certificate of the other, or misses one, or of a give-up for good.
#[cfg(feature = "http")]
pub fn is_final(words: &str) -> bool {
    if has_given_up(words) {
        return true;
    }
    // Of alerts rustls writes the names as one word.
    let words = plain(words).replace(' ', "");
    let has = |parts: &[&str]| parts.iter().any(|part| words.contains(part));
    let is_alert = has(&["fatalalert:", "sslroutines:"]) && words.contains("alert");
    (is_alert && has(&["certificate", "unknownca", "accessdenied"]))
        || has(&["invalidpeercertificate:", "certificateverifyfailed"])
}

/// Without an address, whose words are the caller's: reqwest ends its own with that of the request. `BoringSSL` writes the reasons of
/// OpenSSL with underscores.
fn plain(words: &str) -> String {
    let (words, _) = words.split_once(" for url (").unwrap_or((words, ""));
    let words = words.to_lowercase();
    if words.contains("ssl routines:") {
        return words.replace('_', " ");
    }
    words
}

/// What a code of Windows says, whose TLS has such codes as errors of IO: all of the security support provider (`SEC_E_..`), of
/// certificates (`CERT_E_..`) and of cryptography (`CRYPT_E_..`) stay, but for a server or a list of revocations that is not there.
pub fn judge_code(code: i32) -> Option<Class> {
    const PASS: [u32; 4] = [
        0x8009_0304, // SEC_E_INTERNAL_ERROR
        0x8009_0318, // SEC_E_INCOMPLETE_MESSAGE
        0x8009_2013, // CRYPT_E_REVOCATION_OFFLINE
        0x800b_010e, // CERT_E_REVOCATION_FAILURE
    ];
    let code = u32::from_ne_bytes(code.to_ne_bytes());
    match code >> 16 {
        _ if PASS.contains(&code) => Some(Class::Transient),
        0x8009 | 0x800b => Some(Class::Permanent),
        _ => None,
    }
}
