//! gRPC, as its own clients are configured.
//!
//! [`service_config`] reads a gRPC service config: what a channel of gRPC's own clients retries, hedges
//! and throttles, as policies of [`becalm`].

#![forbid(unsafe_code)]

pub mod service_config;
