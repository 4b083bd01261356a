#![doc = include_str!("../README.md")]
//!
//! # Where to look
//!
//! [`client`] has the layers around an HTTP client, `server` those around an HTTP server (feature `server`). Everything that is
//! decided is decided by [`becalm`]: what a status, a header or a method means, whether a retry is affordable, how long to wait.
//!
//! # A server
//!
//! With the features `server` and `tokio`. A `Router` of axum takes the layer by its own
//! `layer`, as any tower service does:
//!
//! ```
//! # #[cfg(all(feature = "server", feature = "tokio"))]
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! use std::convert::Infallible;
//!
//! use becalm_tower::server::{BufferedBody, IdempotencyLayer, MemoryStore};
//! use http::{Method, Request, Response};
//! use http_body_util::{BodyExt, Full};
//! use tower::{Layer, ServiceExt, service_fn};
//! # type Bytes = Full<bytes::Bytes>;
//!
//! async fn pay(order: Request<BufferedBody<Bytes>>) -> Result<Response<Bytes>, Infallible> {
//!     let amount = order.into_body().collect().await?.to_bytes();
//!     Ok(Response::new(Full::from(amount))) // paid
//! }
//!
//! // Whoever sends a payment twice pays once.
//! let once = IdempotencyLayer::new(MemoryStore::new()).required([Method::POST]);
//! let service = once.layer(service_fn(pay));
//!
//! let payment = || Request::post("/payments")
//!     .header("authorization", "Bearer alice")
//!     .header("idempotency-key", "\"8e03978e-40d5-43dd-bc93-6894a57f9324\"")
//!     .body(Full::from("17 EUR"))
//!     .expect("a request");
//! let first = service.clone().oneshot(payment()).await.expect("infallible");
//! let again = service.oneshot(payment()).await.expect("infallible");
//! assert!(!first.headers().contains_key("idempotency-replayed"));
//! assert_eq!(again.headers()["idempotency-replayed"], "true");
//! # }
//! # #[cfg(not(all(feature = "server", feature = "tokio")))] fn main() {}
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod client;
#[cfg(feature = "server")]
pub mod server;

#[cfg(feature = "server")]
pub use becalm::Bulkhead;
pub use becalm::{self, Policy, Retrier};
pub use tower_layer::Layer;
pub use tower_service::Service;
pub use {bytes, http, http_body};
