//! What does each request look like in a trace?

use std::future::poll_fn;
use std::pin::pin;

use becalm::http::ClientSpan;
use http::Uri;
use reqwest::{Request, Response};

/// The span of a request that was sent so often before.
pub(super) fn of(request: &Request, resent: u32) -> ClientSpan {
    let uri = request.url().as_str().parse::<Uri>();
    ClientSpan::new(request.method(), &uri.unwrap_or_default(), resent)
}

/// Sends a request inside its span, if it has one.
pub(super) async fn within(
    span: Option<ClientSpan>,
    sent: impl Future<Output = reqwest::Result<Response>>,
) -> reqwest::Result<Response> {
    let Some(span) = span else { return sent.await };
    let mut sent = pin!(sent);
    let ended = poll_fn(|context| span.enter(|| sent.as_mut().poll(context))).await;
    let head = ended.as_ref().map(|it| (it.status(), it.headers()));
    span.end(head);
    ended
}
