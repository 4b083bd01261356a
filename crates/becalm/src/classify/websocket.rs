//! What does the end of a WebSocket, or of its handshake, say about connecting again?

use core::time::Duration;

use super::{Class, Failure, http_status};
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
/// | 4400 to 4599 | as the HTTP status that is 4000 less; none has a hint | applications that count their codes so mean it so |
/// | other 4000 to 4999 | transient | the application's own (RFC 6455 section 7.4.2): what it means is not known here, and who takes it for the end stays away for good |
/// | any other | permanent | reserved, or of a library that has registered it (3000 to 3999) |
///
/// Of those with codes of their own, Centrifugo, Discord, graphql-ws and Phoenix connect again after most from 4000 to 4999, and no two after the
/// same. Whose codes mean an end says so: by one of the tables below, or one of its own.
///
/// ```
/// use becalm::classify::{Class, websocket};
/// assert_eq!(websocket::classify_close(1006).class, Class::Transient);
/// ```
pub const fn classify_close(code: u16) -> Failure {
    match code {
        1012 => Failure::transient().hint(AFTER_A_RESTART),
        1013 | 4429 => Failure::throttled(),
        4400..4600 => match http_status::classify(code - 4000).class {
            Class::Permanent => Failure::permanent(),
            _ => Failure::transient(),
        },
        1001 | 1005 | 1006 | 1011 | 1014 | 1015 | 3008 | 4000..5000 => Failure::transient(),
        _ => Failure::permanent(),
    }
}

/// Classifies a close code as Centrifugo's clients do (its documentation, *Client protocol*, as of 2026): 3000 to 3499 and 4000 to
/// 4499 connect again, 3500 to 3999 and 4500 to 4999 do not. Others as [`classify_close`].
pub const fn classify_centrifugo(code: u16) -> Failure {
    match code {
        3013 => Failure::throttled(), // too many requests
        3000..3500 | 4000..4500 => Failure::transient(),
        3500..5000 => Failure::permanent(),
        _ => classify_close(code),
    }
}

/// Classifies a close code by the Pusher Channels protocol (version 7): 4000 to 4099 do not connect again unchanged, 4100 to
/// 4199 connect again after a second or more, 4200 to 4299 at once. Others as [`classify_close`].
///
/// "At once" is spread as any first wait is: clients of one server fall together.
pub const fn classify_pusher(code: u16) -> Failure {
    const LATER: Hint = Hint::AtLeast(Duration::from_secs(1));
    match code {
        4000..4100 => Failure::permanent(),
        4100..4200 => Failure::throttled().hint(LATER),
        4200..4300 => Failure::transient(),
        _ => classify_close(code),
    }
}

/// Classifies a close code of Discord's gateway (its documentation, *Gateway close event codes*, as of 2026): 4004 and 4010 to
/// 4014 do not connect again, the others from 4000 to 4009 do, and so does 1000. Others as [`classify_close`].
pub const fn classify_discord(code: u16) -> Failure {
    match code {
        4004 | 4010..=4014 => Failure::permanent(),
        4008 => Failure::throttled(), // rate limited
        1000 | 4000..=4009 => Failure::transient(),
        _ => classify_close(code),
    }
}

/// Classifies a close code as graphql-ws 6.4.2 does: 4004, 4005, 4400, 4401, 4406, 4409, 4429 and 4500 do not connect again, nor
/// do those of RFC 6455 that mean a fault of the client's; any other does.
pub const fn classify_graphql_ws(code: u16) -> Failure {
    match code {
        4004 | 4005 | 4400 | 4401 | 4406 | 4409 | 4429 | 4500 => Failure::permanent(),
        4000..5000 => Failure::transient(),
        _ => classify_close(code),
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
    use crate::classify::Effect;

    #[test]
    fn c11_every_close_code_has_its_class() {
        for code in 0..=u16::MAX {
            let expected = match code {
                1013 => Class::Throttled,
                // As the status of HTTP, which has its own table.
                4400..4600 => http_status::classify(code - 4000).class,
                1001 | 1005 | 1006 | 1011 | 1012 | 1014 | 1015 | 3008 | 4000..5000 => {
                    Class::Transient
                }
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
    fn one_code_means_different_things_to_different_applications() {
        use Class::{Permanent, Throttled, Transient};
        for (code, centrifugo, pusher, discord, graphql_ws) in [
            (1000, Permanent, Permanent, Transient, Permanent),
            (1006, Transient, Transient, Transient, Transient),
            (3001, Transient, Permanent, Permanent, Permanent),
            (3013, Throttled, Permanent, Permanent, Permanent),
            (3500, Permanent, Permanent, Permanent, Permanent),
            (4000, Transient, Permanent, Transient, Transient),
            (4004, Transient, Permanent, Permanent, Permanent),
            (4008, Transient, Permanent, Throttled, Transient),
            (4014, Transient, Permanent, Permanent, Transient),
            (4100, Transient, Throttled, Transient, Transient),
            (4200, Transient, Transient, Transient, Transient),
            (4401, Transient, Permanent, Permanent, Permanent),
            (4500, Permanent, Transient, Transient, Permanent),
        ] {
            assert_eq!(classify_centrifugo(code).class, centrifugo, "{code}");
            assert_eq!(classify_pusher(code).class, pusher, "{code}");
            assert_eq!(classify_discord(code).class, discord, "{code}");
            assert_eq!(classify_graphql_ws(code).class, graphql_ws, "{code}");
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
