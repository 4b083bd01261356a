#![doc = include_str!("../README.md")]
//!
//! # Where to look
//!
//! `client` has the layer around a channel of tonic (feature `tonic`). [`service_config`] reads a gRPC service config. Everything
//! that is decided is decided by [`becalm`].

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "tonic")]
pub mod client;
pub mod service_config;

pub use becalm::{self, Policy, Retrier};
#[cfg(feature = "tonic")]
pub use tonic;
#[cfg(feature = "tonic")]
pub use tower_layer::Layer;
