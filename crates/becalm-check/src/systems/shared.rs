//! What do systems know of all files together, before they read one of them?
//!
//! A file of nginx is read in the place of an `include` of another, and the defaults of HAProxy hold in the files after
//! theirs, and a target of Dapr may name the retries of another resource. Each file would otherwise read all others again. A route of
//! Istio has its budget in another resource.

use std::cell::OnceCell;

use super::resources::Resources;
use super::{dapr, envoy, haproxy, ingress_nginx, istio, nginx};
use crate::document::Together;

/// Of the files of one check.
#[derive(Debug)]
pub(crate) struct Shared<'a> {
    pub nginx: nginx::Files<'a>,
    pub haproxy: haproxy::Files<'a>,
    pub dapr: dapr::Files<'a>,
    pub istio: istio::Files<'a>,
    pub ingress_nginx: ingress_nginx::Controller<'a>,
    pub resources: Resources<'a>,
    envoy: OnceCell<envoy::Files<'a>>,
    files: &'a [Together<'a>],
}

impl<'a> Shared<'a> {
    pub fn of(files: &'a [Together<'a>]) -> Self {
        Self {
            nginx: nginx::Files::of(files),
            haproxy: haproxy::Files::of(files),
            dapr: dapr::Files::of(files),
            istio: istio::Files::of(files),
            ingress_nginx: ingress_nginx::Controller::of(files),
            resources: Resources::of(files),
            envoy: OnceCell::new(),
            files,
        }
    }

    /// All nodes are walked through for them, where there is a document of Envoy.
    pub fn envoy(&self) -> &envoy::Files<'a> {
        self.envoy.get_or_init(|| envoy::Files::of(self.files))
    }
}
