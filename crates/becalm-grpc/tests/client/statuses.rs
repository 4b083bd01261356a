//! What does a status say, and what do the attempts tell the server?

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use becalm::retry_on::{Codes, Methods, RetryOn};
use becalm::{Operation, StopReason};
use becalm_grpc::client::{Record, RetryLayer, RetryOptions};
use becalm_tower::client::ScopeLayer;
use tonic::body::Body;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Error as TransportError;
use tonic::{Code, Request, Status};
use tonic_types::{ErrorDetails, StatusExt};
use tower::Layer;

use crate::channels::{client, configured, idempotent, policy, unknown};
use crate::orders::{GET, Order, OrdersClient};
use crate::server::{Does, Server};
use crate::within;

/// How often the server sees a call that it always answers with this status.
async fn seen(layer: &RetryLayer, code: i32, pushback: &[&str]) -> usize {
    let server = Server::start((0..9).map(|_| Does::fails(code, pushback))).await;
    let ended = client(layer, &server.origin).get(Order::of("a lamp")).await;
    let status = ended.expect_err("it fails");
    assert_eq!(
        status.code(),
        Code::from(code),
        "the last answer as it came"
    );
    assert_eq!(status.message(), "as told");
    server.seen().len()
}

/// Lists of a policy's own.
fn internal() -> RetryOn {
    RetryOn::new().codes(Codes::default().and(13))
}

#[tokio::test]
async fn each_status_is_repeated_as_often_as_it_may() {
    let layers = [
        unknown(policy()),
        idempotent(policy()),
        configured(&["UNAVAILABLE"]),
        configured(&["INTERNAL", "UNKNOWN"]),
        unknown(policy().retry_on(internal().methods(Methods::of(["POST"])))),
        unknown(policy().retry_on(internal())),
    ];
    for code in 1..=16 {
        // By columns as above. ABORTED was rolled back.
        let expected = match code {
            14 => [1, 3, 3, 1, 1, 1],
            4 | 8 => [1, 3, 1, 1, 1, 1],
            10 => [3, 3, 1, 1, 1, 1],
            2 => [1, 1, 1, 3, 1, 1],
            13 => [1, 1, 1, 3, 3, 1],
            _ => [1, 1, 1, 1, 1, 1],
        };
        for (layer, expected) in layers.iter().zip(expected) {
            assert_eq!(
                within(seen(layer, code, &[])).await,
                expected,
                "{code}: {layer:?}"
            );
        }
    }
}

#[tokio::test]
async fn pushback_in_every_form() {
    let layer = idempotent(policy());
    for (values, expected) in [
        (&["0"][..], 3),
        (&["2"], 3),
        (&["-1"], 1),
        (&["soon"], 1),
        (&["1.5"], 1),
        (&[""], 1),
        (&["99999999999"], 1),
        (&["1", "1"], 1),
    ] {
        assert_eq!(
            within(seen(&layer, 14, values)).await,
            expected,
            "{values:?}"
        );
    }
    // A server that pushes back does not make a status retryable (C-core and Go; Java retries).
    for code in [3, 13] {
        assert_eq!(within(seen(&layer, code, &["0"])).await, 1);
        assert_eq!(
            within(seen(&configured(&["UNAVAILABLE"]), code, &["0"])).await,
            1
        );
    }
}

#[tokio::test]
async fn nothing_comes_before_the_servers_own_delay() {
    let details = ErrorDetails::with_retry_info(Some(Duration::from_millis(120)));
    let with_details = Status::with_error_details(Code::Unavailable, "busy", details);
    for does in [Does::fails(14, &["120"]), Does::Fails(with_details)] {
        let server = Server::start([does]).await;
        let mut client = client(&idempotent(policy()), &server.origin);
        let began = Instant::now();
        within(client.get(Order::of("a lamp")))
            .await
            .expect("an answer");
        assert!(began.elapsed() >= Duration::from_millis(120));
        assert_eq!(server.seen().len(), 2);
    }
}

