//! When does a client of gRPC end a call?

use std::time::Duration;

use becalm::support::Human;

use super::fields::{Client, field, span};
use crate::code;
use crate::document::Node;
use crate::mapping::{Draft, Origin};
use crate::reading::Reading;
use crate::told::Told;

/// The `timeout` of the methods.
pub fn total(reading: &mut Reading<'_>, draft: &mut Draft, method: &Node) {
    let Some(node) = field(reading, method, "timeout") else {
        return;
    };
    let (timeout, at) = match span(reading, node) {
        Told::Absent => return,
        Told::Unknown(at, text) => return draft.origin("deadline", Origin::Unknown(at, text)),
        Told::Is(timeout, at) => (timeout, at),
    };
    match Client::of(reading.version) {
        Client::Core if timeout.is_zero() => {
            let sentence = "a `timeout` of 0 is none";
            let remedy = "set a time above 0, or leave it out";
            reading.find(at, code::TIMEOUT_IGNORED, sentence, remedy);
        }
        Client::Core => {
            draft.policy.deadline = Some(timeout);
            draft.origin("deadline", Origin::Line(at));
            // grpc/grpc#34547, #40633, both open; counted with 1.85.1.
            let sentence = format!(
                "C-core ends calls one to two seconds before a `timeout` of the service config, here of {}, is over (grpc/grpc#34547)",
                Human(timeout)
            );
            let remedy = "set the time-out of the call itself in code";
            reading.note(at, code::TIMEOUT_IGNORED, sentence, remedy);
        }
        Client::Go | Client::Java => {
            if timeout.is_zero() {
                let sentence = "a `timeout` of 0 ends each call at once";
                let remedy = "set a time above 0, or leave it out";
                reading.find(at, code::TIMEOUT_IGNORED, sentence, remedy);
            }
            draft.deadline(Told::Is(timeout.max(Duration::from_nanos(1)), at));
        }
        Client::Js => {
            // service-config.js, validateMethodConfig: the digits behind the point are taken as nanoseconds.
            let whole = Duration::from_secs(timeout.as_secs());
            draft.policy.deadline = Some(whole.max(Duration::from_nanos(1)));
            let how = "grpc-js takes what stands behind the point as nanoseconds".to_owned();
            if whole == timeout {
                draft.origin("deadline", Origin::Line(at));
            } else {
                draft.origin("deadline", Origin::Derived(at, how));
            }
            if whole != timeout || whole.is_zero() {
                let sentence = format!(
                    "grpc-js takes what stands behind the point as nanoseconds, so that the call ends after {}",
                    Human(whole)
                );
                let remedy = "write whole seconds, from 1";
                reading.find(at, code::TIMEOUT_IGNORED, sentence, remedy);
            }
        }
    }
}
