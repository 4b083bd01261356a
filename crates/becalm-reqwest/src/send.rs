//! How is a request repeated? As the engine says: each attempt is made by [`Exchanges`], and of an
//! answer that is not handed on nothing is held.

use std::future::{poll_fn, ready};
use std::pin::{Pin, pin};

use becalm::call::CallOptions;
use becalm::classify::ByTrait;
use becalm::run::{Copies, Last};
use becalm::{Failure, GaveUp, Retrier};
use reqwest::Response;

use super::attempt::Exchanges;
use super::body::Outgoing;
use super::drain::drained;
use super::failed::{Failed, NoAnswer};
use super::shared::Shared;

/// Drives the call with this request.
pub(super) async fn send(
    shared: &Shared,
    retrier: &Retrier,
    outgoing: &Outgoing,
    options: CallOptions,
    is_whole: bool,
) -> Result<Response, NoAnswer> {
    let exchanges = Exchanges {
        shared,
        sleeper: retrier.sleeper(),
        outgoing,
        operation: options.operation,
        is_whole,
        #[cfg(feature = "tracing")]
        sent: 0.into(),
    };
    let mut engine = retrier.engine().options(options).begin();
    let mut last = None;
    let mut drain: Option<Pin<Box<dyn Future<Output = ()> + Send + '_>>> = None;
    // The last of these: what attempts hold is back before anybody is told of the end.
    let mut copies = pin!(Copies::none());
    let ended = poll_fn(|context| {
        let start = |attempt| exchanges.attempt(attempt);
        let copies = copies.as_mut();
        let polled = copies.poll_call(&mut engine, &ByTrait, &mut last, context, start);
        if polled.is_pending() {
            // Another attempt follows, or runs: of this answer nothing is held but its status. One that is the
            // last, unless a hedge succeeds, stays.
            let stays = engine.has_failed_for_good();
            let last = last.as_mut().filter(|_| !stays);
            if let Some(answer) = last.and_then(|(_, failed)| Failed::let_go(failed)) {
                drain = Some(Box::pin(drained(answer, retrier.sleeper())));
            }
            drain.take_if(|drain| drain.as_mut().poll(context).is_ready());
        }
        polled
    });
    let ended = ended.await;
    ended.or_else(|gave_up| as_it_came(gave_up, shared.settings.answers_are_errors))
}

/// Ends the call with a request that could not be built.
pub(super) async fn refuse(shared: &Shared, error: reqwest::Error) -> Result<Response, NoAnswer> {
    let mut error = Some(error);
    let attempt = |_| {
        let failed = error.take().map_or(Failed::BodyGone, Failed::Error);
        ready(Err((Failure::permanent().unsent(), failed)))
    };
    let ended = shared.retriers.of("").retry(attempt).await;
    ended.or_else(|gave_up| as_it_came(gave_up, true))
}

/// An answer that means failure is an answer nevertheless.
fn as_it_came(gave_up: GaveUp<Failed>, answers_are_errors: bool) -> Result<Response, NoAnswer> {
    let (stopped, failed) = gave_up.into_parts();
    let is_last = stopped.last() == Last::Error(()) && !answers_are_errors;
    match failed {
        Some(Failed::Answer(mut answer)) if is_last => {
            answer.extensions_mut().insert(stopped);
            Ok(answer)
        }
        failed => {
            let gave_up = stopped.with_error(failed.and_then(Failed::into_error));
            Err(gave_up.with_causes())
        }
    }
}