#[tokio::test]
async fn attempts_say_how_many_came_before_and_how_long_they_may_take() {
    let unavailable = || Does::fails(14, &[]);
    let server = Server::start([unavailable(), unavailable()]).await;
    let layer = idempotent(policy().attempt_timeout(Duration::from_secs(20)));
    let mut request = Request::new(Order::of("a lamp"));
    // What came with another call is not told on.
    let previous = "7".parse().expect("a value");
    request
        .metadata_mut()
        .insert("grpc-previous-rpc-attempts", previous);
    let mut client = client(&layer, &server.origin);
    within(client.get(request)).await.expect("an answer");
    let seen = server.seen();
    let previous: Vec<_> = seen.iter().map(|seen| seen.previous.as_deref()).collect();
    assert_eq!(previous, [None, Some("1"), Some("2")]);
    for seen in &seen {
        assert_eq!(seen.lines, "a lamp");
        assert_eq!(seen.timeout.as_deref(), Some("20000000u"));
        assert_eq!(seen.length, None);
    }

    // The caller's own limit is that of all attempts, and the least holds.
    let server = Server::start([unavailable()]).await;
    let mut client = crate::channels::client(&layer, &server.origin);
    let mut request = Request::new(Order::of("a lamp"));
    request.set_timeout(Duration::from_secs(15));
    within(client.get(request)).await.expect("an answer");
    let timeouts = server.seen().into_iter().map(|seen| {
        let timeout = seen.timeout.expect("a limit");
        let (micros, unit) = timeout.split_at(timeout.len() - 1);
        assert_eq!(unit, "u");
        micros.parse::<u64>().expect("a number")
    });
    let timeouts: Vec<u64> = timeouts.collect();
    assert!(
        timeouts[0] <= 15_000_000 && timeouts[1] < timeouts[0],
        "{timeouts:?}"
    );
    assert!(timeouts[1] > 1_000_000, "{timeouts:?}");
}

#[tokio::test]
async fn one_call_says_that_it_may_be_done_twice_or_not() {
    for (layer, options, expected) in [
        (
            unknown(policy()),
            RetryOptions::new().operation(Operation::Idempotent),
            3,
        ),
        (unknown(policy()), RetryOptions::new().keyed(), 3),
        (unknown(policy()), RetryOptions::new(), 1),
        (
            idempotent(policy()),
            RetryOptions::new().operation(Operation::NotIdempotent),
            1,
        ),
        (
            configured(&["UNAVAILABLE"]),
            RetryOptions::new().operation(Operation::NotIdempotent),
            1,
        ),
        (idempotent(policy()), RetryOptions::new().attempts(2), 2),
    ] {
        let server = Server::start((0..9).map(|_| Does::fails(14, &[]))).await;
        let mut request = Request::new(Order::of("a lamp"));
        request.extensions_mut().insert(options);
        let ended = within(client(&layer, &server.origin).get(request)).await;
        ended.expect_err("it fails");
        assert_eq!(server.seen().len(), expected, "{options:?}");
    }
}

#[tokio::test]
async fn an_interceptor_below_runs_for_each_attempt_and_one_above_for_each_call() {
    let server = Server::start([Does::fails(14, &[])]).await;
    let counts = [0, 1].map(|_| Arc::new(AtomicU32::new(0)));
    let [below, above] = counts.clone().map(|count| {
        move |request: Request<()>| {
            count.fetch_add(1, Ordering::SeqCst);
            Ok(request)
        }
    });
    let channel = InterceptedService::new(server.channel(), below);
    let channel = InterceptedService::new(idempotent(policy()).layer(channel), above);
    let mut client = OrdersClient::new(channel);
    within(client.get(Order::of("a lamp")))
        .await
        .expect("an answer");
    assert_eq!(counts.map(|count| count.load(Ordering::SeqCst)), [2, 1]);
}

#[tokio::test]
async fn methods_have_policies_of_their_own() {
    let retrier = |attempts| policy().attempts(attempts).retrier().expect("valid");
    let layer = RetryLayer::new(&retrier(2)).idempotent(["/shop.v1.Orders/*"]);
    let layer = layer
        .expect("a name")
        .methods([GET], &retrier(5))
        .expect("a name");
    let server = Server::start((0..9).map(|_| Does::fails(14, &[]))).await;
    let mut client = client(&layer, &server.origin);
    within(client.get(Order::of("a lamp")))
        .await
        .expect_err("it fails");
    within(client.watch(Order::of("a lamp")))
        .await
        .expect_err("it fails");
    assert_eq!(
        server.seen().iter().filter(|seen| seen.path == GET).count(),
        5
    );
    assert_eq!(server.seen().len(), 7);

    let refused = RetryLayer::new(&retrier(2)).idempotent(["Orders.Get"]);
    let told = refused.expect_err("no name").to_string();
    assert!(
        told.starts_with("`Orders.Get` names no methods: write /package"),
        "{told}"
    );
}

