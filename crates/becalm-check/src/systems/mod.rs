//! Which systems are read? A row for each.

mod aws_config;
mod becalm;
mod cenkalti;
mod contour;
mod dapr;
mod dotnet_resilience;
mod envoy;
mod envoy_gateway;
mod gateway_api;
mod grpc;
mod haproxy;
mod ingress_nginx;
mod istio;
mod kong;
pub(crate) mod kubernetes;
mod kuma;
mod linkerd;
mod methods;
mod nginx;
mod resilience4j;
mod resources;
mod shared;
mod spring;
mod spring_cloud_gateway;
mod traefik;

pub(crate) use becalm::no_toml;
pub(crate) use kubernetes::{is_same, named};
pub(crate) use shared::Shared;
pub(crate) use spring::is_called;

use crate::document::Document;
use crate::reading::Reading;
use crate::system::System;

/// A system with what reads its documents.
pub(crate) struct Row {
    pub system: &'static System,
    /// Whether a document is one of the system's. It may be of others as well.
    pub recognises: for<'a> fn(&Document<'a>, &Shared<'a>) -> bool,
    /// Reads one of the system's documents into mappings and findings.
    pub read: for<'a> fn(&mut Reading<'a>, &'a Shared<'a>),
}

/// A system that needs nothing but the document, or what all files have of one kind beside it.
macro_rules! row {
    ($module:ident::$system:ident) => {
        Row {
            system: &$module::$system,
            recognises: |document, _| $module::recognises(document),
            read: |reading, _| $module::read(reading),
        }
    };
    ($module:ident::$system:ident, $shared:ident) => {
        Row {
            read: |reading, shared| $module::read(reading, &shared.$shared),
            system: &$module::$system,
            recognises: |document, _| $module::recognises(document),
        }
    };
}

/// In the order in which they are told.
pub(crate) const ALL: &[Row] = &[
    Row {
        system: &envoy::ENVOY,
        recognises: |document, _| envoy::recognises(document),
        read: |reading, shared| envoy::read(reading, shared.envoy()),
    },
    row!(istio::ISTIO, istio),
    row!(envoy_gateway::ENVOY_GATEWAY, resources),
    row!(gateway_api::GATEWAY_API, resources),
    row!(linkerd::LINKERD, resources),
    Row {
        system: &ingress_nginx::INGRESS_NGINX,
        recognises: |document, _| ingress_nginx::recognises(document),
        read: |reading, shared| ingress_nginx::read(reading, shared.ingress_nginx),
    },
    row!(traefik::TRAEFIK),
    row!(kong::KONG),
    row!(contour::CONTOUR),
    row!(dapr::DAPR, dapr),
    row!(kuma::KUMA),
    row!(grpc::GRPC),
    row!(spring_cloud_gateway::SPRING_CLOUD_GATEWAY),
    row!(resilience4j::RESILIENCE4J),
    row!(dotnet_resilience::DOTNET_RESILIENCE),
    Row {
        system: &nginx::NGINX,
        recognises: |document, shared| nginx::recognises(document, &shared.nginx),
        read: |reading, shared| nginx::read(reading, &shared.nginx),
    },
    row!(haproxy::HAPROXY, haproxy),
    row!(aws_config::AWS_CONFIG),
    row!(becalm::BECALM),
];

impl System {
    /// The resources of Kubernetes that are read, as `kubectl get` names them, in the order of their names.
    pub fn kinds() -> Vec<&'static str> {
        let own = Self::all().flat_map(|it| it.schema.kinds).copied();
        let mut kinds: Vec<_> = own.chain(["configmaps"]).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// Every system.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        ALL.iter().map(|it| it.system)
    }
}

#[cfg(test)]
mod tests {
    use ::becalm::lint::Lint;

    use super::*;

    #[test]
    fn remedies_are_of_lints_that_there_are() {
        for (lint, _) in System::all().flat_map(|it| it.remedies) {
            assert!(Lint::CODES.contains(lint), "{lint}");
        }
    }

    #[test]
    fn who_makes_a_single_retry_is_not_told_to() {
        for (retries, remedy) in [
            (1, "set a budget where"),
            (2, "set `attempts: 1`, and a budget"),
        ] {
            let text = format!(
                "{{apiVersion: networking.istio.io/v1, kind: VirtualService, spec: {{http: [{{\
                 route: [{{destination: {{host: orders}}}}], retries: {{attempts: {retries}}}}}]}}}}\n---\n\
                 {{apiVersion: networking.istio.io/v1, kind: DestinationRule, spec: {{host: orders, \
                 trafficPolicy: {{connectionPool: {{http: {{maxRetries: 5}}}}}}}}}}\n"
            );
            let file = crate::File::new("orders.yaml", &text);
            let found = crate::check(&[file], &crate::Settings::default()).findings;
            let found = found.iter().find(|it| it.code == "concurrency-alone");
            let told = &found.expect("a budget of its own").remedy;
            assert!(told.starts_with(remedy), "{told}");
        }
    }
}
