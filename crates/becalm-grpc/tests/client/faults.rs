//! How often does a server see a call that breaks? A table of the points at which it does.

use std::cell::OnceCell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use becalm_grpc::client::{Retry, RetryLayer};
use becalm_http_faults::frames::{goaway_between, proofs};
use becalm_http_faults::quick;
use h2::Reason;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tonic::body::Body;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use tower::{Layer, Service};

use crate::channels::{client, configured, idempotent, policy, unknown};
use crate::orders::{GET, Order, OrdersClient};
use crate::raw::{Does, Raw};
use crate::within;

/// How often the server sees a unary call of which it breaks every attempt, and how the call ends.
async fn unary(layer: &RetryLayer, does: Does) -> (usize, Result<(), Status>) {
    let (server, _deaths) = Raw::start([does; 9]).await;
    let ended = within(client(layer, &server.origin()).get(Order::of("a lamp"))).await;
    (server.count(), ended.map(drop))
}

/// What a server-streaming call sees of it, of which the first message is read.
async fn streaming(layer: &RetryLayer, does: Does) -> (usize, Result<(), Status>) {
    let (server, _deaths) = Raw::start([does; 9]).await;
    let ended = within(async {
        let watched = client(layer, &server.origin())
            .watch(Order::of("a lamp"))
            .await;
        watched?.into_inner().message().await
    });
    let ended = ended.await;
    (server.count(), ended.map(drop))
}

#[tokio::test]
async fn sent_once_and_never_twice_but_where_it_may_be() {
    let limits = || policy().attempt_timeout(Duration::from_millis(200));
    let layers = [
        unknown(limits()),
        idempotent(limits()),
        configured(&["UNAVAILABLE"]),
        configured(&["INTERNAL"]),
    ];
    for (does, expected, code) in [
        // Proved unsent, whatever the method and the codes.
        (Does::RefusesStream, [3, 3, 3, 3], Code::Unavailable),
        // Not proved: only where it may be done twice.
        (Does::ClosesAtOnce, [1, 3, 3, 1], Code::Unavailable),
        (Does::ClosesAfterRequest, [1, 3, 3, 1], Code::Unavailable),
        (Does::Fails("14"), [1, 3, 3, 1], Code::Unavailable),
        // gRPC's own mappings of HTTP hold for the codes of a config.
        (Does::Rejects(503), [1, 3, 3, 1], Code::Unavailable),
        (Does::Rejects(500), [1, 3, 1, 1], Code::Unknown),
        (Does::Rejects(400), [1, 1, 1, 3], Code::Internal),
        (Does::Resets(Reason::CANCEL), [1, 3, 1, 1], Code::Cancelled),
        (
            Does::Resets(Reason::INTERNAL_ERROR),
            [1, 3, 1, 3],
            Code::Internal,
        ),
        (
            Does::Resets(Reason::ENHANCE_YOUR_CALM),
            [1, 3, 1, 1],
            Code::ResourceExhausted,
        ),
        // No failure that another attempt mends.
        (Does::Rejects(404), [1, 1, 1, 1], Code::Unimplemented),
        (Does::Fails("3"), [1, 1, 1, 1], Code::InvalidArgument),
        // The answer has begun.
        (Does::BeginsAndFails("14"), [1, 1, 1, 1], Code::Unavailable),
    ] {
        for (layer, expected) in layers.iter().zip(expected) {
            let (count, ended) = unary(layer, does).await;
            let status = ended.expect_err("it fails");
            assert_eq!(
                (count, status.code()),
                (expected, code),
                "{does:?}: {status:?}"
            );
            let (count, ended) = streaming(layer, does).await;
            let status = ended.expect_err("it fails");
            assert_eq!(
                (count, status.code()),
                (expected, code),
                "{does:?}: {status:?}"
            );
        }
    }
    for layer in &layers {
        // Its code is tonic's affair: what broke is a body that the caller reads.
        assert_eq!(unary(layer, Does::ClosesInAnswer).await.0, 1);
        assert_eq!(streaming(layer, Does::ClosesInAnswer).await.0, 1);
    }
    // A config has no attempt time-out.
    for (layer, expected) in layers.iter().zip([1, 3]) {
        let (count, ended) = unary(layer, Does::Stalls).await;
        let code = ended.expect_err("it stalls").code();
        assert_eq!((count, code), (expected, Code::DeadlineExceeded));
    }
}

