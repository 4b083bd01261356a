//! With which status does a call end that got no answer to hand on?

use std::error::Error;
use std::sync::Arc;

use becalm::StopReason;
use becalm::run::Last;
use becalm_tower::client::{Failed, NoAnswer};
use tonic::{Code, Status};

use super::record::Record;
use super::{answer, transport};

/// The status of this give-up: its sentence is the message, and its record the source.
pub(super) fn of<E: Error + Send + Sync + 'static>(gave_up: NoAnswer<E>) -> Status {
    let code = match (gave_up.last(), gave_up.reason()) {
        (Last::Error(Failed::Answer(head) | Failed::Redirected(head)), _) => {
            answer::code(head.status(), head.headers())
        }
        (Last::Error(Failed::Transport(error)), _) => transport::code(error),
        (Last::AttemptTimeout, _) | (_, StopReason::DeadlineExceeded) => Code::DeadlineExceeded,
        (_, StopReason::Cancelled) => Code::Cancelled,
        (_, StopReason::Shed | StopReason::BulkheadFull | StopReason::RateLimited) => {
            Code::ResourceExhausted
        }
        _ => Code::Unavailable,
    };
    let mut status = Status::new(code, gave_up.to_string());
    status.set_source(Arc::new(Record(gave_up)));
    status
}
