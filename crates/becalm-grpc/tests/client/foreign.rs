//! What if a server, or a service config, says what cannot be? Nothing panics, nothing overflows, and the call ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use becalm_grpc::client::RetryLayer;
use becalm_grpc::service_config::ServiceConfig;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use prost::Message;
use tonic::body::Body;
use tonic::metadata::{BinaryMetadataValue, MetadataMap};
use tower::{Layer, Service, service_fn};

use crate::channels::{idempotent, policy};
use crate::orders::GET;

/// `google.protobuf.Any` of a `google.rpc.RetryInfo`, and what it holds.
#[derive(Clone, PartialEq, Message)]
struct Details {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

#[derive(Clone, PartialEq, Message)]
struct Any {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct RetryInfo {
    #[prost(message, tag = "1")]
    delay: Option<Span>,
}

#[derive(Clone, PartialEq, Message)]
struct Span {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

fn details(seconds: i64, nanos: i32) -> Vec<u8> {
    let delay = Some(Span { seconds, nanos });
    let info = Any {
        type_url: "type.googleapis.com/google.rpc.RetryInfo".to_owned(),
        value: RetryInfo { delay }.encode_to_vec(),
    };
    Details {
        code: 14,
        details: vec![info],
    }
    .encode_to_vec()
}

fn binary(bytes: &[u8]) -> HeaderValue {
    let mut map = MetadataMap::new();
    map.insert_bin("x-bin", BinaryMetadataValue::from_bytes(bytes));
    map.into_headers()["x-bin"].clone()
}

/// How often a call is sent that always fails with these fields.
async fn sent(layer: &RetryLayer, fields: HeaderMap) -> u32 {
    let count = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&count);
    let mut channel = layer.layer(service_fn(move |_: Request<Body>| {
        counted.fetch_add(1, Ordering::SeqCst);
        let mut answer = Response::new(Body::empty());
        *answer.headers_mut() = fields.clone();
        std::future::ready(Ok::<_, std::io::Error>(answer))
    }));
    let request = Request::post(GET).body(Body::empty()).expect("valid");
    let ended = channel.call(request).await;
    ended.expect("the last answer as it came");
    count.load(Ordering::SeqCst)
}

fn fields(lines: &[(&'static str, HeaderValue)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in lines {
        map.append(HeaderName::from_static(name), value.clone());
    }
    map
}

#[tokio::test(start_paused = true)]
async fn a_server_may_say_anything() {
    let layer = idempotent(policy().deadline(Duration::from_secs(5)));
    let text = HeaderValue::from_static;
    let unavailable = ("grpc-status", text("14"));
    for (value, expected) in [
        (binary(&details(0, 1)), 3),
        (binary(&details(-1, 0)), 3),
        (binary(&details(4000, 0)), 1),
        (binary(&details(i64::MAX, 999_999_999)), 1),
        (binary(&details(i64::MAX, i32::MAX)), 3),
        (binary(&details(i64::MIN, i32::MIN)), 3),
        (binary(&details(0, i32::MIN)), 3),
        (binary(&[0xff; 100]), 3),
        (binary(&[]), 3),
        (text("no base64!"), 3),
        (HeaderValue::from_bytes(b"\xff\xfe").expect("a value"), 3),
    ] {
        let lines = [unavailable.clone(), ("grpc-status-details-bin", value)];
        assert_eq!(sent(&layer, fields(&lines)).await, expected, "{lines:?}");
    }
    for (code, expected) in [
        ("", 1),
        ("014", 3),
        (" 14", 3),
        ("+14", 3),
        ("1e1", 1),
        ("-1", 1),
        ("4294967310", 1),
    ] {
        let lines = [("grpc-status", text(code)), ("grpc-message", text("%"))];
        assert_eq!(sent(&layer, fields(&lines)).await, expected, "{code}");
    }
    for (pushback, expected) in [
        ("2147483647", 1),
        ("-2147483648", 1),
        ("99999999999999999999", 1),
        ("1e3", 1),
        ("0x1", 1),
        ("", 1),
        ("4999", 2),
    ] {
        let lines = [
            unavailable.clone(),
            ("grpc-retry-pushback-ms", text(pushback)),
        ];
        assert_eq!(sent(&layer, fields(&lines)).await, expected, "{pushback}");
    }
}

const SPANS: [&str; 12] = [
    "0s",
    "0.000000001s",
    "1s",
    "315576000000s",
    "315576000001s",
    "18446744073709551615s",
    "18446744073709551615.999999999s",
    "18446744073709551616s",
    "1e400s",
    "-1s",
    ".s",
    "s",
];

#[tokio::test(start_paused = true)]
async fn a_service_config_may_say_anything() {
    let mut valid = 0;
    let unavailable = fields(&[("grpc-status", HeaderValue::from_static("14"))]);
    for base in SPANS {
        for cap in SPANS {
            for multiplier in ["1", "2", "1e308", "1e400", "-1", "\"NaN\"", "\"inf\""] {
                for timeout in ["0s", "1s", "18446744073709551615.999999999s"] {
                    let retry = format!(
                        r#"{{ "methodConfig": [{{ "name": [{{}}], "timeout": "{timeout}", "retryPolicy": {{ "maxAttempts": 4,
                            "initialBackoff": "{base}", "maxBackoff": "{cap}", "backoffMultiplier": {multiplier},
                            "retryableStatusCodes": [14] }} }}] }}"#
                    );
                    let hedge = format!(
                        r#"{{ "methodConfig": [{{ "name": [{{}}], "timeout": "{timeout}", "hedgingPolicy": {{ "maxAttempts": 4,
                            "hedgingDelay": "{base}", "nonFatalStatusCodes": ["UNAVAILABLE"] }} }}] }}"#
                    );
                    for config in [retry, hedge] {
                        let Ok(config) = config.parse::<ServiceConfig>() else {
                            continue;
                        };
                        valid += 1;
                        let layer =
                            RetryLayer::of_config(&config).expect("the reader has refused those");
                        let request = Request::post(GET).body(Body::empty()).expect("valid");
                        let mut channel = layer.layer(service_fn(|_: Request<Body>| {
                            let mut answer = Response::new(Body::empty());
                            *answer.headers_mut() = unavailable.clone();
                            std::future::ready(Ok::<_, std::io::Error>(answer))
                        }));
                        let _ =
                            tokio::time::timeout(Duration::from_secs(3600), channel.call(request))
                                .await;
                    }
                }
            }
        }
    }
    assert!(valid > 100, "{valid}");
}

#[test]
fn shapes_and_depths_that_no_config_has_are_faults() {
    let deep = |open: &str, close: &str| open.repeat(100_000) + &close.repeat(100_000);
    for config in [
        deep("[", "]"),
        deep(r#"{"methodConfig":"#, "}"),
        "1e999".to_owned(),
        r#"{"methodConfig":[[],{},1,null]}"#.to_owned(),
        r#"{"retryThrottling":{"maxTokens":1e400,"tokenRatio":"inf"}}"#.to_owned(),
        r#"{"retryThrottling":{"maxTokens":"1e400","tokenRatio":"nan"}}"#.to_owned(),
        "\u{0}".to_owned(),
    ] {
        let shown: String = config.chars().take(60).collect();
        let invalid = config.parse::<ServiceConfig>();
        assert!(!invalid.expect_err(&shown).to_string().is_empty());
    }
}
