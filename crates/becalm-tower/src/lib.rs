//! Tower layers that retry without starting a storm.
//!
//! [`client`] has the layers around an HTTP client: any `Service` of `http::Request`s, whoever makes
//! the connections. Everything that is decided is decided by [`becalm`]: what a status, a header or
//! a method means, whether a retry is affordable, how long to wait.
//!
//! With hyper's pooled client, and the feature `hyper-util`:
//!
//! ```
//! # #[cfg(feature = "hyper-util")]
//! # async fn run() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! use becalm::Policy;
//! use becalm_tower::client::RetryLayer;
//! use bytes::Bytes;
//! use http_body_util::Empty;
//! use hyper_util::{client::legacy::Client, rt::TokioExecutor};
//! use tower::{Layer, Service};
//!
//! let hyper = Client::builder(TokioExecutor::new()).retry_canceled_requests(false).build_http();
//! let mut client = RetryLayer::new(&Policy::default().retrier()?).layer(hyper);
//!
//! let request = http::Request::get("http://orders.example/17").body(Empty::<Bytes>::new())?;
//! let response = client.call(request).await?;
//! # drop(response);
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

pub mod client;
