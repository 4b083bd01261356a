//! Which calls of streams are repeated, and which pass untouched?

use std::time::Duration;

use becalm::StopReason;
use becalm::run::Stopped;
use bytes::Bytes;
use http_body_util::Full;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{StreamExt, pending};
use tonic::body::Body;
use tonic::{Code, Status};
use tower::{Layer, Service};

use becalm_grpc::client::RetryLayer;

use crate::channels::{client, idempotent, policy};
use crate::orders::{CHAT, GET, IMPORT, Order};
use crate::raw::{self, Raw};
use crate::server::{Does, Server};
use crate::within;

/// A layer that may repeat all methods.
fn all() -> RetryLayer {
    let layer = idempotent(policy()).idempotent([IMPORT, CHAT]);
    layer.expect("names of methods")
}

#[tokio::test]
async fn a_servers_stream_is_repeated_until_it_begins() {
    let broken = || Status::unavailable("broken");
    for (sent, attempts) in [(None, 2), (Some(0), 1), (Some(1), 1), (Some(3), 1)] {
        let does = match sent {
            None => Does::Fails(broken()),
            Some(count) => Does::FailsAfter(count, broken()),
        };
        let server = Server::start([does]).await;
        let mut client = client(&all(), &server.origin);
        let watched = within(client.watch(Order::of("a lamp")))
            .await
            .expect("a stream");
        let messages: Vec<_> = within(watched.into_inner().collect()).await;
        assert_eq!(server.seen().len(), attempts);
        let good = messages.iter().filter(|message| message.is_ok()).count();
        let ended = messages
            .last()
            .and_then(|last| last.as_ref().err())
            .map(Status::code);
        match sent {
            None => assert_eq!((good, ended), (1, None)),
            Some(sent) => assert_eq!((good, ended), (sent, Some(Code::Unavailable))),
        }
    }
}

#[tokio::test]
async fn a_clients_stream_passes_untouched_unless_it_is_there_at_once() {
    let server = Server::start((0..9).map(|_| Does::fails(14, &[]))).await;
    let mut client = client(&all(), &server.origin);

    // Written while the call runs.
    let (orders, stream) = mpsc::channel(1);
    let written = async {
        for order in ["a lamp", ", a chair"] {
            orders.send(Order::of(order)).await.expect("it is read");
        }
        drop(orders);
    };
    let call = client.import(ReceiverStream::new(stream));
    let (ended, ()) = within(async { tokio::join!(call, written) }).await;
    assert_eq!(ended.expect_err("it fails").message(), "as told");
    let seen = server.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].lines, "a lamp, a chair");

    // All there, so that it can be sent again.
    let complete = tokio_stream::iter(["a lamp", ", a chair"].map(Order::of));
    within(client.import(complete)).await.expect_err("it fails");
    let seen = server.seen();
    assert_eq!(seen.len(), 1 + 3);
    assert!(seen.iter().all(|seen| seen.lines == "a lamp, a chair"));

    // Neither is a part of it read ahead and lost.
    let (orders, stream) = mpsc::channel(2);
    orders
        .send(Order::of("a lamp"))
        .await
        .expect("there is room");
    let written = async {
        orders
            .send(Order::of(", a chair"))
            .await
            .expect("it is read");
        drop(orders);
    };
    let call = client.import(ReceiverStream::new(stream));
    let (ended, ()) = within(async { tokio::join!(call, written) }).await;
    ended.expect_err("it fails");
    assert_eq!(server.seen().len(), 5);
    assert_eq!(server.seen()[4].lines, "a lamp, a chair");
}

#[tokio::test]
async fn a_conversation_passes_untouched() {
    let server = Server::start([]).await;
    let mut client = client(&all(), &server.origin);
    let (orders, stream) = mpsc::channel(1);
    orders
        .send(Order::of("a lamp"))
        .await
        .expect("there is room");
    let answers = within(client.chat(ReceiverStream::new(stream))).await;
    let mut answers = answers.expect("a stream").into_inner();
    for next in ["a chair", "a table"] {
        // What it says next depends on the answer.
        within(answers.message())
            .await
            .expect("no failure")
            .expect("an answer");
        orders.send(Order::of(next)).await.expect("it is read");
    }
    drop((answers, orders));

    let refused = Server::start([Does::fails(14, &[])]).await;
    let mut client = crate::channels::client(&all(), &refused.origin);
    let forever = pending::<Order>();
    within(client.chat(forever))
        .await
        .expect_err("it is refused");
    assert_eq!(refused.seen().len(), 1);
}

#[tokio::test]
async fn messages_above_the_limit_are_sent_whole_and_once() {
    let large = Order {
        lines: Bytes::from(vec![b'x'; 100_000]),
    };
    for (limit, attempts) in [(1000, 1), (99_999, 1), (200_000, 3)] {
        let server = Server::start((0..9).map(|_| Does::fails(14, &[]))).await;
        let mut client = client(&all().replay_limit(limit), &server.origin);
        within(client.get(large.clone()))
            .await
            .expect_err("it fails");
        let seen = server.seen();
        assert_eq!(seen.len(), attempts, "{limit}");
        assert!(seen.iter().all(|seen| seen.lines.len() == 100_000));
    }

    // The answer says why it is the last, and so does a status without one, which the time limits bring.
    let unavailable = |_: http::Request<Body>| async {
        Ok::<_, std::io::Error>(Status::unavailable("busy").into_http::<Body>())
    };
    let mut channel = all()
        .replay_limit(1000)
        .layer(tower::service_fn(unavailable));
    let body = Body::new(Full::new(large.lines.clone()));
    let request = http::Request::post(GET).body(body).expect("valid");
    let answer = within(channel.call(request)).await.expect("an answer");
    let stopped = answer.extensions().get::<Stopped>().expect("a record");
    assert_eq!(stopped.reason(), StopReason::BodyNotReplayable);

    let (server, _deaths) = Raw::start([raw::Does::Stalls]).await;
    let limits = policy().attempt_timeout(Duration::from_millis(300));
    let layer = idempotent(limits).replay_limit(1000);
    let ended = within(client(&layer, &server.origin()).get(large)).await;
    let status = ended.expect_err("it stalls");
    let told = status.message();
    assert!(
        told.contains("because the body cannot be sent again"),
        "{told}"
    );
    assert_eq!(server.count(), 1);
}
