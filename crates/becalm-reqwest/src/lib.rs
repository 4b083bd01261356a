//! A reqwest client that retries without starting a storm.
//!
//! ```no_run
//! # #[cfg(feature = "json")]
//! # async fn run(payment: &std::collections::HashMap<String, u32>) -> Result<(), Box<dyn std::error::Error>> {
//! use becalm_reqwest::{Client, Policy, reqwest};
//!
//! let shop = Client::new(reqwest::Client::builder(), &Policy::default().retrier()?)?;
//! let order = shop.get("https://shop.example/orders/17").send().await?.text().await?;
//! let paid = shop.post("https://shop.example/payments").json(payment).keyed().send().await?;
//! # drop((order, paid));
//! # Ok(())
//! # }
//! ```
//!
//! Requests are built as reqwest builds them, and [`send`](RequestBuilder::send) answers as reqwest's does, with reqwest's
//! [`Response`](reqwest::Response). Everything that is decided is decided by [`becalm`]: what a status, a header or a
//! method means, whether a retry is affordable, how long to wait.
//!
//! # What is sent how often
//!
//! - **A request is repeated** where its status, the headers of the answer (`Retry-After` and its kin:
//!   [`becalm::http::hint`]) or the error say that the failure may pass, and only if that is safe: its method is idempotent
//!   (RFC 9110 section 9.2.2), it has a key ([`keyed`](RequestBuilder::keyed)), or it is proved that it did not
//!   reach the server.
//! - **That proof** is a connection that could not be made, or with the feature `h2` a `REFUSED_STREAM`, or a
//!   `GOAWAY` that names an earlier stream (RFC 9113 section 8.7). A request whose redirect was followed has reached a
//!   server already, and is taken for sent.
//! - **reqwest's own retries are off.** A client as reqwest builds it repeats refused streams by itself, up to twice, at
//!   once and outside of any budget ([`reqwest::retry`]); only its builder can switch that off, which is why this crate
//!   takes the builder.
//! - **hyper-util's stay**, since reqwest does not let them be switched off (`retry_canceled_requests`): a
//!   pooled connection that has closed before a byte of the request was written is replaced. No server sees such
//!   a request twice, and each repetition uses up a dead connection of the pool, so they do not multiply.
//! - **Redirects** are followed within an attempt, each hop once. The next attempt begins at the first address.
//!
//! # Time limits
//!
//! The deadline and the attempt time-out of the policy hold up to the head of the answer; its body is the
//! caller's, or with [`whole`](RequestBuilder::whole) a part of the attempt. reqwest's own time-outs hold as well, each for one attempt, and [`timeout`](RequestBuilder::timeout) goes on to hold for
//! the body: the lesser counts.
//!
//! # Features
//!
//! `json`, `form` and `query` forward those methods of reqwest; `h2` is HTTP/2 with its proofs; `tracing` makes a span of
//! each attempt. TLS is
//! chosen by features of reqwest itself.

#![forbid(unsafe_code)]

mod attempt;
mod body;
mod client;
mod credentials;
mod drain;
mod failed;
mod redirect;
mod request;
mod send;
mod shared;
#[cfg(feature = "tracing")]
mod span;
mod transport;
mod whole;

pub use becalm::{self, Policy, Retrier};
pub use client::{BuildError, Client, ClientBuilder};
pub use failed::NoAnswer;
pub use request::RequestBuilder;
pub use reqwest;
