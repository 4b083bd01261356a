//! Which systems are read? A row for each.

mod aws_config;
mod becalm;
mod dotnet_resilience;
mod envoy;
mod envoy_gateway;
mod gateway_api;
mod grpc;
mod haproxy;
mod istio;
pub(crate) mod kubernetes;
mod linkerd;
mod methods;
mod nginx;
mod resilience4j;
mod shared;
mod spring;
mod spring_cloud_gateway;

pub(crate) use becalm::no_toml;
pub(crate) use kubernetes::is_same;
pub(crate) use shared::{NOTHING, Shared};

use crate::system::System;

/// In the order in which they are told.
pub(crate) const ALL: &[&System] = &[
    &envoy::ENVOY,
    &istio::ISTIO,
    &envoy_gateway::ENVOY_GATEWAY,
    &gateway_api::GATEWAY_API,
    &linkerd::LINKERD,
    &grpc::GRPC,
    &spring_cloud_gateway::SPRING_CLOUD_GATEWAY,
    &resilience4j::RESILIENCE4J,
    &dotnet_resilience::DOTNET_RESILIENCE,
    &nginx::NGINX,
    &haproxy::HAPROXY,
    &aws_config::AWS_CONFIG,
    &becalm::BECALM,
];
