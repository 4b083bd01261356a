//! Do a client and a server of becalm pay once, as they come?

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use becalm::run::Stopped;
use becalm::{Policy, StopReason};
use becalm_reqwest::{Client, ClientBuilder};
use becalm_tower::server::IdempotencyLayer;
use reqwest::header::HeaderValue;

use crate::servers::{Server, layer};
use crate::within;

/// A client that brings these tokens, one after the other.
fn client_of(server: &Server, tokens: &'static [&str]) -> Client {
    let next = AtomicUsize::new(0);
    let policy = Policy::exponential(Duration::from_millis(1))
        .attempt_timeout(Duration::from_millis(500))
        .retrier();
    let below = reqwest::Client::builder().no_proxy();
    ClientBuilder::new(below, &policy.expect("a valid policy"))
        .credentials(&format!("http://127.0.0.1:{}", server.port), move || {
            let at = next.fetch_add(1, Ordering::SeqCst);
            std::future::ready(tokens.get(at).map(|token| HeaderValue::from_static(token)))
        })
        .build()
        .expect("a client")
}

/// A payment that has its effect while its client waits no longer, and whose token ends then. What the client gets, why it
/// stopped, how often it was paid.
async fn pay_while_the_token_ends(
    layer: IdempotencyLayer<becalm_tower::server::MemoryStore>,
) -> (u16, Option<StopReason>, usize) {
    let server = Server::with(layer).await;
    let client = client_of(&server, &["Bearer first", "Bearer second"]);
    let url = format!("http://127.0.0.1:{}/payments", server.port);
    let payment = client
        .post(url)
        .header("does", "wait")
        .header("user", "alice");
    let payment = tokio::spawn(payment.body("17 EUR").keyed().send());
    within(server.handler.one_waits()).await;
    server.want("Bearer second");
    tokio::time::sleep(Duration::from_secs(1)).await;
    server.handler.open_gate();
    let answer = within(payment).await.expect("no panic").expect("an answer");
    let stopped = answer.extensions().get::<Stopped>();
    let reason = stopped.map(Stopped::reason);
    (answer.status().as_u16(), reason, server.handler.runs())
}

#[tokio::test]
async fn a_token_that_is_renewed_between_attempts_pays_once() {
    let ended = pay_while_the_token_ends(layer()).await;
    assert_eq!(ended, (409, Some(StopReason::DoNotRetry), 1));
}

#[tokio::test]
async fn a_server_that_knows_its_callers_answers_them_under_a_renewed_token() {
    let known = layer().caller(|head| Some(head.headers.get("user")?.as_bytes().to_vec()));
    assert_eq!(pay_while_the_token_ends(known).await, (200, None, 1));
}
