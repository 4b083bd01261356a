//! What does a trace show of each attempt?

use std::io::ErrorKind;

use becalm_http_faults::spans::Spans;
use becalm_tower::client::{RetryLayer, SpanLayer};
use http::Request;
use http_body_util::Empty;
use hyper::body::Bytes;
use tower::{Service, ServiceBuilder};

use crate::hyper::retrier;
use crate::made_up::{Does, MadeUp, answers};

#[tokio::test(start_paused = true)]
async fn every_attempt_is_a_client_span_as_opentelemetry_has_it() {
    let (spans, _guard) = Spans::record();
    let service = MadeUp::new([answers(503), Does::Fails(ErrorKind::ConnectionReset)]);
    let mut client = ServiceBuilder::new()
        .layer(RetryLayer::new(&retrier()))
        .layer(SpanLayer)
        .service(service);
    let request = Request::put("https://me:secret@shop.example/orders?token=1");
    let request = request.body(Empty::<Bytes>::new()).expect("valid");
    client.call(request).await.expect("an answer");

    let spans = spans.with("http.request.method");
    let each = |name: &str| -> Vec<Option<String>> {
        spans.iter().map(|span| span.get(name).cloned()).collect()
    };
    let texts = |texts: [&str; 3]| texts.map(|text| (!text.is_empty()).then(|| text.to_owned()));
    for (name, value) in [
        ("otel.name", "PUT"),
        ("otel.kind", "client"),
        ("http.request.method", "PUT"),
        ("url.full", "https://shop.example/orders"),
        ("server.address", "shop.example"),
        ("server.port", "443"),
    ] {
        assert_eq!(each(name), texts([value; 3]), "{name}");
    }
    for (name, values) in [
        ("http.request.resend_count", ["", "1", "2"]),
        ("http.response.status_code", ["503", "", "200"]),
        ("error.type", ["503", "std::io::error::Error", ""]),
        ("otel.status_code", ["ERROR", "ERROR", ""]),
    ] {
        assert_eq!(each(name), texts(values), "{name}");
    }
}
