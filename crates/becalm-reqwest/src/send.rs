//! How is a request repeated? Each attempt sends a clone of it, and its answer is judged.

use std::future::poll_fn;
use std::pin::{Pin, pin};

use becalm::call::CallOptions;
use becalm::classify::{ByTrait, Effect, Verdict};
use becalm::http::{self as semantics, Exchange};
use becalm::run::{Copies, Last};
use becalm::scope::ScopeHeader;
use becalm::time::Sleeper;
use becalm::{Attempt, Failure, Operation, Retrier, Scope};
use http::{HeaderName, HeaderValue};
use reqwest::{Request, Response};

use super::body::Outgoing;
use super::client::{Client, Settings};
use super::drain::drained;
use super::failed::{Failed, NoAnswer};
use super::{origin, redirect, transport};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Drives the call with this request, or with the error in its place.
pub(super) async fn send(
    client: &Client,
    mut outgoing: reqwest::Result<Outgoing>,
    operation: Option<Operation>,
    mut options: CallOptions,
) -> Result<Response, NoAnswer> {
    let url = outgoing.as_ref().ok().map(|it| it.request().url());
    let retrier = client.retriers.of(url);
    let mut is_bound = false;
    if let Ok(outgoing) = &mut outgoing {
        options.operation = address(outgoing.request_mut(), operation);
        is_bound = options.operation.is_keyed();
    }
    let mut outgoing = outgoing.map_err(Some);
    let (operation, settings) = (options.operation, &*client.settings);

    let mut engine = retrier.engine().options(options).begin();
    let mut last = None;
    let mut drain: Option<Pin<Box<dyn Future<Output = ()> + Send + '_>>> = None;
    let mut start = |attempt: Attempt| {
        let (request, wrong) = match &mut outgoing {
            Ok(outgoing) => (outgoing.next(), None),
            Err(error) => (None, error.take()),
        };
        let request = request.map(|mut request| {
            let is_told = write_scope(&mut request, settings, retrier.sleeper());
            let sent = client.below.execute(request);
            redirect::watched(is_bound || is_told, sent)
        });
        let exchange = Exchange::new(operation, attempt.number());
        let retrier = &retrier;
        async move {
            match (request, wrong) {
                (Some(request), _) => {
                    let (result, was_redirected) = request.await;
                    judge(result, exchange, retrier).map_err(|(mut failure, failed)| {
                        if was_redirected {
                            failure.effect = Effect::Unknown; // the server that redirects had it
                        }
                        (failure, failed)
                    })
                }
                (None, Some(wrong)) => Err((Failure::permanent().unsent(), Failed::Error(wrong))),
                (None, None) => Err((Failure::transient().unsent(), Failed::BodyGone)),
            }
        }
    };
    // The last of these: what attempts hold is back before anybody is told of the end.
    let mut copies = pin!(Copies::none());
    let ended = poll_fn(|context| {
        let copies = copies.as_mut();
        let polled = copies.poll_call(&mut engine, &ByTrait, &mut last, context, &mut start);
        if polled.is_pending() {
            // Another attempt follows, or runs: of this answer nothing is held but its status.
            if let Some(answer) = last.as_mut().and_then(|(_, failed)| Failed::let_go(failed)) {
                drain = Some(Box::pin(drained(answer, retrier.sleeper())));
            }
            drain.take_if(|drain| drain.as_mut().poll(context).is_ready());
        }
        polled
    });
    ended.await.or_else(|gave_up| {
        let stopped = gave_up.stopped().clone();
        let is_last = stopped.last() == Last::Error(()) && !settings.answers_are_errors;
        match gave_up.into_error() {
            Some(Failed::Answer(mut answer)) if is_last => {
                answer.extensions_mut().insert(stopped);
                Ok(answer)
            }
            failed => Err(stopped.with_error(failed.and_then(Failed::into_error))),
        }
    })
}

/// Says what repeating the request would do, and writes its key into it.
fn address(request: &mut Request, declared: Option<Operation>) -> Operation {
    let said = semantics::operation(request.method(), request.headers());
    match declared {
        // The caller's own key is the one that the server sees.
        Some(Operation::Keyed(_)) if said == Operation::KeyedByCaller => said,
        Some(Operation::Keyed(key)) => {
            if let Ok(value) = HeaderValue::try_from(format!("\"{key}\"")) {
                request.headers_mut().insert(IDEMPOTENCY_KEY, value);
            }
            Operation::Keyed(key)
        }
        declared => declared.unwrap_or(said),
    }
}

/// Tells a server that is known of the attempt that runs; true if it was told anything.
fn write_scope(request: &mut Request, settings: &Settings, sleeper: &dyn Sleeper) -> bool {
    let mut origins = settings.origins.iter();
    if origins.any(|origin| origin::is_same(origin, request.url())) {
        let (now, clock) = (sleeper.now(), sleeper.clock());
        semantics::write_scope(request.headers_mut(), Scope::current(), now, clock);
        request.headers().contains_key(ScopeHeader::NAME)
    } else {
        request.headers_mut().remove(ScopeHeader::NAME);
        false
    }
}

#[expect(
    clippy::result_large_err,
    reason = "the error is the answer, and no larger than the success"
)]
fn judge(
    result: reqwest::Result<Response>,
    exchange: Exchange,
    retrier: &Retrier,
) -> Result<Response, (Failure, Failed)> {
    let answer = match result {
        Ok(answer) => answer,
        Err(error) => return Err((transport::classify(&error), Failed::Error(error))),
    };
    let (status, headers) = (answer.status(), answer.headers());
    match semantics::verdict(status, headers, exchange, || retrier.sleeper().wall()) {
        Verdict::Failure(failure) => Err((failure, Failed::Answer(answer))),
        _ => Ok(answer),
    }
}