#[tokio::test]
async fn what_could_not_connect_was_not_sent_whatever_the_reason() {
    let dials = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&dials);
    let connector = tower::service_fn(move |_: http::Uri| {
        counted.fetch_add(1, Ordering::SeqCst);
        let timed_out = io::Error::from(io::ErrorKind::TimedOut);
        std::future::ready(Err::<TokioIo<TcpStream>, _>(timed_out))
    });
    let endpoint = Endpoint::from_static("http://shop.test:50051");
    let channel = endpoint.connect_with_connector_lazy(connector);
    let mut client = OrdersClient::new(unknown(policy()).layer(channel));
    let ended = within(client.get(Order::of("a lamp"))).await;
    assert_eq!(ended.expect_err("nobody answers").code(), Code::Unavailable);
    assert_eq!(dials.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_dial_that_took_too_long_was_not_sent() {
    let dials = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&dials);
    let connector = tower::service_fn(move |_: http::Uri| {
        counted.fetch_add(1, Ordering::SeqCst);
        std::future::pending::<io::Result<TokioIo<TcpStream>>>()
    });
    let endpoint = Endpoint::from_static("http://shop.test:50051");
    let endpoint = endpoint.connect_timeout(Duration::from_millis(20));
    let channel = endpoint.connect_with_connector_lazy(connector);
    let mut client = OrdersClient::new(unknown(policy()).layer(channel));
    let ended = within(client.get(Order::of("a lamp"))).await;
    let status = ended.expect_err("nobody answers");
    assert_eq!(dials.load(Ordering::SeqCst), 3, "{status:?}");
}

fn channel(url: &str) -> Retry<Channel> {
    let endpoint = Endpoint::from_shared(url.to_owned()).expect("an address");
    unknown(quick()).layer(endpoint.connect_lazy())
}

async fn is_answered(channel: &Retry<Channel>) -> bool {
    let request = http::Request::post(GET).body(Body::empty());
    let answer = channel.clone().call(request.expect("valid")).await;
    answer.is_ok()
}

#[tokio::test]
async fn what_http_2_proves_unsent_is_repeated_and_nothing_else() {
    proofs(async |url| is_answered(&channel(url)).await).await;
    let shared = OnceCell::new();
    goaway_between(async |url| is_answered(shared.get_or_init(|| channel(url))).await).await;
}

#[tokio::test]
async fn a_call_outlasts_a_server_that_dies_between_its_attempts() {
    let (server, mut deaths) = Raw::start([Does::FailsAndDies]).await;
    let layer = idempotent(policy().attempts(1000));
    let mut client = client(&layer, &server.origin());
    let call = client.get(Order::of("a lamp"));
    let again = async {
        deaths.recv().await.expect("it dies");
        tokio::time::sleep(Duration::from_millis(50)).await; // some attempts find nobody
        server.start_again().await;
    };
    let (ended, ()) = within(async { tokio::join!(call, again) }).await;
    ended.expect("an answer of its second life");
    assert_eq!(server.count(), 2);
}

#[tokio::test]
async fn a_time_limit_of_the_caller_ends_the_call_with_all_its_attempts() {
    let (server, _deaths) = Raw::start([Does::Fails("14"), Does::Stalls]).await;
    let mut request = tonic::Request::new(Order::of("a lamp"));
    request.set_timeout(Duration::from_millis(300));
    let layer = idempotent(policy().deadline(Duration::from_secs(50)));
    let ended = within(client(&layer, &server.origin()).get(request)).await;
    let status = ended.expect_err("it stalls");
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status:?}");
    assert_eq!(server.count(), 2);
}
