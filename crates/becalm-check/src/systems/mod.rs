//! Which systems are read? A row for each.

mod aws_config;
mod becalm;
mod envoy;
mod envoy_gateway;
mod gateway_api;
mod grpc;
mod haproxy;
mod istio;
pub(crate) mod kubernetes;
mod linkerd;
mod nginx;

pub(crate) use becalm::no_toml;
pub(crate) use kubernetes::is_same;

use crate::system::System;

/// In the order in which they are told.
pub(crate) const ALL: &[&System] = &[
    &envoy::ENVOY,
    &istio::ISTIO,
    &envoy_gateway::ENVOY_GATEWAY,
    &gateway_api::GATEWAY_API,
    &linkerd::LINKERD,
    &grpc::GRPC,
    &nginx::NGINX,
    &haproxy::HAPROXY,
    &aws_config::AWS_CONFIG,
    &becalm::BECALM,
];
