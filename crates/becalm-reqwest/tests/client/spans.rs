//! What does a trace show of each request?

use becalm_http_faults::spans::Spans;
use becalm_http_faults::{Does, Server, Version, quick, within};
use reqwest::header::HeaderValue;

use crate::clients::client_builder;

#[tokio::test]
async fn every_request_is_a_client_span_as_opentelemetry_has_it() {
    let (spans, _guard) = Spans::record();
    let server = Server::start(Version::Http1, [Does::Answer(503), Does::CloseAfterRequest]).await;
    server.want("token");
    let origin = format!("http://shop.test:{}", server.port);
    let fetched = std::sync::atomic::AtomicBool::new(false);
    let client = client_builder(&quick())
        .credentials(&origin, move || {
            let is_new = fetched.swap(true, std::sync::atomic::Ordering::Relaxed);
            let text = if is_new { "token" } else { "old" };
            async move { Some(HeaderValue::from_static(text)) }
        })
        .spans()
        .build()
        .expect("a client");
    let sent = client.get(format!("{}?token=1", server.url())).send();
    within(sent).await.expect("an answer");

    let spans = spans.with("http.request.method");
    let each = |name: &str| -> Vec<Option<String>> {
        spans.iter().map(|span| span.get(name).cloned()).collect()
    };
    let texts = |texts: [&str; 4]| texts.map(|text| (!text.is_empty()).then(|| text.to_owned()));
    let (url, port) = (server.url(), server.port.to_string());
    for (name, values) in [
        ("url.full", [&*url; 4]),
        ("server.address", ["shop.test"; 4]),
        ("server.port", [&*port; 4]),
        ("http.request.resend_count", ["", "1", "2", "3"]),
        ("http.response.status_code", ["401", "503", "", "200"]),
        ("error.type", ["401", "503", "reqwest::error::Error", ""]),
    ] {
        assert_eq!(each(name), texts(values), "{name}");
    }
}
