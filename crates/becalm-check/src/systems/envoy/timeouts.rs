//! When does Envoy end an attempt, and when a request?

use std::time::Duration;

use becalm::duration::Human;

use crate::code;
use crate::mapping::{Draft, Origin};
use crate::reading::{Reading, Told};

/// Of a route that says nothing.
pub const TIMEOUT: Duration = Duration::from_secs(15);

/// The time-out of a whole request, and the longest time of its stream, of which the shorter ends it. 0 is none.
pub fn of_request(draft: &mut Draft, timeout: Told<Duration>, stream: &Told<Duration>) {
    draft.set("deadline", timeout, |policy, it| {
        policy.deadline = Some(it).filter(|it| !it.is_zero());
    });
    if let Told::Is(most, span) = stream {
        if !most.is_zero() && draft.policy.deadline.is_none_or(|it| *most < it) {
            draft.policy.deadline = Some(*most);
            draft.origin("deadline", Origin::Line(*span));
        }
    }
}

/// The time-out of an attempt, by its name in the file. Envoy ignores one that is not below that of the request.
pub fn of_attempt(
    reading: &mut Reading<'_>,
    draft: &mut Draft,
    name: &str,
    timeout: Told<Duration>,
) {
    match (&timeout, draft.policy.deadline) {
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
        _ => draft.set("attempt_timeout", timeout, |policy, it| {
            policy.attempt_timeout = Some(it).filter(|it| !it.is_zero());
        }),
    }
}