#[tokio::test]
async fn servers_that_are_known_are_told_of_the_attempt_and_heard() {
    let told = "do-not-retry".parse().expect("a value");
    let mut last = Status::unavailable("below");
    last.metadata_mut().insert("becalm-retry", told);
    let server = Server::start([Does::fails(14, &[]), Does::Fails(last)]).await;
    let scope = ScopeLayer::to([server.origin.as_str()]).expect("an origin");
    let layer = idempotent(policy().attempts(5));
    let channel = layer.layer(scope.layer(server.channel()));
    let mut client = OrdersClient::with_origin(channel.clone(), &server.origin);
    within(client.get(Order::of("a lamp")))
        .await
        .expect_err("it is forbidden");
    let scopes: Vec<_> = server.seen().into_iter().map(|seen| seen.scope).collect();
    assert_eq!(
        scopes.len(),
        2,
        "nobody above it repeats what a server below forbids"
    );
    assert!(scopes[0].is_some() && scopes[0] != scopes[1], "{scopes:?}");

    // Who does not name the origin tells nobody.
    within(OrdersClient::new(channel).get(Order::of("a lamp")))
        .await
        .expect("an answer");
    assert_eq!(server.seen()[2].scope, None);
}

#[tokio::test]
async fn what_a_server_forbids_is_heard_above_a_call_that_is_not_repeated() {
    let told = "do-not-retry".parse().expect("a value");
    let mut status = Status::unavailable("below");
    status.metadata_mut().insert("becalm-retry", told);
    let server = Server::start([Does::Fails(status)]).await;
    let scope = ScopeLayer::to([server.origin.as_str()]).expect("an origin");
    let channel = scope.layer(server.channel());
    let outer = policy().retrier().expect("a valid policy");
    let outer = outer.classify_with(|_, _: &Status| becalm::Failure::transient());
    let call = outer.retry(|_| {
        let mut client = OrdersClient::with_origin(channel.clone(), &server.origin);
        async move { client.get(Order::of("a lamp")).await }
    });
    let gave_up = within(call).await.expect_err("it is forbidden");
    assert_eq!(gave_up.reason(), StopReason::DoNotRetry);
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_call_without_an_answer_has_a_status_with_the_record_of_its_attempts() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let origin = format!("http://{}", nobody.local_addr().expect("an address"));
    drop(nobody);
    let ended = within(client(&unknown(policy()), &origin).get(Order::of("a lamp"))).await;
    let status = ended.expect_err("nobody listens");
    assert_eq!(status.code(), Code::Unavailable);
    let source = std::error::Error::source(&status).expect("a source");
    let gave_up: &Record<TransportError> = source.downcast_ref().expect("a record");
    assert_eq!(gave_up.reason(), StopReason::AttemptsExhausted);
    assert_eq!(
        gave_up.records().count(),
        3,
        "what was not sent may be repeated"
    );
    // A report, such as anyhow's, says the sentence and its root cause once.
    let shown = format!("{status}: {source}");
    for once in ["gave up after", "Connection refused"] {
        assert_eq!(shown.matches(once).count(), 1, "{shown}");
    }
    assert!(source.source().is_none());
}

#[tokio::test(start_paused = true)]
async fn what_came_before_a_time_limit_is_told_by_the_name_that_grpc_has_for_it() {
    let count = Arc::new(AtomicU32::new(0));
    let channel = tower::service_fn(move |_: http::Request<Body>| {
        let is_first = count.fetch_add(1, Ordering::SeqCst) == 0;
        async move {
            if !is_first {
                std::future::pending::<()>().await;
            }
            Ok::<_, std::io::Error>(Status::unavailable("no leader").into_http::<Body>())
        }
    });
    let layer = idempotent(policy().deadline(Duration::from_secs(1)));
    let mut client = OrdersClient::new(layer.layer(channel));
    let status = client
        .get(Order::of("a lamp"))
        .await
        .expect_err("it stalls");
    assert_eq!(status.code(), Code::DeadlineExceeded);
    let told = status.message();
    let name = "the server answered UNAVAILABLE (grpc-status 14): no leader";
    assert!(told.ends_with(name) && !told.contains("200"), "{told}");
}
