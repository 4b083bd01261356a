//! What does the end of a WebSocket, or of its handshake, say about connecting again?

use core::time::Duration;

use super::{Failure, http_status};
use crate::hint::Hint;

/// From 5 to 30 s: what the registration of 1012 asks of clients.
const AFTER_A_RESTART: Hint = Hint::Spread {
    after: Duration::from_secs(5),
    over: Duration::from_secs(25),
};

/// Classifies the close code that the peer sent: whether to connect again.
///
/// What had been sent on the connection may have taken effect. 1005 and 1006 stand for a close
/// without a code and for none at all; they never come over the wire.
///
/// | code | class | reason |
/// |---|---|---|
/// | 1001 | transient | going away: a server that shuts down (RFC 6455 section 7.4.1) |
/// | 1005, 1006 | transient | an abnormal end, after which clients back off (RFC 6455 section 7.2.3) |
/// | 1011 | transient | an unexpected condition in the server |
/// | 1012 | transient, spread over 5 to 30 s | the service restarts; the delay is that of its registration (IANA; hybi list, 2012) |
/// | 1013 | throttled | try again later: overload (IANA; hybi list, 2012) |
/// | 1014 | transient | a gateway got an invalid answer: like HTTP's 502 (IANA) |
/// | 1015 | transient | TLS failed, for a reason that the code does not tell |
/// | 3008 | transient | time-out (IANA) |
/// | 1000 | permanent | the purpose is fulfilled |
/// | 1002, 1003, 1007, 1009, 1010 | permanent | the peer cannot accept what it got, and would not again |
/// | 1008 | permanent | a policy, often a login that has ended: refresh it before connecting |
/// | 3000, 3003 | permanent | unauthorized, forbidden (IANA) |
/// | any other | permanent | reserved, or the application's own: 3000 to 4999 mean what the application says |
///
/// ```
/// use becalm::classify::{Class, websocket};
/// assert_eq!(websocket::classify_close(1006).class, Class::Transient);
/// ```
pub const fn classify_close(code: u16) -> Failure {
    match code {
        1001 | 1005 | 1006 | 1011 | 1014 | 1015 | 3008 => Failure::transient(),
        1012 => Failure::transient().hint(AFTER_A_RESTART),
        1013 => Failure::throttled(),
        _ => Failure::permanent(),
    }
}

/// Classifies the HTTP status of a handshake that failed: as [`http_status::classify`], and unsent,
/// since no message has left.
///
/// Any status but 101 is a failure (RFC 6455 section 4.1), a redirect that was not followed and a
/// 200 among them; those are permanent. A 401 or 407 is worth one more attempt with a fresh login,
/// which is for the client to get.
pub const fn classify_handshake(status: u16) -> Failure {
    http_status::classify(status).unsent()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::{Class, Effect};

    #[test]
    fn c11_every_close_code_has_its_class() {
        for code in 0..=u16::MAX {
            let expected = match code {
                1001 | 1005 | 1006 | 1011 | 1012 | 1014 | 1015 | 3008 => Class::Transient,
                1013 => Class::Throttled,
                _ => Class::Permanent,
            };
            let failure = classify_close(code);
            assert_eq!(
                (failure.class, failure.effect),
                (expected, Effect::Unknown),
                "{code}"
            );
            assert_eq!(failure.hint.is_some(), code == 1012, "{code}");
        }
    }

    #[test]
    fn c11_no_message_has_left_when_a_handshake_fails() {
        for (status, class) in [
            (429, Class::Throttled),
            (503, Class::Transient),
            (408, Class::Transient),
            (200, Class::Permanent),
            (301, Class::Permanent),
            (401, Class::Permanent),
            (426, Class::Permanent),
        ] {
            let failure = classify_handshake(status);
            assert_eq!(
                (failure.class, failure.effect),
                (class, Effect::Unsent),
                "{status}"
            );
        }
    }
}
