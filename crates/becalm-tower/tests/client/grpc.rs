//! Is an answer of gRPC judged and told by its own status, in the head or in the trailers?

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use becalm_tower::client::{CollectLayer, RetryLayer};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Bytes;
#[cfg(feature = "tracing")]
use tower::ServiceBuilder;
use tower::{Layer, Service, service_fn};

use crate::hyper::retrier;
use crate::made_up::{Does, MadeUp, request, with};

const KIND: (&str, &str) = ("content-type", "application/grpc");

fn trailers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
    let read = |(name, value): &(&'static str, &'static str)| {
        (
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        )
    };
    lines.iter().map(read).collect()
}

/// How often a call is sent that is answered with a message and these trailers, and then without a fault; and what its caller
/// has in the trailers.
async fn sent(
    layer: CollectLayer,
    lines: &[(&'static str, &'static str)],
) -> (usize, Option<HeaderMap>) {
    let first = trailers(lines);
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let service = service_fn(move |_: Request<_>| {
        let ends = match counted.fetch_add(1, Ordering::SeqCst) {
            0 => first.clone(),
            _ => trailers(&[("grpc-status", "0")]),
        };
        let body = Full::<Bytes>::from("message").with_trailers(async { Some(Ok(ends)) });
        let answer = Response::builder().header(KIND.0, KIND.1);
        std::future::ready(Ok::<_, Infallible>(
            answer.body(BoxBody::new(body)).expect("valid"),
        ))
    });
    let mut client = RetryLayer::new(&retrier()).layer(layer.layer(service));
    let request = Request::put("http://shop.example/").body(Empty::<Bytes>::new());
    let answer = client
        .call(request.expect("valid"))
        .await
        .expect("an answer");
    let body = answer.into_body().collect().await.expect("all of it");
    (count.load(Ordering::SeqCst), body.trailers().cloned())
}

#[tokio::test(start_paused = true)]
async fn trailers_that_were_collected_say_whether_the_attempt_has_failed() {
    let collects = || CollectLayer::new(100);
    for (lines, expected) in [
        (&[("grpc-status", "0")][..], 1),
        (&[("grpc-status", "14")], 2),
        (&[("grpc-status", "8")], 2),
        (&[("grpc-status", "3")], 1),
        (
            &[("grpc-status", "14"), ("grpc-retry-pushback-ms", "-1")],
            1,
        ),
        (
            &[("grpc-status", "14"), ("becalm-retry", "do-not-retry")],
            1,
        ),
        // Whatever has cut them off.
        (&[("checksum", "1")], 1),
    ] {
        let (count, ended) = sent(collects(), lines).await;
        let last = if expected == 1 {
            lines
        } else {
            &[("grpc-status", "0")]
        };
        assert_eq!(
            (count, ended),
            (expected, Some(trailers(last))),
            "{lines:?}"
        );
    }
    // What is not collected, or judged otherwise.
    let unavailable = &[("grpc-status", "14")];
    assert_eq!(sent(CollectLayer::new(1), unavailable).await.0, 1);
    let judge = |answer: &becalm::http::Answer<'_>| {
        let code = answer.trailers.and_then(becalm::http::grpc_code);
        (code == Some(14)).then_some(becalm::classify::Verdict::Success)
    };
    assert_eq!(sent(collects().judge(judge), unavailable).await.0, 1);
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_grpc_is_told_by_its_name() {
    let unavailable = || {
        with(
            200,
            &[KIND, ("grpc-status", "14"), ("grpc-message", "no%20leader")],
        )
    };
    let policy = becalm_http_faults::quick().attempts(1);
    let retrier = policy.retrier().expect("a valid policy");
    let layer = RetryLayer::new(&retrier).answers_are_errors();
    let mut client = layer.layer(MadeUp::new([unavailable()]));
    let gave_up = client
        .call(request("GET", ""))
        .await
        .err()
        .expect("an error");
    let told = gave_up.to_string();
    assert!(
        told.ends_with("the server answered UNAVAILABLE (grpc-status 14): no leader"),
        "{told}"
    );

    // In trailers.
    let service = service_fn(|_: Request<_>| {
        let ends = async { Some(Ok(trailers(&[("grpc-status", "14")]))) };
        let answer = Response::builder().header(KIND.0, KIND.1);
        let body = BoxBody::<Bytes, Infallible>::new(Full::from("message").with_trailers(ends));
        std::future::ready(Ok::<_, Infallible>(answer.body(body).expect("valid")))
    });
    let mut client = layer.layer(CollectLayer::new(100).layer(service));
    let gave_up = client.call(request("GET", "")).await.expect_err("an error");
    let told = gave_up.to_string();
    assert!(
        told.ends_with("the server answered UNAVAILABLE (grpc-status 14)"),
        "{told}"
    );

    // And after an attempt that is cut.
    let retrier = becalm_http_faults::quick()
        .attempts(2)
        .attempt_timeout(std::time::Duration::from_secs(1))
        .retrier()
        .expect("a valid policy");
    let service = MadeUp::new([unavailable(), Does::Stalls]);
    let mut client = RetryLayer::new(&retrier).layer(service);
    let gave_up = client
        .call(request("GET", ""))
        .await
        .err()
        .expect("an error");
    let told = gave_up.to_string();
    assert!(
        told.contains("UNAVAILABLE (grpc-status 14)") && !told.contains("200"),
        "{told}"
    );
}

#[cfg(feature = "tracing")]
#[tokio::test(start_paused = true)]
async fn a_span_has_the_code_of_grpc() {
    let (spans, _guard) = becalm_http_faults::spans::Spans::record();
    let service = MadeUp::new([
        with(200, &[KIND, ("grpc-status", "14")]),
        with(200, &[KIND, ("grpc-status", "0")]),
    ]);
    let mut client = ServiceBuilder::new()
        .layer(RetryLayer::new(&retrier()))
        .layer(becalm_tower::client::SpanLayer)
        .service(service);
    client.call(request("GET", "")).await.expect("an answer");
    let spans = spans.with("http.request.method");
    let each = |name: &str| {
        spans
            .iter()
            .map(|span| span.get(name).cloned())
            .collect::<Vec<_>>()
    };
    let texts = |texts: [&str; 2]| texts.map(|text| (!text.is_empty()).then(|| text.to_owned()));
    for (name, values) in [
        ("http.response.status_code", ["200", "200"]),
        ("rpc.grpc.status_code", ["14", "0"]),
        ("error.type", ["UNAVAILABLE", ""]),
        ("otel.status_code", ["ERROR", ""]),
    ] {
        assert_eq!(each(name), texts(values), "{name}");
    }
}
