//! Is a call of gRPC judged by what gRPC says, which is not in the status?

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use becalm::Bulkhead;
use becalm::rng::Seed;
use becalm_tower::server::{self, AdmissionLayer, IdempotencyLayer, MemoryStore};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::servers::{layer, payment};

/// Where an answer of gRPC says its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Says {
    InHead,
    InTrailers,
    InBody,
    /// As text.
    InText,
    Nowhere,
}

type Answer = Response<BoxBody<Bytes, Infallible>>;

fn fields(code: &str) -> HeaderMap {
    let value = HeaderValue::from_str(code).expect("a value");
    HeaderMap::from_iter([(HeaderName::from_static("grpc-status"), value)])
}

/// An answer with this code.
pub fn answer(code: &str, says: Says) -> Answer {
    let kind = match says {
        Says::InBody => "application/grpc-web+proto",
        Says::InText => "application/grpc-web-text+proto",
        _ => "application/grpc",
    };
    let head = Response::builder().header("content-type", kind);
    let message = Full::from(&[0; 5][..]);
    let body = match says {
        Says::InHead => {
            let head = head.header("grpc-status", code);
            return head.body(BoxBody::default()).expect("valid");
        }
        Says::InTrailers => {
            let trailers = Ok(fields(code));
            BoxBody::new(message.with_trailers(async { Some(trailers) }))
        }
        Says::InBody | Says::InText => {
            let trailers = format!("grpc-message:x\r\ngrpc-status: {code}\r\n");
            let length = u32::try_from(trailers.len()).expect("short").to_be_bytes();
            let trailers = [&[0x80], &length[..], trailers.as_bytes()].concat();
            let message = [0; 5];
            let body = match says {
                Says::InText => [STANDARD.encode(message), STANDARD.encode(trailers)]
                    .concat()
                    .into(),
                _ => [&message[..], &trailers].concat(),
            };
            BoxBody::new(Full::from(body))
        }
        Says::Nowhere => BoxBody::new(message),
    };
    head.body(body).expect("valid")
}

/// What came of a call: its code, whether it is a repetition's answer, pushback.
pub async fn ended(
    answer: Response<impl hyper::body::Body<Data = Bytes>>,
) -> (String, bool, Option<String>) {
    assert_eq!(answer.status(), 200);
    let (head, body) = answer.into_parts();
    let Ok(body) = body.collect().await else {
        panic!("the body breaks off");
    };
    let trailers = body.trailers().cloned().unwrap_or_default();
    let text = |name: &str| {
        let value = head.headers.get(name).or(trailers.get(name))?;
        Some(value.to_str().expect("a text").to_owned())
    };
    let in_body = || {
        let bytes = body.to_bytes();
        // The message takes eight letters.
        let decoded = bytes.get(8..).and_then(|bytes| STANDARD.decode(bytes).ok());
        let text = String::from_utf8_lossy(decoded.as_deref().unwrap_or(&bytes)).into_owned();
        let (_, code) = text.split_once("grpc-status: ")?;
        Some(code.trim_end().to_owned())
    };
    let pushback = text("grpc-retry-pushback-ms");
    let is_replay = head.headers.contains_key("idempotency-replayed");
    let code = text("grpc-status").or_else(in_body);
    (code.unwrap_or_default(), is_replay, pushback)
}

pub fn call(key: &str) -> Request<Full<Bytes>> {
    let mut call = payment(key, "");
    let kind = HeaderValue::from_static("application/grpc+proto");
    call.headers_mut().insert("content-type", kind);
    call
}

#[tokio::test]
async fn what_grpc_asks_for_again_is_done_again_wherever_the_status_is() {
    for says in [Says::InHead, Says::InTrailers, Says::InBody, Says::InText] {
        for code in 0..=18 {
            let runs = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&runs);
            let service = layer().layer(service_fn(move |_| {
                counted.fetch_add(1, Ordering::SeqCst);
                std::future::ready(Ok::<_, Infallible>(answer(&code.to_string(), says)))
            }));
            let mut got = Vec::new();
            for _ in 0..2 {
                let answer = service
                    .clone()
                    .oneshot(call("1"))
                    .await
                    .expect("infallible");
                got.push(ended(answer).await);
            }
            let is_kept = [0, 3, 5, 6, 7, 9, 11].contains(&code);
            let expected = [false, is_kept].map(|is_replay| (code.to_string(), is_replay, None));
            assert_eq!(got, expected, "{says:?}, {code}");
            let expected = if is_kept { 1 } else { 2 };
            assert_eq!(runs.load(Ordering::SeqCst), expected, "{says:?}, {code}");
        }
    }
}

#[tokio::test]
async fn an_answer_without_a_status_or_with_one_that_cannot_be_read_is_broken() {
    for (code, says) in [
        ("0", Says::Nowhere),
        ("soon", Says::InHead),
        ("99999999999999999999", Says::InTrailers),
        ("-1", Says::InTrailers),
        ("\u{ff}", Says::InBody),
    ] {
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&runs);
        let service = layer().layer(service_fn(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            std::future::ready(Ok::<_, Infallible>(answer(code, says)))
        }));
        for _ in 0..2 {
            let answer = service.clone().oneshot(call("1")).await;
            ended(answer.expect("infallible")).await;
        }
        assert_eq!(runs.load(Ordering::SeqCst), 2, "{code}, {says:?}");
    }
}

