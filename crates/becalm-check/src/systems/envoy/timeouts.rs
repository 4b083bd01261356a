//! When does Envoy end an attempt, and when a request?

use std::time::Duration;

use becalm::support::Human;

use super::fields::field;
use super::place::Place;
use crate::code;
use crate::document::{Node, Span};
use crate::mapping::{Draft, Origin};
use crate::reading::Reading;
use crate::room::Connecting;
use crate::told::Told;

/// Of a route that says nothing.
pub const TIMEOUT: Duration = Duration::from_secs(15);

/// The time-out of a whole request, and the longest time of its stream. 0 is none. Beside a `max_stream_duration` of the
/// route, Envoy asks neither for the route's time-out nor for its own default (`usingNewTimeouts` in `finalTimeout` of
/// `source/common/router/router.cc`). Returns the time-out below which that of an attempt has to be.
pub fn of_request(
    reading: &mut Reading<'_>,
    draft: &mut Draft,
    timeout: Told<Duration>,
    stream: &Told<Duration>,
    is_by_stream: bool,
) -> Option<Duration> {
    if is_by_stream {
        draft.policy.deadline = None;
        if let Told::Is(_, span) | Told::Unknown(span, _) = timeout {
            let sentence =
                "Envoy ignores the route's timeout beside a maximum duration of its stream";
            let remedy =
                "leave out one of them: the maximum of the stream bounds all attempts as well";
            reading.find(span, code::TIMEOUT_IGNORED, sentence, remedy);
        }
    } else {
        draft.deadline(timeout);
    }
    let timeout = draft.policy.deadline;
    match stream {
        Told::Is(most, span) if !most.is_zero() && timeout.is_none_or(|it| *most < it) => {
            draft.policy.deadline = Some(*most);
            draft.origin("deadline", Origin::Line(*span));
        }
        Told::Unknown(span, text) if timeout.is_none() => {
            draft.origin("deadline", Origin::Unknown(*span, text.clone()));
        }
        _ => {}
    }
    timeout
}

/// The time-out of an attempt, by its name in the file. Envoy ignores one that is not below that of the request.
pub fn of_attempt(
    reading: &mut Reading<'_>,
    draft: &mut Draft,
    name: &str,
    timeout: Told<Duration>,
    whole: Option<Duration>,
) {
    match (&timeout, whole) {
        (Told::Is(each, span), Some(all)) if *each >= all => {
            let sentence = format!(
                "Envoy ignores a {name} of {} that is not below the route's timeout of {}",
                Human(*each),
                Human(all)
            );
            let remedy = "set it to less than the timeout, so that there is room for a retry";
            reading.find(*span, code::TIMEOUT_IGNORED, sentence, remedy);
            let why = "ignored, as it is not below the timeout".into();
            draft.origin("attempt_timeout", Origin::NotExpressible(why));
        }
        _ => draft.attempt_timeout(timeout),
    }
}

/// Of a cluster that says nothing.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The time-out of an attempt begins when there is a connection (`onPoolReady` of `source/common/router/upstream_request.cc`), so that
/// connecting ends by the cluster's time-out alone.
pub fn to_connect(reading: &mut Reading<'_>, draft: &Draft, cluster: &Node, at: Span) {
    let name = "connect_timeout";
    let connecting = Connecting {
        name,
        time: reading.proto_duration(field(cluster, name), "a duration such as 1s"),
        default: CONNECT_TIMEOUT,
        remedy: "lower `connect_timeout` or `num_retries`, or raise the route's `timeout`",
    };
    reading.room_to_connect(draft, &connecting, at);
}

/// A stream on which nothing is sent ends while attempts are made, by the route's time-out or by that of its connection manager.
pub fn while_idle(reading: &mut Reading<'_>, draft: &Draft, place: Place<'_>) {
    let of_route = field(place.action, "idle_timeout").map(|it| (it, "idle_timeout"));
    let of_manager = || {
        Some((
            field(place.manager?, "stream_idle_timeout")?,
            "stream_idle_timeout",
        ))
    };
    let Some((node, name)) = of_route.or_else(of_manager) else {
        return;
    };
    let time = reading.proto_duration(Some(node), "a duration such as 300s");
    let remedy = format!("raise `{name}`, or lower `per_try_timeout` or `num_retries`");
    reading.room_before(draft, name, &time, &remedy);
}
