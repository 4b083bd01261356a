//! How is a request repeated? As the engine says: each attempt is made by [`Exchanges`], and of an
//! answer that is not handed on nothing is held.

use std::error::Error;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Mutex;
use std::task::{Context, Poll, ready};

use becalm::call::CallOptions;
use becalm::classify::ByTrait;
use becalm::run::{Attempts, Core, Last};
use becalm::time::Instant;
use becalm::{Attempt, Failure, GaveUp, Retrier};
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
    mut options: CallOptions,
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
        renewal: Mutex::default(),
    };
    let credentials = exchanges.credentials();
    if let Some(credentials) = credentials.filter(|credentials| !credentials.login.has_some()) {
        // In a box, which no other call pays for.
        let ready = credentials
            .login
            .ready_for(retrier, options.deadline, credentials.fetch());
        options.deadline = Box::pin(ready).await;
    }
    // The first of these: what is held is back before anybody is told of the end.
    let mut attempts = pin!(attempts(retrier, options));
    let mut drain: Option<Pin<Box<dyn Future<Output = ()> + Send + '_>>> = None;
    let mut login: Option<Pin<Box<dyn Future<Output = ()> + Send + '_>>> = None;
    let ended = poll_fn(|context| {
        if let Some(waits) = &mut login {
            ready!(waits.as_mut().poll(context));
            login = None;
        }
        let start = |attempt| exchanges.attempt(attempt);
        let polled = attempts.as_mut().poll_call(&ByTrait, context, start, poll);
        // Without an engine the first attempt runs.
        if let (Poll::Pending, Some(engine)) = (&polled, attempts.engine()) {
            // Another attempt follows, or runs: of this answer nothing is held but its status. One that is the
            // last, unless a hedge succeeds, stays.
            let stays = engine.has_failed_for_good();
            let ends = engine.deadline().unwrap_or(Instant::NEVER);
            let last = attempts.as_mut().last().filter(|_| !stays);
            if let Some(answer) = last.and_then(|(_, failed)| Failed::let_go(failed)) {
                drain = Some(Box::pin(drained(answer, retrier.sleeper())));
            }
            drain.take_if(|drain| drain.as_mut().poll(context).is_ready());
            if let Some(credentials) = credentials.filter(|_| exchanges.awaits_login()) {
                // Between the attempts, so that no time-out of theirs counts it.
                login = Some(Box::pin(credentials.login.ready_by(
                    retrier.sleeper(),
                    ends,
                    credentials.fetch(),
                )));
                context.waker().wake_by_ref();
            }
        }
        polled
    });
    let ended = ended.await;
    ended.or_else(|gave_up| {
        let (stopped, failed) = gave_up.into_parts();
        // The 401 that was to be followed by new credentials, and was not.
        let failed = match (failed, exchanges.take_refused()) {
            (Some(Failed::LetGo(_)), Some(refused)) => Some(Failed::Answer(refused)),
            (failed, _) => failed,
        };
        as_it_came(
            stopped.with_error(failed),
            shared.settings.answers_are_errors,
        )
    })
}

/// The attempts of a call with these options. Without any it may be begun in a handful of instructions.
pub(super) fn attempts<Fut, E>(retrier: &Retrier, options: CallOptions) -> Attempts<Core, Fut, E> {
    let builder = retrier.engine();
    Attempts::new(if options == CallOptions::new() {
        builder
    } else {
        builder.options(options)
    })
}

pub(super) fn poll<Fut: Future>(
    _: Attempt,
    future: Pin<&mut Fut>,
    context: &mut Context<'_>,
) -> Poll<Fut::Output> {
    future.poll(context)
}

/// Ends the call with a request that could not be built.
pub(super) async fn refuse(shared: &Shared, error: reqwest::Error) -> Result<Response, NoAnswer> {
    let mut error = Some(error);
    let attempt = |_| {
        let failed = error.take().map_or(Failed::BodyGone, Failed::Error);
        std::future::ready(Err((Failure::permanent().unsent(), failed)))
    };
    let ended = shared.retriers.of("").retry(attempt).await;
    ended.or_else(|gave_up| as_it_came(gave_up, true))
}

/// An answer that means failure is an answer nevertheless.
pub(super) fn as_it_came<E: From<reqwest::Error> + Error + 'static>(
    gave_up: GaveUp<Failed<E>>,
    answers_are_errors: bool,
) -> Result<Response, GaveUp<E>> {
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