#[tokio::test]
async fn what_is_not_run_is_refused_in_the_words_of_grpc() {
    let layer = layer()
        .required([http::Method::POST])
        .retry_after(Duration::from_millis(1500))
        .body_limit(100);
    let (began, gate) = (
        Arc::new(tokio::sync::Semaphore::new(0)),
        Arc::new(tokio::sync::Semaphore::new(0)),
    );
    let (begins, waits) = (Arc::clone(&began), Arc::clone(&gate));
    let service = layer.layer(service_fn(move |_| {
        let (begins, waits) = (Arc::clone(&begins), Arc::clone(&waits));
        async move {
            begins.add_permits(1);
            waits.acquire().await.expect("open").forget();
            Ok::<_, Infallible>(answer("0", Says::InTrailers))
        }
    }));
    let ask =
        async |request| ended(service.clone().oneshot(request).await.expect("infallible")).await;
    let running = tokio::spawn(service.clone().oneshot(call("1")));
    began.acquire().await.expect("open").forget();
    let with = |edit: fn(&mut Request<Full<Bytes>>)| {
        let mut call = call("1");
        edit(&mut call);
        call
    };
    let told =
        |code: &str, pushback: Option<&str>| (code.to_owned(), false, pushback.map(Into::into));
    assert_eq!(ask(call("1")).await, told("14", Some("1500")));
    let other = with(|call| *call.body_mut() = Full::from("18 EUR"));
    assert_eq!(ask(other).await, told("3", None));
    let long = with(|call| *call.body_mut() = Full::from(vec![0; 101]));
    assert_eq!(ask(long).await, told("3", None));
    let keyless = with(|call| drop(call.headers_mut().remove("idempotency-key")));
    assert_eq!(ask(keyless).await, told("3", None));
    let renewed = with(|call| {
        let value = HeaderValue::from_static("Bearer new");
        call.headers_mut().insert("authorization", value);
    });
    assert_eq!(ask(renewed).await, told("9", Some("-1")));
    gate.add_permits(1);
    let first = running.await.expect("no panic").expect("infallible");
    assert_eq!(ended(first).await, told("0", None));
    assert_eq!(ask(call("1")).await, ("0".to_owned(), true, None));

    // A store that is full, and an answer that was too long.
    let store = MemoryStore::new().entries(1);
    let full = IdempotencyLayer::new(store).retry_after(Duration::from_secs(3));
    let full = full.answer_limit(4).layer(service_fn(|_| async {
        tokio::task::yield_now().await;
        Ok::<_, Infallible>(answer("0", Says::InTrailers))
    }));
    let first = full.clone().oneshot(call("1")).await.expect("infallible");
    assert_eq!(ended(first).await, told("0", None));
    let again = full.clone().oneshot(call("1")).await.expect("infallible");
    assert_eq!(ended(again).await, told("6", Some("-1")));
}

#[test]
fn what_was_refused_before_a_message_did_nothing() {
    let did_nothing = |code, body| {
        let body = Some(Bytes::from_static(body));
        server::Answer::new(http::StatusCode::OK, fields(code), body).did_nothing()
    };
    for code in ["3", "5", "7", "12"] {
        assert!(did_nothing(code, b"") && !did_nothing(code, b"12345"));
    }
    for code in ["0", "6", "9", "11"] {
        assert!(!did_nothing(code, b""));
    }
}

/// Half the calls that run for a second say this. How many may run at once after that?
async fn limit_after(answer: impl Fn() -> Answer + Clone + Send + Sync + 'static) -> u32 {
    let mut aimd = becalm::bulkhead::Aimd::default();
    aimd.initial = 20;
    let places = Bulkhead::limited(becalm::bulkhead::Limit::Aimd(aimd));
    let layer = AdmissionLayer::new(places)
        .expect("valid")
        .seed(Seed::fixed(1));
    let service = layer.layer(service_fn(move |_: Request<_>| {
        std::future::ready(Ok::<_, Infallible>(answer()))
    }));
    for _ in 0..20 {
        let mut service = service.clone();
        let answer = service.ready().await.expect("ready").call(call("1")).await;
        ended(answer.expect("infallible")).await;
    }
    layer.limit()
}

#[tokio::test]
async fn an_adaptive_limit_hears_of_overload_in_the_words_of_grpc() {
    for says in [Says::InHead, Says::InTrailers] {
        for (code, is_overload) in [
            ("0", false),
            ("5", false),
            ("4", true),
            ("8", true),
            ("14", true),
        ] {
            let limit = limit_after(move || answer(code, says)).await;
            assert_eq!(limit < 20, is_overload, "{says:?}, {code}: {limit}");
        }
    }
}
