#![doc = include_str!("../README.md")]
//!
//! # Where to look
//!
//! [`Client`] makes a [`RequestBuilder`], whose [`send`](RequestBuilder::send) is the call. Everything that is decided is decided
//! by [`becalm`]: what a status, a header ([`becalm::http::hint`]) or a method means, whether a retry is affordable, how long to
//! wait.

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod attempt;
mod below;
mod body;
mod build_error;
mod client;
mod credentials;
mod drain;
mod failed;
#[cfg(feature = "middleware")]
mod middleware;
mod redirect;
mod request;
mod send;
mod shared;
#[cfg(feature = "tracing")]
mod span;
mod transport;
mod whole;

pub use becalm::{self, Policy, Retrier};
pub use below::Builders;
pub use build_error::BuildError;
pub use client::{Client, ClientBuilder};
pub use failed::NoAnswer;
#[cfg(feature = "middleware")]
pub use middleware::RetryMiddleware;
pub use request::RequestBuilder;
pub use reqwest;
#[cfg(feature = "middleware")]
pub use reqwest_middleware;
